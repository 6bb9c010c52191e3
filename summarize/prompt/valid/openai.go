package valid

import (
	"fmt"
	"regexp"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

var (
	validName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	validID   = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,40}$`)
)

// OpenAI holds chat completion messages against the API reference: known roles and their members, the parts that a role may
// have, results right behind their call, each call answered once, arguments a string.
func OpenAI(v jsontext.Value) error {
	var list []object
	if err := json.Unmarshal(v, &list); err != nil {
		return err
	}
	if len(list) == 0 {
		return fmt.Errorf("no messages")
	}
	open := map[string]bool{}
	for i, m := range list {
		role := m.text("role")
		if len(open) > 0 && role != "tool" && role != "function" {
			return fmt.Errorf("message %d: calls %v not answered", i, open)
		}
		if err := openAIMessage(m, role, open); err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("calls %v not answered at the end", open)
	}
	return nil
}

// openAIDialects are members that OpenAI does not have, and that other providers and routers of chat completions ask for or take: DeepSeek, vLLM,
// OpenRouter, LiteLLM, Gemini's and Mistral's endpoints. They stand where they were published.
var openAIDialects = []string{
	"reasoning_content", "reasoning_details", "reasoning", "thinking_blocks", "reasoning_text", "reasoning_opaque", "extra_content",
	"provider_specific_fields", "cache_control", "images", "prefix",
}

func openAIMessage(m object, role string, open map[string]bool) error {
	switch role {
	case "system", "developer", "user":
		if err := m.only(append(openAIDialects, "role", "content", "name")...); err != nil {
			return err
		}
		return openAIContent(m, role)
	case "assistant":
		if err := m.only(append(openAIDialects, "role", "content", "tool_calls", "name", "refusal", "audio", "annotations", "function_call")...); err != nil {
			return err
		}
		return openAIAssistant(m, open)
	case "tool":
		if err := m.only("role", "content", "tool_call_id", "name", "cache_control"); err != nil {
			return err
		}
		id := m.text("tool_call_id")
		if !open[id] {
			return fmt.Errorf("result of %q without its call", id)
		}
		delete(open, id)
		return openAIContent(m, role)
	case "function":
		if err := m.only("role", "content", "name"); err != nil {
			return err
		}
		name := "function " + m.text("name")
		if !open[name] || !m.isText("content") {
			return fmt.Errorf("result of %q without its call", name)
		}
		delete(open, name)
		return nil
	}
	return fmt.Errorf("role %q", role)
}

func openAIAssistant(m object, open map[string]bool) error {
	calls, _ := m.list("tool_calls")
	if m["tool_calls"].Kind() == '[' && len(calls) == 0 {
		return fmt.Errorf("an empty list of calls")
	}
	if kind := m["function_call"].Kind(); len(m["function_call"]) > 0 && kind != '{' && kind != 'n' {
		return fmt.Errorf("function call %s", m["function_call"])
	}
	if call := m.of("function_call"); call != nil {
		if len(calls) > 0 || !validName.MatchString(call.text("name")) || !call.isText("arguments") {
			return fmt.Errorf("function call %v", call)
		}
		open["function "+call.text("name")] = true
		return nil
	}
	if len(m["content"]) > 0 && m["content"].Kind() != 'n' {
		if err := openAIContent(m, "assistant"); err != nil {
			return err
		}
	} else if len(calls) == 0 && !m.isText("refusal") && m["audio"].Kind() != '{' {
		return fmt.Errorf("neither content nor calls")
	}
	for _, c := range calls {
		id, f, arguments := c.text("id"), c.of("function"), "arguments"
		if c.text("type") == "custom" {
			f, arguments = c.of("custom"), "input"
		}
		if !validID.MatchString(id) || !validName.MatchString(f.text("name")) || !f.isText(arguments) || open[id] {
			return fmt.Errorf("call %v", c)
		}
		if arguments == "arguments" && f.text(arguments) == "" {
			return fmt.Errorf("call %q without arguments", id)
		}
		open[id] = true
	}
	return nil
}

// openAIParts are the types of parts that a role may have.
var openAIParts = map[string][]string{
	"system": {"text"}, "developer": {"text"}, "tool": {"text"}, "assistant": {"text", "refusal"},
	"user": {"text", "image_url", "input_audio", "file"},
}

func openAIContent(m object, role string) error {
	if m.isText("content") {
		return nil
	}
	parts, err := m.list("content")
	if err != nil || len(parts) == 0 {
		return fmt.Errorf("content %s", m["content"])
	}
	for j, p := range parts {
		if err := openAIPart(p, role); err != nil {
			return fmt.Errorf("part %d: %w", j, err)
		}
	}
	return nil
}

// openAIPartMembers are those of the SDK's parts; cache_control is that of routers.
var openAIPartMembers = members{
	"text":        {"type", "text", "prompt_cache_breakpoint", "cache_control"},
	"refusal":     {"type", "refusal"},
	"image_url":   {"type", "image_url", "prompt_cache_breakpoint", "cache_control"},
	"input_audio": {"type", "input_audio", "prompt_cache_breakpoint"},
	"file":        {"type", "file", "prompt_cache_breakpoint", "cache_control"},
}

func openAIPart(p object, role string) error {
	typ, known := p.text("type"), false
	if err := openAIPartMembers.check(p, typ); err != nil {
		return err
	}
	for _, t := range openAIParts[role] {
		known = known || t == typ
	}
	switch {
	case !known:
		return fmt.Errorf("type %q in a message of role %q", typ, role)
	case typ == "text" && !p.isText("text"), typ == "refusal" && !p.isText("refusal"):
		return fmt.Errorf("no text")
	case typ == "image_url":
		return dataURL(p.of("image_url").text("url"))
	case typ == "input_audio":
		audio := p.of("input_audio")
		if f := audio.text("format"); f != "wav" && f != "mp3" {
			return fmt.Errorf("audio of format %q", f)
		}
		return base64Data(audio.text("data"))
	case typ == "file":
		file := p.of("file")
		if file.text("file_id") != "" {
			return nil
		}
		return dataURL(file.text("file_data"))
	}
	return nil
}
