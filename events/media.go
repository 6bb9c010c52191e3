package events

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"image"
	_ "image/gif"  // sizes of images
	_ "image/jpeg" // of each
	_ "image/png"  // kind
	"io"
	"strings"
)

// Kinds of media.
const (
	MediaImage    = "image"
	MediaAudio    = "audio"
	MediaVideo    = "video"
	MediaDocument = "document"
)

// Media is an image, a document, a recording or a video of a content, inline or by a reference. What a shape does not
// say is empty or 0.
type Media struct {
	Kind   string
	MIME   string
	Data   []byte // inline, base64 as published; nil for a reference
	Plain  string // a document that is a text
	URL    string
	FileID string // in its provider's storage
	Name   string
	Detail string // OpenAI's: low, high, auto

	Width, Height int // of an inline image, in pixels
	Pages         int // of an inline PDF
	Broken        bool
}

// Bytes is the size of inline data.
func (m *Media) Bytes() int {
	if m.Plain != "" {
		return len(m.Plain)
	}
	return base64.RawStdEncoding.DecodedLen(len(bytes.TrimRight(m.Data, "=")))
}

// Mark stands for the part in a text: its kind and, of inline data, its size. typ is the part's type.
func (m *Media) Mark(typ string) string {
	if m.Bytes() == 0 {
		return mark(typ)
	}
	about := []string{}
	if m.MIME != "" {
		about = append(about, typeName(m.MIME))
	}
	if m.Width > 0 {
		about = append(about, fmt.Sprintf("%dx%d", m.Width, m.Height))
	}
	if m.Pages == 1 {
		about = append(about, "1 page")
	} else if m.Pages > 1 {
		about = append(about, fmt.Sprintf("%d pages", m.Pages))
	}
	about = append(about, size(m.Bytes()))
	return "[" + m.Kind + ": " + strings.Join(about, ", ") + "]"
}

func size(n int) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d bytes", n)
	case n < 1000_000:
		return fmt.Sprintf("%d kB", (n+500)/1000)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

// media reads an image, a document or a recording in any shape.
func (p *Part) media(o object) {
	m := &Media{}
	switch {
	case p.Type == "image_url":
		p.Shape = ShapeOpenAI
		image := o.of("image_url")
		m.Kind, m.Detail = MediaImage, image.text("detail")
		m.place(bare(image["url"]))
	case p.Type == "input_image", p.Type == TypeScreenshot:
		p.Shape = ShapeResponses
		m.Kind, m.Detail, m.FileID = MediaImage, o.text("detail"), o.text("file_id")
		m.place(bare(o["image_url"]))
	case p.Type == "input_audio":
		p.Shape = ShapeOpenAI
		audio := o.of("input_audio")
		m.Kind, m.MIME, m.Data = MediaAudio, "audio/"+audio.text("format"), bare(audio["data"])
	case p.Type == "input_file":
		p.Shape = ShapeResponses
		m.file(o)
		m.URL = o.text("file_url")
	case p.Type == "file" && o.of("file") != nil:
		p.Shape = ShapeOpenAI
		m.file(o.of("file"))
	case p.Shape == ShapeGemini:
		p.Type = "inlineData"
		data := o.of("inlineData", "inline_data")
		if data == nil {
			p.Type, data = "fileData", o.of("fileData", "file_data")
		}
		m.MIME, m.Name = data.text("mimeType", "mime_type"), data.text("displayName", "display_name")
		m.Data, m.URL = bare(data["data"]), data.text("fileUri", "file_uri")
	case o.of("source") != nil:
		p.Shape = ShapeAnthropic
		m.source(o.of("source"))
		m.Name = o.text("title")
	default:
		p.Shape = ShapeAISDK
		m.modelFile(p.Type, o)
	}
	if m.Kind == "" {
		m.Kind = kindOf(p.Type, m.MIME)
	}
	if p.Type == "reasoning-file" || len(m.Data) == 0 && m.Plain == "" && m.URL == "" && m.FileID == "" {
		return // nothing that could be shown elsewhere
	}
	if stored(m.URL) {
		m.FileID, m.URL = m.URL, ""
	}
	p.Besides -= len(m.Data) + len(m.Plain)
	m.measure()
	p.Kind, p.Media = PartMedia, m
}

// stored reports whether a URL is that of a file in Google's storage, which other providers do not fetch.
func stored(url string) bool {
	return strings.HasPrefix(url, "gs://") || strings.HasPrefix(url, "https://generativelanguage.googleapis.com/")
}

// place takes a URL, or the data in it, which is not copied.
func (m *Media) place(url []byte) {
	head, data, ok := bytes.Cut(url, []byte(","))
	mime, isData := bytes.CutPrefix(head, []byte("data:"))
	mime, isBase64 := bytes.CutSuffix(mime, []byte(";base64"))
	if !ok || !isData || !isBase64 {
		m.URL = string(url)
		return
	}
	m.MIME, m.Data = string(mime), data
}

