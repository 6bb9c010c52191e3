package timeline

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"precis/api"
	"precis/internal/audit"
)

//go:embed story.tmpl
var stories embed.FS

//go:embed page.tmpl
var page string

// Style and Script belong to what the templates show.
//
//go:embed timeline.css
var Style string

//go:embed timeline.js
var Script string

// Templates adds the templates "story", "tiles", "findings" and "about" to others, which must have Funcs.
func Templates(t *template.Template) (*template.Template, error) { return t.ParseFS(stories, "*.tmpl") }

// Said is a message of a prompt.
type Said struct{ Role, Text string }

// moment is the prompt of a moment.
type moment struct {
	api.ContextReply
	Said []Said
}

// SaidIn are the messages of a prompt, in any format.
func SaidIn(r api.ContextReply) (list []Said) {
	for _, part := range []jsontext.Value{r.System, r.Messages} {
		var messages []struct {
			Role    string         `json:"role"`
			Content jsontext.Value `json:"content"`
		}
		if len(part) == 0 || part.Kind() == 'n' {
			continue
		}
		if err := json.Unmarshal(part, &messages); err != nil {
			list = append(list, Said{"system", string(part)})
			continue
		}
		var raw []jsontext.Value
		_ = json.Unmarshal(part, &raw) // it is a list, as above
		for i, m := range messages {
			list = append(list, saidBy(m.Role, m.Content, raw[i]))
		}
	}
	return list
}

// saidBy is a message's text, and behind it, as JSON, what else it has; all of it as JSON where its content is no text.
func saidBy(role string, content, whole jsontext.Value) Said {
	said := Said{Role: role}
	if role == "" {
		said.Role = "system"
	}
	var members map[string]jsontext.Value
	if json.Unmarshal(whole, &members) != nil || len(content) > 0 && content.Kind() != 'n' && json.Unmarshal(content, &said.Text) != nil || len(content) == 0 {
		_ = whole.Indent() // it is JSON
		said.Text = string(whole)
		return said
	}
	for _, name := range []string{"role", "content", "message_id", "type"} {
		delete(members, name)
	}
	if len(members) == 0 {
		return said
	}
	rest, err := json.Marshal(members, json.Deterministic(true))
	if err != nil {
		return said
	}
	if said.Text != "" {
		said.Text += "\n"
	}
	said.Text += string(rest)
	return said
}

// WritePage writes a story as one self-contained page: no server, no network.
func WritePage(to io.Writer, s *audit.Story) error {
	t, err := template.New("page").Funcs(Funcs()).Parse(page)
	if err == nil {
		t, err = Templates(t)
	}
	if err != nil {
		return fmt.Errorf("read templates: %w", err)
	}
	data := struct {
		*View
		Moment                    *moment
		Style                     template.CSS
		Script                    template.JS
		StyleDigest, ScriptDigest string
	}{View: New(s, Options{Contents: true, Whole: true}), Style: template.CSS(Style), Script: template.JS(Script), StyleDigest: digest(Style), ScriptDigest: digest(Script)}
	if r, ok := s.Context.(api.ContextReply); ok {
		data.Moment = &moment{r, SaidIn(r)}
	}
	if err := t.Execute(to, data); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	return nil
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.StdEncoding.EncodeToString(sum[:])
}
