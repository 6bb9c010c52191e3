package gateway

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"mime"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/klauspost/compress/zstd"
)

// maxDecoded bounds a body that is unpacked: a few kilobytes may unpack to any length.
const maxDecoded = 64 << 20

// errCoding is a body that can't be unpacked.
var errCoding = errors.New("can't unpack the body")

// unpacked returns a body without its content codings, of which a body may have several. Of one that breaks off it returns what there is, with the error.
func unpacked(body []byte, codings string) ([]byte, error) {
	list := strings.Split(codings, ",")
	for i := len(list) - 1; i >= 0; i-- {
		coding := strings.ToLower(strings.TrimSpace(list[i]))
		if coding == "" || coding == "identity" {
			continue
		}
		var err error
		if body, err = unpack(body, coding); err != nil {
			return body, fmt.Errorf("%w: %s: %w", errCoding, coding, err)
		}
	}
	return body, nil
}

func unpack(body []byte, coding string) ([]byte, error) {
	in, err := unpacker(bytes.NewReader(body), coding)
	if err != nil {
		return nil, err
	}
	out, err := io.ReadAll(io.LimitReader(in, maxDecoded+1))
	if len(out) > maxDecoded {
		return nil, fmt.Errorf("more than %d bytes", maxDecoded)
	}
	return out, err
}

func unpacker(in *bytes.Reader, coding string) (io.Reader, error) {
	switch coding {
	case "gzip", "x-gzip":
		return gzip.NewReader(in)
	case "br":
		return brotli.NewReader(in), nil
	case "zstd":
		// One goroutine's work, none left behind, and the window that RFC 9659 allows.
		d, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(8<<20))
		if err != nil {
			return nil, err
		}
		return d, nil
	case "deflate":
		if z, err := zlib.NewReader(in); err == nil {
			return z, nil
		}
		_, _ = in.Seek(0, io.SeekStart) // a bytes.Reader always can
		return flate.NewReader(in), nil // as some servers understand the word
	}
	return nil, errors.New("the coding is not known")
}

// answerOf reads an answer of an API, in one piece or as a stream of events.
func (a *api) answerOf(contentType string, body []byte) (*answer, error) {
	media, _, _ := mime.ParseMediaType(contentType)
	if media == "text/event-stream" {
		s, event := a.stream(), object{}
		for data := range eventsIn(body) {
			next := event
			if !event.read(data) {
				if string(data) != "[DONE]" {
					return nil, errAnswer
				}
				next = nil
			}
			if s.add(next) {
				break
			}
		}
		return s.answer()
	}
	response := objectOf(body)
	if response == nil {
		return nil, errAnswer
	}
	return a.whole(response)
}

// eventsIn are the data of the events of a stream (WHATWG HTML, server-sent events). An event that the stream breaks off in is none.
func eventsIn(body []byte) func(yield func(jsontext.Value) bool) {
	return func(yield func(jsontext.Value) bool) {
		body = bytes.TrimPrefix(body, []byte("\uFEFF"))
		var data []byte
		for len(body) > 0 {
			line, rest, ended := cutLine(body)
			if !ended {
				return
			}
			body = rest
			if len(line) == 0 {
				if data != nil && !yield(data) {
					return
				}
				data = nil
				continue
			}
			if value, ok := bytes.CutPrefix(line, []byte("data:")); ok {
				if value = bytes.TrimPrefix(value, []byte(" ")); data == nil {
					data = value[:len(value):len(value)] // most events have one line
				} else {
					data = append(append(data, '\n'), value...)
				}
			}
		}
	}
}

// cutLine cuts off a line, which ends with \n, \r\n or \r.
func cutLine(b []byte) (line, rest []byte, ended bool) {
	i := bytes.IndexAny(b, "\r\n")
	if i < 0 {
		return b, nil, false
	}
	if b[i] == '\r' && i+1 < len(b) && b[i+1] == '\n' {
		return b[:i], b[i+2:], true
	}
	return b[:i], b[i+1:], true
}
