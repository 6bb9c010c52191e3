package gateway

import (
	"maps"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// chatAPI is OpenAI's chat completions, and what speaks like it.
var chatAPI = &api{
	name: "chat", format: "openai", list: "messages", read: readChat, whole: chatWhole, stream: func() assembler { return &chatStream{choice: object{}, inner: object{}} },
	known: []string{
		"audio", "extra_body", "frequency_penalty", "function_call", "functions", "logit_bias", "logprobs", "max_completion_tokens", "max_tokens", "messages",
		"metadata", "modalities", "model", "moderation", "n", "parallel_tool_calls", "prediction", "presence_penalty", "prompt_cache_key",
		"prompt_cache_options", "prompt_cache_retention", "reasoning_effort", "response_format", "safety_identifier", "seed", "service_tier", "stop", "store",
		"stream", "stream_options", "temperature", "tool_choice", "tools", "top_logprobs", "top_p", "user", "verbosity", "web_search_options",
		// Of servers that speak like it, as agents send them.
		"chat_template_kwargs", "enable_thinking", "include_reasoning", "min_p", "models", "provider", "reasoning", "repetition_penalty", "route", "session_id",
		"thinking", "tool_stream", "top_a", "top_k", "transforms", "usage",
	},
}

func readChat(r *reader, request object) (*conversation, error) {
	messages, err := r.messagesOf(request["messages"])
	if err != nil {
		return nil, err
	}
	several := request.has("n") && string(request["n"]) != "1"
	return &conversation{
		thread: objectOf(request["metadata"]).text(metadataThread), scope: openAIScope(request), several: several, messages: messages,
	}, nil
}

// openAIScope is what a client gives so that a provider finds its cache again: a session's id, mostly.
func openAIScope(request object) string {
	for _, name := range []string{"prompt_cache_key", "session_id"} {
		if v := request.text(name); v != "" {
			return v
		}
	}
	return ""
}

func chatWhole(response object) (*answer, error) {
	choices := listOf(response["choices"])
	if len(choices) != 1 { // which of them goes on is seen in the next request
		return nil, errNone
	}
	message := objectOf(objectOf(choices[0])["message"])
	if message == nil {
		return nil, errAnswer
	}
	return replied(response.text("id"), response.text("model"), message, response["usage"])
}

// chatStream puts a message together from its deltas.
type chatStream struct {
	id, model string
	message   pieces
	calls     map[int]*chatCall
	usage     jsontext.Value
	several   bool
	finished  bool

	choice, inner object // of the event that is read
}

type chatCall struct {
	pieces
	inner map[string]*pieces // its function, or its custom
}

func (s *chatStream) add(event object) (done bool) {
	if event == nil { // [DONE]
		return s.finished
	}
	if id := event.text("id"); id != "" {
		s.id = id
	}
	if model := event.text("model"); model != "" {
		s.model = model
	}
	if event.has("usage") {
		s.usage = event["usage"]
	}
	for _, raw := range listOf(event["choices"]) {
		choice := s.choice
		choice.read(raw)
		if i := string(choice["index"]); i != "" && i != "0" {
			s.several = true
			continue
		}
		if s.inner.read(choice["delta"]) {
			s.delta(s.inner)
		}
		s.finished = s.finished || choice.has("finish_reason")
	}
	return false
}

func (s *chatStream) delta(delta object) {
	for name, value := range delta {
		if name != "tool_calls" {
			s.message.add(name, value)
			continue
		}
		for _, raw := range listOf(value) {
			s.call(objectOf(raw))
		}
	}
}

// call adds a piece of a call to it. An id, a type and a name come whole, and from some servers with every piece.
func (s *chatStream) call(piece object) {
	index, err := strconv.Atoi(string(piece["index"]))
	if err != nil {
		index = len(s.calls)
	}
	delete(piece, "index")
	if s.calls == nil {
		s.calls = map[int]*chatCall{}
	}
	c := s.calls[index]
	if c == nil {
		c = &chatCall{inner: map[string]*pieces{}}
		s.calls[index] = c
	}
	for name, value := range piece {
		inner := objectOf(value)
		if inner == nil {
			c.set(name, value)
			continue
		}
		if c.inner[name] == nil {
			c.inner[name] = &pieces{}
		}
		for member, value := range inner {
			if member == "name" {
				c.inner[name].set(member, value)
			} else {
				c.inner[name].add(member, value)
			}
		}
	}
}

func (c *chatCall) json() jsontext.Value {
	for name, inner := range c.inner {
		c.set(name, inner.whole().json())
	}
	return c.whole().json()
}

func (s *chatStream) answer() (*answer, error) {
	if s.several || !s.finished {
		return nil, errNone
	}
	message := s.message.whole()
	if len(s.calls) > 0 {
		var list []jsontext.Value
		for _, i := range slices.Sorted(maps.Keys(s.calls)) {
			list = append(list, s.calls[i].json())
		}
		message["tool_calls"] = jsonOf(list)
		if message["content"] == nil {
			message["content"] = jsontext.Value("null")
		}
	}
	return replied(s.id, s.model, message, s.usage)
}
