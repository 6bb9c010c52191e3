package events

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Shape says whose message format a part is written in.
type Shape string

const (
	ShapeShared    Shape = ""          // several use it alike, or none is known to
	ShapeOpenAI    Shape = "openai"    // chat completions
	ShapeResponses Shape = "responses" // items of OpenAI's Responses API, and their parts
	ShapeAnthropic Shape = "anthropic"
	ShapeGemini    Shape = "gemini"
	ShapeAISDK     Shape = "ai-sdk" // ModelMessage of the AI SDK
)

// PartKind is what a part is, whatever its shape.
type PartKind uint8

const (
	PartOther     PartKind = iota // a type that is unknown, or that has no counterpart elsewhere
	PartText                      // Text
	PartCall                      // Call
	PartResult                    // Result
	PartMedia                     // Media
	PartReasoning                 // what the model thought, signed or encrypted by its provider
	PartItem                      // a message of the Responses API within the list: Item
)

// Part is one element of a content list. Raw is the element as it was published.
type Part struct {
	Type   string // as published; of a part without a type the name of its data
	Shape  Shape
	Kind   PartKind
	Text   string // of a text, and of reasoning that can be read
	Call   *ToolCall
	Result *Result
	Media  *Media
	Item   *Item
	Raw    jsontext.Value
	// Besides is how many bytes of Raw are none of what Text, Call, Result, Item or Media have, as ids, signatures and unknown members.
	Besides int

	inner bool // of a result or of an item: what it contains is not read, since reading each level anew would take time without bounds
}

// Result is the result of one call, as a part has it.
type Result struct {
	CallID  string
	Name    string // empty where the shape has none
	Text    string
	IsError bool
	Parts   []Part // nil where the result is a text
}

// Item is a message of the Responses API that is a part of a content.
type Item struct {
	Role  string
	Text  string
	Parts []Part // nil where the content is a text
}

// object is a JSON object's members.
type object map[string][]byte

func objectOf(v []byte) object {
	if len(v) == 0 || v[0] != '{' {
		return nil
	}
	o := object{}
	_, _ = walk(v, func(name, value []byte) { o[string(name)] = value }) // the whole body has been checked
	return o
}

// of returns the object under the first of some names.
func (o object) of(names ...string) object {
	for _, name := range names {
		if v := objectOf(o[name]); v != nil {
			return v
		}
	}
	return nil
}

// text returns the string under the first of some names; empty if there is none.
func (o object) text(names ...string) string {
	for _, name := range names {
		if v := o[name]; isString(v) {
			return unquote(v)
		}
	}
	return ""
}

func (o object) has(names ...string) bool {
	for _, name := range names {
		if v := o[name]; len(v) > 0 && !isNull(v) {
			return true
		}
	}
	return false
}

// parsePart reads an element of a content list. Only what can't be a part of any provider is an error.
func parsePart(field string, v []byte, inner bool) (Part, *RejectError) {
	var kind, text []byte
	top, err := walk(v, func(name, value []byte) {
		switch string(name) {
		case "type":
			kind = value
		case "text":
			text = value
		}
	})
	switch {
	case err != nil:
		return Part{}, invalidJSON(field, err)
	case top != jsontext.KindBeginObject:
		return Part{}, schemaError(field, "must be an object")
	}
	p := Part{Raw: v, Besides: len(v), inner: inner}
	if len(kind) == 0 {
		if p = untyped(p, objectOf(v)); p.Type == "" {
			return Part{}, schemaError(field+".type", "must be a string")
		}
		return p, nil
	}
	if !isString(kind) {
		return Part{}, schemaError(field+".type", "must be a string")
	}
	p.Type = unquote(kind)
	if p.Type == partText {
		if !isString(text) {
			return Part{}, schemaError(field+".text", "must be a string")
		}
		p.Kind, p.Text = PartText, unquote(text)
		p.Besides -= len(text)
		if bytes.Contains(v, []byte(`"cache_control"`)) || bytes.Contains(v, []byte(`"citations"`)) {
			p.Shape = ShapeAnthropic
		}
		return p, nil
	}
	p.read(objectOf(v))
	return p, nil
}

