package events

import "github.com/go-json-experiment/json/jsontext"

// usage reads the provider's usage for the call behind a message, in our form or as OpenAI, Anthropic and Gemini report it. An
// absent count is 0.
func (r *reader) usage() *TokenUsage {
	v := r.get(fieldUsage, "an object", jsontext.KindBeginObject)
	if v == nil {
		return nil
	}
	u := new(TokenUsage)
	var read int64
	anthropic := false
	r.walk(v, "usage", func(name, value []byte) {
		switch string(name) {
		case "input_tokens":
			u.InputTokens = r.count("usage.input_tokens", value, 0)
		case "output_tokens":
			u.OutputTokens = r.count("usage.output_tokens", value, 0)
		case "cached_input_tokens":
			u.CachedInputTokens = r.count("usage.cached_input_tokens", value, 0)
		case "cache_creation_input_tokens":
			u.CacheCreationInputTokens = r.count("usage.cache_creation_input_tokens", value, 0)
		case "cache_read_input_tokens":
			anthropic, read = true, reported(value)
		default:
			r.othersUsage(u, string(name), value)
		}
	})
	if anthropic { // whose input_tokens are those that no cache took part in
		u.CachedInputTokens = read
		u.InputTokens = min(u.InputTokens+read+u.CacheCreationInputTokens, maxSafeInt)
	}
	return u
}

// othersUsage reads a member of OpenAI's or Gemini's usage. These were ignored before, so a value of another kind still is.
func (r *reader) othersUsage(u *TokenUsage, name string, value []byte) {
	switch name {
	case "prompt_tokens", "promptTokenCount":
		u.InputTokens = reported(value)
	case "completion_tokens":
		u.OutputTokens = reported(value)
	case "candidatesTokenCount", "thoughtsTokenCount": // Gemini counts thoughts apart
		u.OutputTokens = min(u.OutputTokens+reported(value), maxSafeInt)
	case "cachedContentTokenCount":
		u.CachedInputTokens = reported(value)
	case "input_tokens_details", "prompt_tokens_details":
		r.walk(value, "usage."+name, func(name, value []byte) {
			if string(name) == "cached_tokens" {
				u.CachedInputTokens = reported(value)
			}
		})
	}
}

// reported is a count that is 0 where it can't be read.
func reported(v []byte) int64 {
	if jsontext.Value(v).Kind() != jsontext.KindNumber {
		return 0
	}
	if n, ok := parseInteger(string(v)); ok && n > 0 && n <= maxSafeInt {
		return n
	}
	return 0
}
