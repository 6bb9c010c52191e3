package prompt

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"precis/events"
)

// geminiPart is a part of Gemini's contents. Calls have no ids: their responses follow in the same order.
type geminiPart struct {
	ThoughtSignature string          `json:"thoughtSignature,omitempty"`
	FunctionCall     *geminiCall     `json:"functionCall,omitzero"`
	FunctionResponse *geminiResponse `json:"functionResponse,omitzero"`
}

type geminiCall struct {
	ID   string         `json:"id,omitempty"`
	Name string         `json:"name"`
	Args jsontext.Value `json:"args"`
}

type geminiResponse struct {
	ID       string            `json:"id,omitempty"`
	Name     string            `json:"name"`
	Response map[string]string `json:"response"` // the text under "output", or under "error"
}

type geminiContent struct {
	Role  string           `json:"role,omitempty"` // user or model; none in a system instruction
	Parts []jsontext.Value `json:"parts"`
}

const roleModel = "model"

// noSignature stands for the thought signature of a call that has none, as the API documents it for histories that come from
// elsewhere: Gemini 3 refuses the current turn's calls without one. The first call of a content needs it.
const noSignature = "skip_thought_signature_validator"

// writeGemini writes contents of alternating roles. The API takes a function call only behind a user's content, and as many
// function responses in the next content as there are calls in the one before. It gives a response without an id to the call at its
// place, so responses stand in the order of the calls, whatever the order in which they came.
func writeGemini(p *Prompt, d draft) error {
	g := &geminiWriter{contents: []geminiContent{}, from: d.from}
	d.each(g.size, g.text, g.unit)
	var err error
	if len(g.system.Parts) > 0 {
		if p.System, err = json.Marshal(g.system); err != nil {
			return err
		}
	}
	p.Messages, err = written(d, g.contents)
	return err
}

type geminiWriter struct {
	system   geminiContent
	contents []geminiContent
	from     *sources
}

func (g *geminiWriter) size() int { return len(g.contents) }

func (g *geminiWriter) unit(u unit) {
	placed := map[int]bool{}
	var calls []int // in the order in which they stand, which is that of their responses
	for _, b := range u.blocks {
		switch {
		case b.call >= 0:
			placed[b.call], calls = true, append(calls, b.call)
			g.add(u.speaker(), u.calls[b.call].geminiCall(len(calls) == 1))
		case b.raw != nil:
			g.add(u.speaker(), b.raw)
		}
	}
	switch {
	case u.blocks == nil && (strings.TrimSpace(u.text) != "" || len(u.calls) == 0):
		g.text(u.speaker(), u.text)
	case u.blocks != nil && len(u.calls) == 0 && len(raws(u.blocks)) == 0:
		g.text(u.speaker(), "")
	}
	for n := range u.calls {
		if !placed[n] {
			calls = append(calls, n)
			g.add(u.role, u.calls[n].geminiCall(len(calls) == 1))
		}
	}
	g.from.said(g.size() - 1)
	for _, n := range calls {
		g.add(events.RoleUser, u.calls[n].geminiResult())
		g.from.result(n, g.size()-1)
	}
	for _, t := range u.beside() {
		for _, raw := range raws(t.blocks) {
			g.add(events.RoleUser, raw)
		}
		g.from.tail(t, g.size()-1)
	}
}

// geminiID is the id that a call has in Gemini's own shape; most have none.
func (c *call) geminiID() string {
	if c.own == nil || c.own.Shape != events.ShapeGemini || strings.HasPrefix(c.ID, "fn:") {
		return ""
	}
	return c.ID
}

// geminiCall is a call: its own part, or one without a signature.
func (c *call) geminiCall(first bool) jsontext.Value {
	if c.own != nil && c.own.Shape == events.ShapeGemini {
		return c.own.Raw
	}
	part := geminiPart{FunctionCall: &geminiCall{Name: geminiName(c.Name), Args: argumentObject(c.Arguments)}}
	if first {
		part.ThoughtSignature = noSignature
	}
	return encoded(part)
}

func (c *call) geminiResult() jsontext.Value {
	if c.verbatim() && c.answer != nil && c.answer.Shape == events.ShapeGemini && c.own != nil && c.own.Shape == events.ShapeGemini && !c.mended {
		return c.answer.Raw
	}
	key := "output"
	if c.failed() {
		key = "error"
	}
	name := c.Name
	if c.own == nil || c.own.Shape != events.ShapeGemini {
		name = geminiName(name)
	}
	text := c.shown
	if c.verbatim() && len(raws(c.blocks)) > 0 {
		text = textOf(c.blocks)
	}
	return encoded(geminiPart{FunctionResponse: &geminiResponse{ID: c.geminiID(), Name: name, Response: map[string]string{key: text}}})
}

func (g *geminiWriter) text(role, text string) { g.add(role, textPart(FormatGemini, role, text)) }

// add adds a part to the contents of a role.
func (g *geminiWriter) add(role string, part jsontext.Value) {
	switch {
	case isSystem(role):
		g.system.Parts = append(g.system.Parts, part)
		return
	case role == events.RoleAssistant:
		role = roleModel
	default:
		role = events.RoleUser
	}
	if n := len(g.contents); n > 0 && g.contents[n-1].Role == role {
		g.contents[n-1].Parts = append(g.contents[n-1].Parts, part)
		return
	}
	g.contents = append(g.contents, geminiContent{Role: role, Parts: []jsontext.Value{part}})
}

// geminiName is a tool's name as Gemini takes it: it begins with a letter or an underscore.
func geminiName(name string) string {
	name = toolName(name)
	if c := name[0]; c == '-' || c >= '0' && c <= '9' {
		name = "_" + name[:min(len(name), maxName-1)]
	}
	return name
}
