package prompt

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"precis/events"
)

type object = map[string]any

// media is a part of another provider in the format, or the reason why there is none.
func (c *composer) media(role string, m *events.Media) (raw jsontext.Value, reason string) {
	if m.Broken {
		return nil, reasonData
	}
	if m.FileID != "" && m.Data == nil {
		return nil, reasonReference
	}
	if m.Plain != "" && c.format != FormatAnthropic {
		return textPart(c.format, role, m.Plain), ""
	}
	var part any
	switch c.format {
	case FormatOpenAI:
		part, reason = openAIMedia(role, m)
	case FormatResponses:
		part, reason = responsesMedia(role, m)
	case FormatAnthropic:
		part, reason = anthropicMedia(role, m)
	case FormatGemini:
		part, reason = geminiMedia(role, m)
	}
	if reason != "" {
		return nil, reason
	}
	return encoded(part), ""
}

// openAIMedia: only a user's message has them.
func openAIMedia(role string, m *events.Media) (part any, reason string) {
	audio, isAudio := strings.CutPrefix(m.MIME, "audio/")
	audio = strings.TrimPrefix(strings.Replace(audio, "mpeg", "mp3", 1), "x-")
	switch {
	case role != events.RoleUser:
		return nil, reasonUnsupported
	case m.Kind == events.MediaImage:
		url := object{"url": location(m)}
		if m.Detail != "" {
			url["detail"] = m.Detail
		}
		return object{"type": "image_url", "image_url": url}, ""
	case m.Data == nil:
		return nil, reasonReference
	case isAudio && (audio == "wav" || audio == "mp3"):
		return object{"type": "input_audio", "input_audio": object{"data": string(m.Data), "format": audio}}, ""
	case m.Kind == events.MediaDocument && m.MIME == "application/pdf":
		return object{"type": "file", "file": object{"filename": named(m), "file_data": location(m)}}, ""
	}
	return nil, reasonUnsupported
}

func responsesMedia(role string, m *events.Media) (part any, reason string) {
	switch {
	case role != events.RoleUser && role != events.RoleTool:
		return nil, reasonUnsupported
	case m.Kind == events.MediaImage:
		detail := m.Detail
		if detail == "" {
			detail = "auto"
		}
		return object{"type": "input_image", "image_url": location(m), "detail": detail}, ""
	case m.Kind == events.MediaDocument && m.Data == nil:
		return object{"type": "input_file", "file_url": m.URL}, ""
	case m.Kind == events.MediaDocument && m.MIME == "application/pdf":
		return object{"type": "input_file", "filename": named(m), "file_data": location(m)}, ""
	}
	return nil, reasonUnsupported
}

// anthropicImages are the kinds that the API takes ("Vision").
var anthropicImages = map[string]bool{"image/jpeg": true, "image/png": true, "image/gif": true, "image/webp": true}

func anthropicMedia(role string, m *events.Media) (part any, reason string) {
	kind := map[string]string{events.MediaImage: "image", events.MediaDocument: "document"}[m.Kind]
	var source object
	switch {
	case role != events.RoleUser && role != events.RoleTool, kind == "":
		return nil, reasonUnsupported
	case m.Plain != "":
		source = object{"type": "text", "media_type": "text/plain", "data": m.Plain}
	case m.Data == nil && !web(m.URL):
		return nil, reasonReference
	case m.Data == nil:
		source = object{"type": "url", "url": m.URL}
	case kind == "image" && !anthropicImages[m.MIME], kind == "document" && m.MIME != "application/pdf":
		return nil, reasonUnsupported
	default:
		source = object{"type": "base64", "media_type": m.MIME, "data": string(m.Data)}
	}
	return object{"type": kind, "source": source}, ""
}

// geminiMedia: the API fetches files of its own storage alone, and a function's response is an object of texts.
func geminiMedia(role string, m *events.Media) (part any, reason string) {
	switch {
	case role != events.RoleUser && role != events.RoleAssistant, m.MIME == "" && m.Data != nil:
		return nil, reasonUnsupported
	case m.Data == nil:
		return nil, reasonReference
	}
	return object{"inlineData": object{"mimeType": m.MIME, "data": string(m.Data)}}, ""
}

// location is a medium's URL, or its data as one.
func location(m *events.Media) string {
	if m.Data == nil {
		return m.URL
	}
	mime := m.MIME
	if mime == "" {
		mime = "application/octet-stream"
	}
	return "data:" + mime + ";base64," + string(m.Data)
}

func named(m *events.Media) string {
	if m.Name == "" {
		return "document.pdf"
	}
	return m.Name
}

// mediaTypes are types of parts that are media, if they have what these need.
var mediaTypes = map[string]bool{
	"image_url": true, "input_audio": true, "input_image": true, "input_file": true, "file": true, "image": true, "document": true, "reasoning-file": true,
	"inlineData": true, "fileData": true, events.TypeScreenshot: true,
}

// malformed reports whether a part is one of media that its own provider refuses: it lacks what its type needs, or what it says of itself
// can't be.
func malformed(p *events.Part) bool {
	if p.Kind != events.PartMedia {
		return p.Kind == events.PartOther && mediaTypes[p.Type] && !parted(p)
	}
	m := p.Media
	if m.Broken && !base64Like(m.Data) {
		return true
	}
	switch p.Shape {
	case events.ShapeOpenAI:
		return m.MIME == "audio/" // without a format
	case events.ShapeAnthropic:
		return malformedSource(p)
	case events.ShapeGemini:
		return m.Data != nil && m.MIME == ""
	}
	return false
}

// malformedSource does the same for Anthropic's source. Files in the provider's storage are of any kind.
func malformedSource(p *events.Part) bool {
	m := p.Media
	switch {
	case p.Type != "image" && p.Type != "document":
		return true
	case m.Plain != "":
		return p.Type != "document"
	case m.Data != nil && p.Type == "image":
		return !anthropicImages[m.MIME]
	case m.Data != nil:
		return m.MIME != "application/pdf"
	}
	return m.URL != "" && !web(m.URL)
}

// parted reports whether a part is a document of Anthropic's that is made of parts.
func parted(p *events.Part) bool {
	source := membersOf(membersOf(p.Raw)["source"])
	kind := source["content"].Kind()
	return p.Type == "document" && string(source["type"]) == `"content"` && (kind == '[' || kind == '"')
}

// base64Like reports whether data is base64 in any of its variants, which some providers take: with the alphabet for URLs, with line
// breaks, without padding.
func base64Like(data []byte) bool {
	return len(data) > 0 && !slices.ContainsFunc(data, func(c byte) bool {
		return !nameByte(c) && !strings.ContainsRune("+/=\r\n", rune(c))
	})
}

// web reports whether a provider may fetch a URL.
func web(url string) bool {
	return strings.HasPrefix(url, "https://") || strings.HasPrefix(url, "http://")
}