// read fills in what a typed part is. A part that lacks what its type has stays a PartOther, so that it is kept.
func (p *Part) read(o object) {
	switch p.Type {
	case "refusal":
		if isString(o["refusal"]) {
			p.Kind, p.Text = PartText, p.member(o, "refusal")
		}
	case "input_text", "output_text":
		p.Shape = ShapeResponses
		if isString(o["text"]) {
			p.Kind, p.Text = PartText, p.member(o, "text")
		}
	case "image_url", "input_audio", "input_image", TypeScreenshot, "input_file", "file", "image", "document", "reasoning-file":
		p.media(o)
	case "tool_use":
		p.Shape = ShapeAnthropic
		p.call(o, "id", "name", "input")
	case "tool_result":
		p.Shape = ShapeAnthropic
		p.result(o, "tool_use_id", "content")
	case "thinking":
		p.Shape, p.Kind, p.Text = ShapeAnthropic, PartReasoning, p.member(o, "thinking")
	case "redacted_thinking":
		p.Shape, p.Kind = ShapeAnthropic, PartReasoning
	case "reasoning":
		p.reasoning(o)
	case "message":
		p.Shape = ShapeResponses
		p.item(o)
	case "tool-call":
		p.Shape = ShapeAISDK
		p.call(o, "toolCallId", "toolName", "input")
	case "tool-result":
		p.Shape = ShapeAISDK
		p.result(o, "toolCallId", "output")
	case "compaction":
		p.Shape = ShapeAnthropic
		if o.has("encrypted_content") {
			p.Shape = ShapeResponses
		}
	default:
		p.further(o)
	}
}

// member is the text of a member, which does not count to what the part has besides.
func (p *Part) member(o object, name string) string {
	p.Besides -= len(o[name])
	return o.text(name)
}

// further reads types that come in families.
func (p *Part) further(o object) {
	switch t := p.Type; {
	case t == "server_tool_use", t == "mcp_tool_use", t == "search_result", t == "container_upload", strings.HasSuffix(t, "_tool_result"):
		p.Shape = ShapeAnthropic
	case strings.HasPrefix(t, "tool-"):
		p.Shape = ShapeAISDK
	case t == "function_call":
		p.Shape = ShapeResponses
		p.call(o, "call_id", "name", "arguments")
	case t == "custom_tool_call":
		p.Shape = ShapeResponses
		p.call(o, "call_id", "name", "input")
	case strings.HasSuffix(t, "_call_output"):
		p.Shape = ShapeResponses
		id := "call_id"
		if !o.has(id) { // as the API reference has local_shell_call_output
			id = "id"
		}
		p.result(o, id, "output")
	case strings.HasSuffix(t, "_call"), t == "item_reference", strings.HasPrefix(t, "mcp_"):
		p.Shape = ShapeResponses
		if isString(o["call_id"]) && o.has("action", "actions", "operation") { // the client makes it: a shell's, a computer's
			name := []byte(`"` + strings.TrimSuffix(t, "_call") + `"`)
			arguments := o["action"]
			switch {
			case o.has("operation"):
				arguments = o["operation"]
			case o.has("actions"):
				arguments = append(append([]byte(`{"actions":`), o["actions"]...), '}')
			}
			p.call(object{"call_id": o["call_id"], "name": name, "arguments": arguments}, "call_id", "name", "arguments")
		}
	}
}

func (p *Part) call(o object, id, name, arguments string) {
	args := o[arguments]
	if !isString(o[id]) || !isString(o[name]) || len(args) > 0 && !isNull(args) && !isString(args) && args[0] != '{' {
		return
	}
	p.Kind = PartCall
	p.Besides -= len(o[name]) + len(args)
	p.Call = &ToolCall{ID: unquote(o[id]), Name: unquote(o[name]), Arguments: clonePresent(args)}
}

func (p *Part) result(o object, id, output string) {
	if p.inner || !isString(o[id]) {
		return
	}
	r := &Result{CallID: unquote(o[id]), Name: o.text("toolName", "name"), IsError: string(o["is_error"]) == "true"}
	p.Kind, p.Result = PartResult, r
	value := o[output]
	p.Besides -= len(value)
	if out := objectOf(value); out.text("type") == TypeScreenshot {
		image := Part{Type: TypeScreenshot, Raw: value, Besides: len(value), inner: true}
		image.media(out)
		r.Text, r.Parts = image.Mark(), []Part{image}
		return
	} else if out != nil { // the AI SDK says what its output is
		r.IsError = strings.HasPrefix(out.text("type"), "error")
		if out.has("value") {
			value = out["value"]
		}
	}
	r.read(value)
}

// TypeScreenshot is the type of the output of a computer_call, which is an image.
const TypeScreenshot = "computer_screenshot"

// read takes a result's value: a text, a list of parts, or any JSON, which is its own text.
func (r *Result) read(value []byte) {
	switch {
	case len(value) == 0 || isNull(value):
	case isString(value):
		r.Text = unquote(value)
	case value[0] == '[':
		if list, rej := parseParts("", value, true); rej == nil {
			r.Text, r.Parts = list.text, list.list
			return
		}
		r.Text = string(value)
	default:
		r.Text = string(value)
	}
}

func (p *Part) reasoning(o object) {
	p.Kind = PartReasoning
	if isString(o["text"]) && !o.has("summary", "encrypted_content") {
		p.Shape, p.Text = ShapeAISDK, p.member(o, "text")
		return
	}
	p.Shape = ShapeResponses
	p.Besides -= len(o["summary"])
	p.Text = strings.Join(textsIn(o["summary"]), "\n")
}

