package rules

import (
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"

	"precis/summarize/lex"
	"precis/summarize/rules/words"
)

func TestIsBlob(t *testing.T) {
	sum := sha512.Sum512([]byte("a"))
	for _, c := range []struct {
		name, text string
		want       bool
	}{
		{"base64", base64.StdEncoding.EncodeToString(sum[:]), true},
		{"base64 for URLs", base64.RawURLEncoding.EncodeToString(sum[:]), true},
		{"short base64", base64.StdEncoding.EncodeToString(sum[:32]), false},
		{"base64 in a sentence", "key " + base64.StdEncoding.EncodeToString(sum[:]), false},
		{"hexadecimal", hex.EncodeToString(sum[:]), false},
		{"a path", "src/main/java/com/example/Project42/internal/HttpServerFactory/ConnectionHandlerTest9", false},
		{"a path of short names", "/home/Bob/A1/B2/C3/D4/E5/F6/G7/H8/I9/J10/K11/L12/M13/N14/O15/P16", false},
		{"base64 in quotes", `"` + base64.StdEncoding.EncodeToString(sum[:]) + `" +`, true},
		{"a long name", "TestThatTheHttpServerClosesIdleConnectionsAfter30SecondsWithoutAnyRequest", false},
		{"a line drawn", strings.Repeat("=-", 40), false},
		{"one letter", strings.Repeat("a", 80), false},
		{"brackets", strings.Repeat("[", 60) + "aB1", false},
		{"nothing", "", false},
	} {
		if got := words.IsBlob(c.text); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

// TestBlobsDoNotFill: only a little of encoded data is shown, and the text around it.
func TestBlobsDoNotFill(t *testing.T) {
	data := make([]byte, 6000)
	for i, sum := 0, sha512.Sum512(nil); i < len(data); i, sum = i+len(sum), sha512.Sum512(sum[:]) {
		copy(data[i:], sum[:])
	}
	encoded := base64.StdEncoding.EncodeToString(data)
	var lines strings.Builder
	for i := 0; i < len(encoded); i += 76 {
		lines.WriteString(encoded[i:min(len(encoded), i+76)] + "\n")
	}
	for _, c := range []struct {
		name, content string
		want          []string
	}{
		{"lines", lines.String(), nil},
		{"one line", encoded, nil},
		{"a certificate", "-----BEGIN CERTIFICATE-----\n" + lines.String() + "-----END CERTIFICATE-----\n", []string{"BEGIN CERTIFICATE", "END CERTIFICATE"}},
		{
			"a screenshot", `[{"type":"text","text":"Screenshot of https://shop.example.com/cart"},{"type":"image","mimeType":"image/png","data":"` + encoded + `"}]`,
			[]string{"https://shop.example.com/cart", "image/png"},
		},
	} {
		got := ToolOutput(Input{MessageID: "m1", ToolName: "bash", Content: c.content, MaxChars: 800}).Text
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %q in:\n%s", c.name, want, got)
			}
		}
		if lex.Runes(got) > 640 {
			t.Errorf("%s: %d characters:\n%s", c.name, lex.Runes(got), got)
		}
	}
}
