package audit

import (
	"bytes"
	_ "embed"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

//go:embed page.html
var page []byte

// pageData is the placeholder for the story in the page.
var pageData = []byte("/*STORY*/null")

// WritePage writes a story as one self-contained page: no server, no network. What agents and tools said is embedded
// as data, and is only ever shown as text.
func WritePage(to io.Writer, s *Story) error {
	// In a script element only "</" and "<!--" could end or change the script, so no "<" is left unescaped.
	data, err := json.Marshal(s, jsontext.EscapeForHTML(true), jsontext.EscapeForJS(true))
	if err != nil {
		return fmt.Errorf("encode story: %w", err)
	}
	before, after, ok := bytes.Cut(page, pageData)
	if !ok {
		return fmt.Errorf("the page has no place for the story")
	}
	for _, part := range [][]byte{before, data, after} {
		if _, err := to.Write(part); err != nil {
			return err
		}
	}
	return nil
}
