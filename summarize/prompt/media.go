package prompt

import (
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
	web := strings.HasPrefix(m.URL, "https://") || strings.HasPrefix(m.URL, "http://")
	kind := map[string]string{events.MediaImage: "image", events.MediaDocument: "document"}[m.Kind]
	var source object
	switch {
	case role != events.RoleUser && role != events.RoleTool, kind == "":
		return nil, reasonUnsupported
	case m.Plain != "":
		source = object{"type": "text", "media_type": "text/plain", "data": m.Plain}
	case m.Data == nil && !web:
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