// item reads a message of the Responses API; the type may be left out.
func (p *Part) item(o object) {
	if p.inner || len(o["content"]) == 0 {
		return
	}
	content, rej := parseContent("", o["content"], true)
	if role := o.text("role"); role != "" && rej == nil {
		p.Kind, p.Item = PartItem, &Item{Role: role, Text: content.text, Parts: content.list}
		p.Besides -= len(o["content"])
	}
}

func textsIn(list []byte) (texts []string) {
	if len(list) == 0 || list[0] != '[' {
		return nil
	}
	_, _ = walk(list, func(_, v []byte) { texts = append(texts, objectOf(v).text("text")) })
	return texts
}

// untyped reads a part that has no type: Gemini's parts, and messages of the Responses API in their short form. Others
// are kept under the name of their first member.
func untyped(p Part, o object) Part {
	p.Shape = ShapeGemini
	call, response := o.of("functionCall", "function_call"), o.of("functionResponse", "function_response")
	switch {
	case isString(o["role"]) && len(o["content"]) > 0:
		p.Type, p.Shape = "message", ShapeResponses
		p.item(o)
	case call != nil:
		p.Type = "functionCall"
		p.geminiCall(call)
	case response != nil:
		p.Type = "functionResponse"
		p.geminiResult(response)
	case o.of("inlineData", "inline_data") != nil, o.of("fileData", "file_data") != nil:
		p.media(o)
	case isString(o["text"]):
		p.Type, p.Kind, p.Text = "text", PartText, p.member(o, "text")
		if string(o["thought"]) == "true" {
			p.Type, p.Kind = "thought", PartReasoning
		}
	default:
		p.Type = dataName(p.Raw)
	}
	return p
}

// dataName names an unknown part by its first member that holds data.
func dataName(v []byte) (found string) {
	_, _ = walk(v, func(name, value []byte) {
		if found == "" && (value[0] == '{' || value[0] == '[') {
			if found = string(name); found == "" {
				found = "unnamed"
			}
		}
	})
	return found
}

// anonymous is the id of Gemini's calls that have none: results follow calls of the same name in order.
func anonymous(name string) string { return "fn:" + name }

func (p *Part) geminiCall(o object) {
	if !isString(o["name"]) {
		return
	}
	c := &ToolCall{ID: o.text("id"), Name: o.text("name"), Arguments: clonePresent(o["args"])}
	if c.ID == "" {
		c.ID = anonymous(c.Name)
	}
	p.Besides -= len(o["name"]) + len(o["args"])
	p.Kind, p.Call = PartCall, c
}

func (p *Part) geminiResult(o object) {
	if p.inner || !isString(o["name"]) {
		return
	}
	r := &Result{CallID: o.text("id"), Name: o.text("name")}
	if r.CallID == "" {
		r.CallID = anonymous(r.Name)
	}
	p.Kind, p.Result = PartResult, r
	p.Besides -= len(o["response"])
	response := o.of("response")
	r.IsError = response.has("error") && !response.has("output", "result")
	r.Text = string(o["response"])
	for _, name := range []string{"output", "result", "error"} {
		if response.has(name) && len(response) == 1 {
			r.Text = ""
			r.read(response[name])
			break
		}
	}
	if list := o["parts"]; len(list) > 0 && list[0] == '[' {
		p.Besides -= len(list)
		r.media(list)
	}
}

// media adds the media of a function's response to it.
func (r *Result) media(list []byte) {
	media, rej := parseParts("", list, true)
	if rej != nil || len(media.list) == 0 {
		return
	}
	if r.Parts == nil {
		raw, _ := jsontext.AppendQuote([]byte(`{"text":`), r.Text)
		r.Parts = []Part{{Type: partText, Shape: ShapeGemini, Kind: PartText, Text: r.Text, Raw: append(raw, '}')}}
	}
	r.Text = strings.TrimPrefix(r.Text+"\n"+media.text, "\n")
	r.Parts = append(r.Parts, media.list...)
}

// Mark stands for the part in a text.
func (p *Part) Mark() string {
	if p.Kind == PartMedia {
		return p.Media.Mark(p.Type)
	}
	return mark(p.Type)
}

// shown is the part in a text: its own, or a mark. Calls have none, since they are named beside the text.
func (p *Part) shown() (text string, ok bool) {
	switch p.Kind {
	case PartText:
		return p.Text, true
	case PartCall:
		return "", false
	case PartResult:
		return p.Result.Text, true
	case PartItem:
		return p.Item.Text, true
	}
	return p.Mark(), true
}

func partField(field string, index int) string { return fmt.Sprintf("%s[%d]", field, index) }
