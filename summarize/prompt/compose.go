package prompt

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"precis/events"
	"precis/summarize/tokens"
)

// Reasons of an OmittedPart.
const (
	reasonUnsupported = "not_supported" // the format has nothing like it, or not in this role
	reasonReasoning   = "reasoning"     // another provider's, or nothing follows that it belongs to
	reasonReference   = "by_reference"  // a file in another provider's storage, or a URL that this one does not fetch
	reasonData        = "invalid_data"  // its inline data is not base64, or it lacks what its type needs
	reasonProvider    = "provider_tool" // another provider's own tool, with its result
	reasonUnpaired    = "unpaired"      // a result whose call is nowhere, in an assistant's message
	reasonEmpty       = "empty"         // a text without text, which the provider refuses
)

// memberIndex is the index of an OmittedPart that is a member of its message and no part of the content.
const memberIndex = -1

// block is a part of a content in the prompt's format.
type block struct {
	raw       jsontext.Value // nil: nothing stands for the part
	text      string         // of a text
	isText    bool
	made      bool // not as published
	item      bool // an item of its own, in the Responses API
	reasoning bool
	output    bool // what the model made, in the Responses API: reasoning may come before it
	call      int  // which of the unit's calls stands here; -1: none
	tokens    int
	omitted   *OmittedPart
	message   string // whose part it is
	index     int
	typ       string
}

// orphan says that reasoning is left out, since what it was for is not there.
func (b block) orphan() OmittedPart {
	return OmittedPart{MessageID: b.message, Index: b.index, Type: b.typ, Reason: reasonReasoning}
}

// composer turns the parts of contents into blocks of a format.
type composer struct {
	format string
	own    events.Shape // of the format
	shape  events.Shape // of the messages so far
	count  func(string) int
}

// shapes are the formats' own shapes of parts. The format messages takes every part as it is.
var shapes = map[string]events.Shape{
	FormatOpenAI: events.ShapeOpenAI, FormatResponses: events.ShapeResponses, FormatAnthropic: events.ShapeAnthropic, FormatGemini: events.ShapeGemini,
}

// compose gives the units their blocks, those of outputs that are kept whole as well.
func compose(units []unit, r Request) {
	c := &composer{format: r.Format, own: shapes[r.Format], count: r.Count}
	for i := range units {
		c.unit(&units[i])
		units[i].spare()
	}
}

func (c *composer) unit(u *unit) {
	if m := u.message; m != nil && m.shown() {
		c.note(m)
		u.unread = tokens.Members(m.native(c.format))
		if c.format == FormatMessages {
			u.unread += tokens.Unread(m.Role, m.Content)
		} else if len(m.Content.Parts()) > 0 {
			u.blocks = c.content(m, u)
		}
		c.asides(u, m)
	}
	for n := range u.calls {
		call := &u.calls[n]
		c.beside(call)
		if call.verbatim() {
			c.result(call)
		}
	}
	for n := range u.tails {
		t := &u.tails[n]
		if c.note(t.message); c.format == FormatMessages {
			t.tokens = c.count(t.text) // what is not text counts with the message's first result
			continue
		}
		t.blocks = c.content(t.message, nil)
		t.tokens = weightOf(t.blocks)
	}
}

// asides adds what a message says beside its content, in a format whose messages have no such members.
func (c *composer) asides(u *unit, m *Message) {
	if c.format == FormatOpenAI || c.format == FormatMessages {
		return
	}
	for _, a := range m.Asides() {
		switch {
		case a.Text == "":
		case u.blocks != nil:
			b := c.made(m.Role, a.Text)
			b.message, b.index, b.typ = m.MessageID, memberIndex, a.Member
			u.blocks = append(u.blocks, b)
		default:
			if u.text != "" {
				u.text += "\n"
			}
			u.text += a.Text
		}
		if a.Member == "refusal" {
			continue
		}
		reason := reasonUnsupported
		if a.Reasons {
			reason = reasonReasoning
		}
		u.omitted = append(u.omitted, OmittedPart{MessageID: m.MessageID, Index: memberIndex, Type: a.Member, Reason: reason})
	}
}

// beside counts what a call has that is written as it was published.
func (c *composer) beside(call *call) {
	switch {
	case c.format == FormatMessages: // counts with the content
	case call.own != nil && call.own.Shape == c.own:
		call.beside = tokens.Beside(*call.own)
	case call.own == nil && c.format == FormatOpenAI:
		call.beside = tokens.CallBeside(call.ToolCall)
	}
}

