package operate

import (
	"bytes"
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/rs/zerolog"

	"precis/cmd/processor/console"
)

// hostile has what acts on terminals: escapes of two generations, a title, overrides and marks of direction.
const hostile = "a\x1b[2Jb\x1b]0;title\x07c\u009b31md\u0085e\u202ef\u2066g\u200eh\u200fi\u061cj\x7fk\rl"

// Logs in either format do not act on a terminal either.
func TestLogsAreInert(t *testing.T) {
	for _, format := range []string{"text", "json"} {
		for _, watched := range []bool{false, true} {
			var out bytes.Buffer
			a := console.New(strings.NewReader(""), &bytes.Buffer{}, &out)
			a.Watched = watched
			log := (&Run{LogLevel: "info", LogFormat: format}).logger(a)
			log.Error().Err(errors.New(hostile)).Str("thread_id", hostile).Strs("list", []string{hostile}).Msg(hostile)
			text := colours.ReplaceAllString(out.String(), "")
			for _, r := range text {
				if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
					t.Errorf("%s: %U is in %q", format, r, text)
				}
			}
			if !strings.Contains(text, "title") {
				t.Errorf("%s: nothing is told: %q", format, text)
			}
		}
	}
}

// A log says that the processor was told to stop, by what, and that it has; one that failed by itself says neither.
func TestStopIsLogged(t *testing.T) {
	failure := errors.New("no room")
	for _, c := range []struct {
		stopped bool
		err     error
		want    string
	}{
		{true, nil, `{"level":"info","cause":"terminated","message":"stopping"}` + "\n" + `{"level":"info","message":"stopped"}` + "\n"},
		{true, failure, `{"level":"info","cause":"terminated","message":"stopping"}` + "\n"},
		{false, failure, ""},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		var out bytes.Buffer
		err := untilStopped(ctx, zerolog.New(&out), func() error {
			if c.stopped {
				cancel(errors.New("terminated"))
			}
			return c.err
		})
		cancel(nil)
		if !errors.Is(err, c.err) || out.String() != c.want {
			t.Errorf("stopped %t, %v: %v, %s", c.stopped, c.err, err, out.String())
		}
	}
}

// colours are what the console writer puts around the parts of a line.
var colours = regexp.MustCompile("\x1b\\[[0-9]{1,2}m")
