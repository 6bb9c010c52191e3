package prompt

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"precis/events"
)

// geminiPart is a part of Gemini's contents. Calls have no ids: their responses follow in the same order.
type geminiPart struct {
	Text             string          `json:"text,omitempty"`
	ThoughtSignature string          `json:"thoughtSignature,omitempty"`
	FunctionCall     *geminiCall     `json:"functionCall,omitzero"`
	FunctionResponse *geminiResponse `json:"functionResponse,omitzero"`
}

type geminiCall struct {
	Name string         `json:"name"`
	Args jsontext.Value `json:"args"`
}

type geminiResponse struct {
	Name     string            `json:"name"`
	Response map[string]string `json:"response"` // the text under "output", or under "error"
}

type geminiContent struct {
	Role  string       `json:"role,omitempty"` // user or model; none in a system instruction
	Parts []geminiPart `json:"parts"`
}

const roleModel = "model"

// noSignature stands for the thought signature of a call that has none, as the API documents it for histories that come from
// elsewhere: Gemini 3 refuses the current turn's calls without one. The first call of a content needs it.
const noSignature = "skip_thought_signature_validator"

// writeGemini writes contents of alternating roles. The API takes a function call only behind a user's content, and as many
// function responses in the next content as there are calls in the one before.
func writeGemini(p *Prompt, d draft) error {
	g := &geminiWriter{contents: []geminiContent{}}
	d.each(func() int { return len(g.contents) }, g.text, func(u unit) {
		if strings.TrimSpace(u.text) != "" || len(u.calls) == 0 {
			g.text(u.speaker(), u.text)
		}
		for i, c := range u.calls {
			part := geminiPart{FunctionCall: &geminiCall{Name: geminiName(c.Name), Args: argumentObject(c.Arguments)}}
			if i == 0 {
				part.ThoughtSignature = noSignature
			}
			g.add(roleModel, part)
		}
		for _, c := range u.calls {
			key := "output"
			if c.failed() {
				key = "error"
			}
			g.add(events.RoleUser, geminiPart{FunctionResponse: &geminiResponse{Name: geminiName(c.Name), Response: map[string]string{key: c.shown}}})
		}
	})
	var err error
	if len(g.system.Parts) > 0 {
		if p.System, err = json.Marshal(g.system); err != nil {
			return err
		}
	}
	p.Messages, err = json.Marshal(g.contents)
	return err
}

type geminiWriter struct {
	system   geminiContent
	contents []geminiContent
}

func (g *geminiWriter) text(role, text string) {
	part := geminiPart{Text: visible(text)}
	switch {
	case isSystem(role):
		g.system.Parts = append(g.system.Parts, part)
	case role == events.RoleAssistant:
		g.add(roleModel, part)
	default:
		g.add(events.RoleUser, part)
	}
}

func (g *geminiWriter) add(role string, part geminiPart) {
	if n := len(g.contents); n > 0 && g.contents[n-1].Role == role {
		g.contents[n-1].Parts = append(g.contents[n-1].Parts, part)
		return
	}
	g.contents = append(g.contents, geminiContent{Role: role, Parts: []geminiPart{part}})
}

// geminiName is a tool's name as Gemini takes it: it begins with a letter or an underscore.
func geminiName(name string) string {
	name = toolName(name)
	if c := name[0]; c == '-' || c >= '0' && c <= '9' {
		name = "_" + name[:min(len(name), maxName-1)]
	}
	return name
}