// file takes OpenAI's files.
func (m *Media) file(o object) {
	m.Kind, m.Name, m.FileID = MediaDocument, o.text("filename"), o.text("file_id")
	if data := bare(o["file_data"]); len(data) > 0 {
		if m.place(data); m.Data == nil { // base64 alone is taken too
			m.URL, m.MIME, m.Data = "", "application/pdf", data
		}
	}
}

// source takes what Anthropic's images and documents are made from.
func (m *Media) source(o object) {
	switch o.text("type") {
	case "base64":
		m.MIME, m.Data = o.text("media_type"), bare(o["data"])
	case "url":
		m.URL = o.text("url")
	case "file":
		m.FileID = o.text("file_id")
	case "text":
		m.MIME, m.Plain = "text/plain", o.text("data")
	}
}

// modelFile takes the AI SDK's images and files.
func (m *Media) modelFile(typ string, o object) {
	member := "data"
	if typ == "image" {
		m.Kind, member = MediaImage, "image"
	}
	m.Name = o.text("filename")
	value := bare(o[member])
	if m.place(value); m.URL != "" && !strings.Contains(m.URL, "://") {
		m.Data, m.URL = value, ""
	}
	if mime := o.text("mediaType"); mime != "" {
		m.MIME = mime
	}
}

func kindOf(typ, mime string) string {
	for _, kind := range []string{MediaImage, MediaAudio, MediaVideo} {
		if strings.HasPrefix(mime, kind+"/") || typ == kind {
			return kind
		}
	}
	return MediaDocument
}

// bare is a JSON string's text without a copy where it has no escapes.
func bare(v []byte) []byte {
	if !isString(v) {
		return nil
	}
	if bytes.IndexByte(v, '\\') < 0 {
		return v[1 : len(v)-1]
	}
	return []byte(unquote(v))
}

// headBytes is how much of an image is decoded for its size; metadata precedes it in a JPEG.
const headBytes = 256 << 10

// measure reads the size of inline data from its header. Data that is not base64 is Broken.
func (m *Media) measure() {
	if m.Data == nil {
		return
	}
	if m.Broken = !isBase64(m.Data); m.Broken {
		return
	}
	switch m.Kind {
	case MediaImage:
		m.Width, m.Height = dimensions(io.LimitReader(base64.NewDecoder(base64.StdEncoding, bytes.NewReader(m.Data)), headBytes))
	case MediaDocument:
		m.Pages = pages(m.Data)
	}
}

func isBase64(data []byte) bool {
	if len(data) == 0 || len(data)%4 != 0 {
		return false
	}
	for _, c := range bytes.TrimSuffix(bytes.TrimSuffix(data, []byte("=")), []byte("=")) {
		if c != '+' && c != '/' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return true
}

// dimensions reads an image's size from its header; 0 where it is of no known kind.
func dimensions(in io.Reader) (width, height int) {
	head := make([]byte, 32)
	n, _ := io.ReadFull(in, head)
	if w, h := webp(head[:n]); w > 0 {
		return w, h
	}
	c, _, err := image.DecodeConfig(io.MultiReader(bytes.NewReader(head[:n]), in))
	if err != nil {
		return 0, 0
	}
	return c.Width, c.Height
}

// webp reads the size of a WebP image ("WebP Container Specification", Google): lossy, lossless or extended.
func webp(b []byte) (width, height int) {
	if len(b) < 30 || string(b[:4]) != "RIFF" || string(b[8:12]) != "WEBP" {
		return 0, 0
	}
	switch string(b[12:16]) {
	case "VP8 ":
		return int(binary.LittleEndian.Uint16(b[26:]) & 0x3fff), int(binary.LittleEndian.Uint16(b[28:]) & 0x3fff)
	case "VP8L":
		bits := binary.LittleEndian.Uint32(b[21:])
		return int(bits&0x3fff) + 1, int(bits>>14&0x3fff) + 1
	case "VP8X":
		return int(b[24]) + int(b[25])<<8 + int(b[26])<<16 + 1, int(b[27]) + int(b[28])<<8 + int(b[29])<<16 + 1
	}
	return 0, 0
}

// pages counts the pages of a PDF by its page objects; 0 where they can't be seen, because they are compressed, or it is none.
func pages(data []byte) (n int) {
	pdf, err := io.ReadAll(base64.NewDecoder(base64.StdEncoding, bytes.NewReader(data)))
	if err != nil || !bytes.HasPrefix(pdf, []byte("%PDF-")) {
		return 0
	}
	for rest := pdf; ; {
		i := bytes.Index(rest, []byte("/Type"))
		if i < 0 {
			return n
		}
		rest = bytes.TrimLeft(rest[i+len("/Type"):], " \r\n\t")
		if bytes.HasPrefix(rest, []byte("/Page")) && (len(rest) == 5 || rest[5] != 's') {
			n++
		}
	}
}