// note remembers the shape of these messages: a part of an unknown type belongs to the parts around it.
func (c *composer) note(m *Message) {
	if m.outline.shape != events.ShapeShared {
		c.shape = m.outline.shape
	}
}

// content composes a message's parts besides the results of calls.
func (c *composer) content(m *Message, u *unit) []block {
	list, calls := []block{}, u.made()
	for i := range m.Content.Parts() {
		p := &m.Content.Parts()[i]
		b := block{call: -1}
		switch p.Kind {
		case events.PartResult:
			if m.Role != events.RoleAssistant {
				continue // stands with its call
			}
			b = c.inside(p, m.made[p.Result.CallID])
		case events.PartCall:
			n, ok := calls[p]
			switch {
			case ok:
				b.call = n
			case m.Role != events.RoleAssistant || m.answered[p.Call.ID]:
				b = c.inside(p, m.Role == events.RoleAssistant)
			} // else it repeats a call that stands
		case events.PartItem:
			for _, inner := range c.item(m.Role, p) {
				list = append(list, inner.of(m, i, p))
			}
			continue
		default:
			b = c.part(m.Role, p)
		}
		list = append(list, b.of(m, i, p))
	}
	return list
}

// of says which part of a message a block is, or a part of it.
func (b block) of(m *Message, index int, p *events.Part) block {
	if b.omitted != nil {
		b.omitted.MessageID, b.omitted.Index = m.MessageID, index
	}
	b.message, b.index, b.typ = m.MessageID, index, p.Type
	return b
}

// item composes a message of the Responses API that is a part. One that is not of the role of the message around it is marked.
func (c *composer) item(role string, p *events.Part) (list []block) {
	if c.own == p.Shape {
		return []block{c.verbatim(p)}
	}
	if p.Item.Role != role && !(isSystem(p.Item.Role) && isSystem(role)) {
		list = append(list, c.made(role, "["+p.Item.Role+" message]"))
	}
	if len(p.Item.Parts) == 0 {
		return append(list, c.text(role, &events.Part{Shape: p.Shape, Text: p.Item.Text, Type: p.Type}))
	}
	for i := range p.Item.Parts {
		list = append(list, c.part(role, &p.Item.Parts[i]))
	}
	return list
}

// inside composes a call that its own message answers, or its result: the provider's tool, which only it knows.
func (c *composer) inside(p *events.Part, paired bool) block {
	switch {
	case paired && p.Shape == c.own:
		return c.verbatim(p)
	case paired:
		return omitted(p, reasonProvider)
	}
	return omitted(p, reasonUnpaired)
}

// result composes what a call's result consists of.
func (c *composer) result(call *call) {
	m := call.result
	c.note(m)
	parts := m.Content.Parts()
	if call.part >= 0 {
		call.answer = &parts[call.part]
		parts = call.answer.Result.Parts
	}
	if c.format == FormatMessages {
		if call.part < 0 || call.part == m.results[0] { // which counts for the others
			call.unread = tokens.Unread(m.Role, m.Content)
		}
		return
	}
	if call.answer != nil && call.answer.Shape == c.own {
		call.unread = tokens.Unnamed(*call.answer)
	}
	if len(parts) == 0 {
		return
	}
	own := call.answer != nil && call.answer.Shape == c.own
	listed := own && c.listed(call.answer)
	call.blocks = []block{}
	for i := range parts {
		b := c.part(events.RoleTool, &parts[i])
		if b.omitted != nil {
			b.omitted.MessageID, b.omitted.Index = m.MessageID, max(call.part, 0)
			if call.part < 0 {
				b.omitted.Index = i
			}
		}
		switch {
		case listed && string(b.raw) != string(parts[i].Raw), own && parts[i].Shape == c.own && malformed(&parts[i]):
			call.mended = true // a part that the provider refuses there
		case own:
			b.omitted = nil // it stands as it is
		}
		call.blocks = append(call.blocks, b)
	}
}

// partsMember is where the results of a format's own shape have a list of parts.
var partsMember = map[string]string{FormatAnthropic: "content", FormatResponses: "output"}

// listed reports whether a result of the format's own shape has a list of parts, each of which the provider must take.
func (c *composer) listed(p *events.Part) bool {
	return membersOf(p.Raw)[partsMember[c.format]].Kind() == '['
}

