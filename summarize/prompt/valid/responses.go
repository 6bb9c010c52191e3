package valid

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Responses holds input items against OpenAI's Responses API: messages with a role and its kinds of parts, calls with an id of
// their own, each answered once by an output of its kind behind it and before the next message, and reasoning followed by
// what it was for.
func Responses(v jsontext.Value) error {
	var list []object
	if err := json.Unmarshal(v, &list); err != nil {
		return err
	}
	if len(list) == 0 {
		return fmt.Errorf("no items")
	}
	w := responses{open: map[string]string{}, used: map[string]bool{}}
	for i, m := range list {
		if err := w.item(m); err != nil {
			return fmt.Errorf("item %d: %w", i, err)
		}
		if m.text("type") == "reasoning" && !produces(list[i+1:]) {
			return fmt.Errorf("item %d: reasoning without what it was for", i)
		}
	}
	if len(w.open) > 0 {
		return fmt.Errorf("calls %v not answered at the end", w.open)
	}
	return nil
}

type responses struct {
	open map[string]string // calls by id: the type of output that they need
	used map[string]bool
}

// responsesMembers are those of the SDK's input items and their parts: the API refuses others ("Unknown parameter").
var responsesMembers = members{
	"message":                 {"type", "id", "role", "content", "status", "phase"},
	"function_call":           {"type", "id", "call_id", "name", "arguments", "status", "caller", "namespace"},
	"function_call_output":    {"type", "id", "call_id", "name", "output", "status", "caller", "namespace"},
	"custom_tool_call":        {"type", "id", "call_id", "name", "input", "status", "caller", "namespace"},
	"custom_tool_call_output": {"type", "id", "call_id", "output", "caller"},
	"reasoning":               {"type", "id", "summary", "content", "encrypted_content", "status"},
	"input_text":              {"type", "text", "prompt_cache_breakpoint"},
	"output_text":             {"type", "text", "annotations", "logprobs"},
	"refusal":                 {"type", "refusal"},
	"input_image":             {"type", "detail", "image_url", "file_id", "prompt_cache_breakpoint"},
	"input_file":              {"type", "detail", "file_data", "file_id", "file_url", "filename", "prompt_cache_breakpoint"},
}

func (w responses) item(m object) error {
	typ := m.text("type")
	if typ == "" && len(m["role"]) > 0 {
		typ = "message"
	}
	if err := responsesMembers.check(m, typ); err != nil {
		return err
	}
	id := m.text("call_id")
	if typ == "local_shell_call_output" && id == "" {
		id = m.text("id")
	}
	switch {
	case typ == "message":
		if len(w.open) > 0 {
			return fmt.Errorf("a message behind the calls %v", w.open)
		}
		return responsesMessage(m)
	case typ == "function_call", typ == "custom_tool_call", strings.HasSuffix(typ, "_call") && id != "":
		if w.used[id] || !validID.MatchString(id) {
			return fmt.Errorf("call %q", id)
		}
		if typ == "function_call" && (!validName.MatchString(m.text("name")) || m.text("arguments") == "") {
			return fmt.Errorf("call %v", m)
		}
		w.open[id], w.used[id] = typ+"_output", true
	case strings.HasSuffix(typ, "_output"):
		if w.open[id] != typ || m["output"].Kind() != '"' && m["output"].Kind() != '[' && m["output"].Kind() != '{' {
			return fmt.Errorf("%s of %q without its call", typ, id)
		}
		delete(w.open, id)
		if outputs, err := m.list("output"); err == nil {
			for _, p := range outputs {
				if err := responsesPart(p, "input_text", "input_image", "input_file"); err != nil {
					return err
				}
			}
		}
	case typ == "reasoning":
		if m["summary"].Kind() != '[' {
			return fmt.Errorf("reasoning without a summary")
		}
	case typ == "":
		return fmt.Errorf("no type")
	}
	return nil
}

// produces reports whether what follows reasoning is something that the model made.
func produces(rest []object) bool {
	for _, m := range rest {
		switch typ := m.text("type"); {
		case typ == "reasoning":
		case typ == "message":
			return m.text("role") == "assistant"
		default:
			return strings.HasSuffix(typ, "_call") || typ == "mcp_approval_request"
		}
	}
	return false
}

func responsesMessage(m object) error {
	role := m.text("role")
	if !slices.Contains([]string{"system", "developer", "user", "assistant"}, role) {
		return fmt.Errorf("role %q", role)
	}
	named, output := len(m["id"]) > 0, role == "assistant" && m["content"].Kind() == '[' && strings.HasPrefix(m.text("id"), "msg_")
	if named && !output || len(m["status"]) > 0 && !output && (role == "assistant" || m["content"].Kind() != '[') {
		return fmt.Errorf("id %s and status %s where none can be", m["id"], m["status"])
	}
	if m.isText("content") {
		return nil
	}
	parts, err := m.list("content")
	if err != nil || len(parts) == 0 {
		return fmt.Errorf("content %s", m["content"])
	}
	for _, p := range parts {
		types := []string{"input_text", "input_image", "input_file"}
		if role == "assistant" {
			types = []string{"output_text", "refusal"}
		}
		if err := responsesPart(p, types...); err != nil {
			return err
		}
	}
	return nil
}

func responsesPart(p object, types ...string) error {
	typ := p.text("type")
	if !slices.Contains(types, typ) {
		return fmt.Errorf("part of type %q, not one of %q", typ, types)
	}
	if err := responsesMembers.check(p, typ); err != nil {
		return err
	}
	switch typ {
	case "input_text", "output_text":
		if !p.isText("text") {
			return fmt.Errorf("%s without text", typ)
		}
	case "input_image":
		if p.text("file_id") == "" {
			return dataURL(p.text("image_url"))
		}
	case "input_file":
		if p.text("file_id") == "" && p.text("file_url") == "" {
			return dataURL(p.text("file_data"))
		}
	}
	return nil
}
