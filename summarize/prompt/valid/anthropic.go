package valid

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Anthropic holds messages against the API reference: the user begins, roles alternate, no block is blank, ids are unique, the
// message behind a call begins with the results of its calls, no turn ends with thinking, and there are four
// cache breakpoints at most.
func Anthropic(system, v jsontext.Value) error {
	var sys []object
	if err := json.Unmarshal(system, &sys); err != nil {
		return fmt.Errorf("system: %w", err)
	}
	for _, b := range sys {
		if b.text("type") != "text" || blank(b.text("text")) {
			return fmt.Errorf("system: block %v", b)
		}
	}
	var list []object
	if err := json.Unmarshal(v, &list); err != nil {
		return err
	}
	if len(list) == 0 || list[0].text("role") != "user" {
		return fmt.Errorf("the user does not begin")
	}
	w := &anthropic{ids: map[string]bool{}}
	for _, b := range sys {
		w.breakpoint(b)
	}
	for i, m := range list {
		if i > 0 && m.text("role") == list[i-1].text("role") {
			return fmt.Errorf("message %d: role %q again", i, m.text("role"))
		}
		if err := w.message(m, i == len(list)-1); err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
	}
	if len(w.open) > 0 {
		return fmt.Errorf("calls %v not answered at the end", w.open)
	}
	if w.breakpoints > 4 {
		return fmt.Errorf("%d cache breakpoints", w.breakpoints)
	}
	return nil
}

type anthropic struct {
	ids  map[string]bool
	open []string // calls of the message before

	breakpoints int // of the cache
}

func (w *anthropic) breakpoint(b object) {
	if b["cache_control"].Kind() == '{' {
		w.breakpoints++
	}
}

func (w *anthropic) message(m object, last bool) error {
	role := m.text("role")
	if role != "user" && role != "assistant" {
		return fmt.Errorf("role %q", role)
	}
	if err := m.only("role", "content"); err != nil {
		return err
	}
	blocks := []object{{"type": jsontext.Value(`"text"`), "text": m["content"]}}
	if !m.isText("content") {
		var err error
		if blocks, err = m.list("content"); err != nil || len(blocks) == 0 {
			return fmt.Errorf("content %.200s", m["content"])
		}
	}
	var answered, calls []string
	for j, b := range blocks {
		typ := b.text("type")
		if typ == "tool_result" {
			if role != "user" || j != len(answered) || slices.Contains(answered, b.text("tool_use_id")) {
				return fmt.Errorf("result of %q", b.text("tool_use_id"))
			}
			answered = append(answered, b.text("tool_use_id"))
		}
		if err := w.block(b, role); err != nil {
			return fmt.Errorf("block %d: %w", j, err)
		}
		if typ == "tool_use" {
			calls = append(calls, b.text("id"))
		}
	}
	end := blocks[len(blocks)-1]
	if typ := end.text("type"); role == "assistant" && (typ == "thinking" || typ == "redacted_thinking") {
		return fmt.Errorf("ends with %s", typ)
	}
	if text := end.text("text"); last && role == "assistant" && strings.TrimRight(text, " \n\t\r") != text {
		return fmt.Errorf("white space at the end")
	}
	slices.Sort(answered)
	slices.Sort(w.open)
	if !slices.Equal(answered, w.open) {
		return fmt.Errorf("results of %q to calls %q", answered, w.open)
	}
	w.open = calls
	return nil
}

// anthropicMembers are those of the SDK's block parameters: the API refuses others ("Extra inputs are not permitted").
var anthropicMembers = members{
	"text":              {"type", "text", "cache_control", "citations"},
	"image":             {"type", "source", "cache_control"},
	"document":          {"type", "source", "cache_control", "citations", "context", "title"},
	"search_result":     {"type", "source", "title", "content", "cache_control", "citations"},
	"tool_use":          {"type", "id", "name", "input", "cache_control", "caller"},
	"server_tool_use":   {"type", "id", "name", "input", "cache_control", "caller"},
	"tool_result":       {"type", "tool_use_id", "content", "is_error", "cache_control"},
	"thinking":          {"type", "thinking", "signature"},
	"redacted_thinking": {"type", "data"},
	"container_upload":  {"type", "file_id", "cache_control"},
}

func (w *anthropic) block(b object, role string) error {
	w.breakpoint(b)
	if err := anthropicMembers.check(b, b.text("type")); err != nil {
		return err
	}
	switch typ := b.text("type"); typ {
	case "text":
		if blank(b.text("text")) {
			return fmt.Errorf("blank text")
		}
	case "image", "document":
		if role != "user" {
			return fmt.Errorf("%s of role %q", typ, role)
		}
		if parts, err := b.of("source").list("content"); err == nil {
			for _, p := range parts {
				if err := w.block(p, "user"); err != nil {
					return err
				}
			}
		}
		return anthropicSource(b.of("source"))
	case "tool_use", "server_tool_use", "mcp_tool_use":
		id := b.text("id")
		if role != "assistant" || w.ids[id] || !validID.MatchString(id) || !validName.MatchString(b.text("name")) || b["input"].Kind() != '{' {
			return fmt.Errorf("call %v", b)
		}
		w.ids[id] = true
	case "tool_result":
		if b["content"].Kind() != '[' {
			return nil
		}
		parts, err := b.list("content")
		if err != nil {
			return err
		}
		for _, p := range parts {
			if t := p.text("type"); t != "text" && t != "image" && t != "document" && t != "search_result" {
				return fmt.Errorf("result with a part of type %q", t)
			}
			if err := w.block(p, "user"); err != nil {
				return err
			}
		}
	case "thinking":
		if role != "assistant" || !b.isText("thinking") || b.text("signature") == "" {
			return fmt.Errorf("thinking without signature")
		}
	case "redacted_thinking":
		if role != "assistant" || b.text("data") == "" {
			return fmt.Errorf("redacted thinking without data")
		}
	case "":
		return fmt.Errorf("no type")
	}
	return nil
}

func anthropicSource(s object) error {
	switch typ := s.text("type"); typ {
	case "base64":
		if s.text("media_type") == "" {
			return fmt.Errorf("no media type")
		}
		return base64Data(s.text("data"))
	case "url":
		if !strings.HasPrefix(s.text("url"), "http") {
			return fmt.Errorf("URL %q", s.text("url"))
		}
	case "file":
		if s.text("file_id") == "" {
			return fmt.Errorf("no file")
		}
	case "text", "content":
	default:
		return fmt.Errorf("source %q", typ)
	}
	return nil
}

// InBlocks writes the contents of Anthropic's messages that are texts as lists of one block, which is the same to the API: a text
// becomes a list when another message joins its turn.
func InBlocks(messages jsontext.Value) (jsontext.Value, error) {
	var list []struct {
		Role    string         `json:"role"`
		Content jsontext.Value `json:"content"`
	}
	if err := json.Unmarshal(messages, &list); err != nil {
		return nil, err
	}
	for i, m := range list {
		if m.Content.Kind() == '"' {
			list[i].Content = jsontext.Value(`[{"type":"text","text":` + string(m.Content) + `}]`)
		}
	}
	return json.Marshal(list)
}