// part composes a part of a message of a role.
func (c *composer) part(role string, p *events.Part) block {
	if c.misplaced(role, p) {
		return c.moved(role, p)
	}
	switch p.Kind {
	case events.PartText:
		return c.text(role, p)
	case events.PartMedia:
		if p.Shape == c.own && malformed(p) {
			return c.marked(role, p, reasonData)
		}
		if p.Shape == c.own && (role != events.RoleTool || p.Type != events.TypeScreenshot) {
			return c.verbatim(p)
		}
		raw, reason := c.media(role, p.Media)
		if reason == "" {
			named := events.Part{Besides: len(raw) - len(p.Media.Data) - len(p.Media.Plain)} // a name or a URL
			return block{raw: raw, made: true, call: -1, tokens: tokens.Media(p.Media, c.own) + tokens.Unnamed(named)}
		}
		return c.marked(role, p, reason)
	case events.PartReasoning:
		if p.Shape == c.own && !unsigned(p) {
			return c.verbatim(p)
		}
		return omitted(p, reasonReasoning)
	}
	if c.own == events.ShapeOpenAI && role == events.RoleUser && p.Type == "image_url" {
		if url := membersOf(p.Raw)["image_url"]; url.Kind() == '"' && string(url) != `""` { // as Mistral takes it, and OpenAI does not
			b := c.verbatim(p)
			b.raw = with(p.Raw, "image_url", object{"url": url})
			return b
		}
	}
	if p.Shape == c.own && (broken[p.Type] || malformed(p)) {
		return c.marked(role, p, reasonData)
	}
	if p.Shape == c.own || p.Shape == events.ShapeShared && c.shape == c.own {
		return c.verbatim(p)
	}
	return c.marked(role, p, reasonUnsupported)
}

// broken are types that are a call, a result or an item, if they have what these need: else no provider takes them.
var broken = map[string]bool{
	"tool_use": true, "tool_result": true, "function_call": true, "custom_tool_call": true, "function_call_output": true,
	"custom_tool_call_output": true, "message": true, "functionCall": true, "functionResponse": true,
}

// misplaced reports whether the provider refuses a part of its own shape in a message of a role.
func (c *composer) misplaced(role string, p *events.Part) bool {
	if p.Shape != c.own {
		return false
	}
	text, media := p.Kind == events.PartText, p.Kind == events.PartMedia
	switch c.format {
	case FormatOpenAI:
		return media && role != events.RoleUser
	case FormatResponses:
		switch {
		case text:
			return (p.Type == "output_text") != (role == events.RoleAssistant)
		case role == events.RoleTool:
			return !media
		}
		return media && role == events.RoleAssistant
	case FormatAnthropic:
		switch {
		case isSystem(role):
			return !text
		case role == events.RoleTool:
			return !text && !media && p.Type != "search_result"
		}
		return media && role == events.RoleAssistant || p.Kind == events.PartReasoning && role != events.RoleAssistant
	case FormatGemini:
		return isSystem(role) && !text
	}
	return false
}

// moved is what stands for a misplaced part.
func (c *composer) moved(role string, p *events.Part) block {
	switch p.Kind {
	case events.PartText:
		return c.made(role, p.Text)
	case events.PartItem:
		return c.made(role, p.Item.Text)
	case events.PartReasoning:
		return omitted(p, reasonReasoning)
	}
	return c.marked(role, p, reasonUnsupported)
}

// unsigned reports whether Anthropic can't verify its own reasoning, and refuses it: a stream that broke off has no signature.
func unsigned(p *events.Part) bool {
	if p.Shape != events.ShapeAnthropic {
		return false
	}
	var signed struct {
		Signature string `json:"signature"`
		Data      string `json:"data"`
	}
	return json.Unmarshal(p.Raw, &signed) != nil || signed.Signature == "" && signed.Data == ""
}

// carries reports whether a part of Gemini's is there for its signature, which may come with an empty text at the end of a stream.
func carries(p *events.Part) bool {
	var signed struct {
		Signature string `json:"thoughtSignature"`
	}
	return p.Shape == events.ShapeGemini && json.Unmarshal(p.Raw, &signed) == nil && signed.Signature != ""
}

// text composes a text. Anthropic and Gemini refuse one without text.
func (c *composer) text(role string, p *events.Part) block {
	apart := systemApart(c.format)
	if apart && strings.TrimSpace(p.Text) == "" && !(p.Shape == c.own && carries(p)) {
		return omitted(p, reasonEmpty)
	}
	own := p.Shape == c.own
	if p.Shape == events.ShapeShared {
		switch c.format {
		case FormatOpenAI:
			own = p.Type == "text" || role == events.RoleAssistant
		case FormatAnthropic:
			own = p.Type == "text"
		case FormatResponses:
			own = p.Type == "refusal" && role == events.RoleAssistant
		}
	}
	if own {
		b := c.verbatim(p)
		b.text, b.isText = p.Text, true
		if c.format == FormatAnthropic && p.Besides > len(`{"type":"text","text":}`) {
			b.raw = members(p.Raw, anthropicText) // the API refuses others
		}
		return b
	}
	return c.made(role, p.Text)
}

