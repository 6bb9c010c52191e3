package rules

import (
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"
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
		{"a long name", "TestThatTheHttpServerClosesIdleConnectionsAfter30SecondsWithoutAnyRequest", false},
		{"a line drawn", strings.Repeat("=-", 40), false},
		{"one letter", strings.Repeat("a", 80), false},
		{"nothing", "", false},
	} {
		if got := isBlob(c.text); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}