// made is a text in the format.
func (c *composer) made(role, text string) block {
	return block{raw: textPart(c.format, role, text), text: text, isText: true, made: true, call: -1, tokens: c.count(text)}
}

func (c *composer) marked(role string, p *events.Part, reason string) block {
	b := c.made(role, p.Mark())
	b.omitted = &OmittedPart{Type: p.Type, Reason: reason}
	return b
}

func omitted(p *events.Part, reason string) block {
	return block{call: -1, omitted: &OmittedPart{Type: p.Type, Reason: reason}}
}

// verbatim is a part as it was published.
func (c *composer) verbatim(p *events.Part) block {
	b := block{raw: p.Raw, call: -1, reasoning: p.Kind == events.PartReasoning}
	switch p.Kind {
	case events.PartText:
		b.tokens = c.count(p.Text) + tokens.Beside(*p)
	case events.PartItem:
		b.tokens = c.count(p.Item.Text) + tokens.Beside(*p)
	case events.PartMedia, events.PartReasoning:
		b.tokens = tokens.Beside(*p)
	default:
		b.tokens = c.count(string(p.Raw))
	}
	if c.format == FormatResponses {
		b.item = p.Kind != events.PartText && p.Kind != events.PartMedia
		b.output = produced(p)
	}
	return b
}

// produced reports whether an item is one of those that a model makes and its reasoning leads to.
func produced(p *events.Part) bool {
	if p.Kind == events.PartItem {
		return p.Item.Role == events.RoleAssistant
	}
	return strings.HasSuffix(p.Type, "_call") || p.Type == "mcp_approval_request"
}

// textPart is a text as a part of a format.
func textPart(format, role, text string) jsontext.Value {
	part := struct {
		Type string `json:"type,omitempty"`
		Text string `json:"text"`
	}{"text", text}
	switch {
	case format == FormatGemini:
		part.Type, part.Text = "", visible(text)
	case format == FormatAnthropic:
		part.Text = visible(text)
	case format == FormatResponses && role == events.RoleAssistant:
		part.Type = "output_text"
	case format == FormatResponses:
		part.Type = "input_text"
	}
	return encoded(part)
}

// encoded is a value of our own types as JSON, which can't fail: texts of events are valid UTF-8.
func encoded(v any) jsontext.Value {
	if text, is := v.(string); is {
		return quoted(text)
	}
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return jsontext.Value("null")
	}
	return b
}

// quoted is a text as JSON: most of what a prompt has.
func quoted(text string) jsontext.Value {
	b, err := jsontext.AppendQuote(make([]byte, 0, len(text)+len(text)/16+2), text)
	if err != nil {
		return jsontext.Value("null")
	}
	return b
}

// with is an object with another value in one of its members.
func with(raw jsontext.Value, member string, value any) jsontext.Value {
	object := membersOf(raw)
	if object == nil {
		return raw
	}
	object[member] = encoded(value)
	return encoded(object)
}

// membersOf are an object's members; nil for what is none.
func membersOf(raw jsontext.Value) map[string]jsontext.Value {
	object := map[string]jsontext.Value{}
	if json.Unmarshal(raw, &object) != nil {
		return nil
	}
	return object
}

// itself is a result in the format's own shape, without the parts that the provider refuses in it.
func (c *call) itself(id, member string) jsontext.Value {
	raw := c.answer.Raw
	if c.id != c.answer.Result.CallID {
		raw = with(raw, id, c.id)
	}
	if !c.mended {
		return raw
	}
	list := raws(c.blocks)
	if len(list) == 0 {
		return with(raw, member, noText)
	}
	return with(raw, member, list)
}

// raws are the blocks that stand.
func raws(blocks []block) (list []jsontext.Value) {
	for _, b := range blocks {
		if b.raw != nil {
			list = append(list, b.raw)
		}
	}
	return list
}

// textOf is the text of blocks, with marks for what has none.
func textOf(blocks []block) string {
	var texts []string
	for _, b := range blocks {
		if b.isText {
			texts = append(texts, b.text)
		}
	}
	return strings.Join(texts, "\n")
}
