package events_test

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"precis/events"
)

func TestToken(t *testing.T) {
	for thread, token := range map[string]string{
		"plain_ID-7":             "plain_ID-7",
		"a.b c":                  "a=2Eb=20c",
		"*":                      "=2A",
		">":                      "=3E",
		"=":                      "=3D",
		"=p3":                    "=3Dp3",
		"é":                      "=C3=A9",
		"\x00\xff":               "=00=FF",
		strings.Repeat("a", 256): strings.Repeat("a", 256),
		strings.Repeat(".", 256): strings.Repeat("=2E", 256),
	} {
		got, err := events.Token(thread)
		if err != nil || got != token {
			t.Errorf("Token(%q) = %q, %v", thread, got, err)
		}
		back, err := events.ThreadOf(token)
		if err != nil || back != thread {
			t.Errorf("ThreadOf(%q) = %q, %v", token, back, err)
		}
	}
}

func TestTokenErrors(t *testing.T) {
	for _, thread := range []string{"", strings.Repeat("a", 257), strings.Repeat(".", 257)} {
		if _, err := events.Token(thread); !errors.Is(err, events.ErrThreadID) {
			t.Errorf("Token of %d bytes: %v", len(thread), err)
		}
		if _, err := events.Subject(events.ToolResult, thread); !errors.Is(err, events.ErrThreadID) {
			t.Errorf("Subject of %d bytes: %v", len(thread), err)
		}
	}
	for token, want := range map[string]error{
		"":                         events.ErrThreadID,
		strings.Repeat("a", 257):   events.ErrThreadID,
		strings.Repeat("=2E", 257): events.ErrThreadID,
		"=":                        events.ErrToken,
		"=2":                       events.ErrToken,
		"=2e":                      events.ErrToken,
		"=61":                      events.ErrToken,
		"=G0":                      events.ErrToken,
		"a.b":                      events.ErrToken,
		"*":                        events.ErrToken,
		"=p3":                      events.ErrToken,
		"é":                        events.ErrToken,
	} {
		if got, err := events.ThreadOf(token); !errors.Is(err, want) {
			t.Errorf("ThreadOf(%q) = %q, %v, want %v", token, got, err, want)
		}
	}
	if _, err := events.Subject("thread.deleted", "t"); !errors.Is(err, events.ErrType) {
		t.Errorf("unknown type: %v", err)
	}
}

// Every id has one token, a single subject token, from which ThreadOf returns the id.
func TestTokenRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		thread := string(rapid.SliceOfN(rapid.Byte(), 1, 256).Draw(t, "thread"))
		token, err := events.Token(thread)
		if err != nil || strings.ContainsAny(token, ".*> \t\r\n") {
			t.Fatalf("Token(%q) = %q, %v", thread, token, err)
		}
		if back, err := events.ThreadOf(token); err != nil || back != thread {
			t.Fatalf("ThreadOf(%q) = %q, %v", token, back, err)
		}
	})
}

func TestParseSubject(t *testing.T) {
	type parsed struct {
		typ   events.Type
		token string
		ok    bool
	}
	for subject, want := range map[string]parsed{
		"thread.message.t1":         {events.ThreadMessage, "t1", true},
		"0.thread.message.t1":       {events.ThreadMessage, "t1", true},
		"15.tool.result.=2E":        {events.ToolResult, "=2E", true},
		"tool.result.*":             {events.ToolResult, "*", true},
		"message.edited.message":    {events.MessageEdited, "message", true},
		"usage.recorded.7":          {events.UsageRecorded, "7", true},
		"config.applied.=p3":        {events.ConfigApplied, "=p3", true},
		"event.rejected.=":          {events.EventRejected, "=", true},
		"thread.message":            {},
		"thread.message.":           {},
		"thread.message.a.b":        {},
		"thread.deleted.t":          {},
		"0.0.thread.message.t1":     {},
		"x.thread.message.t1":       {},
		".thread.message.t1":        {},
		"0":                         {},
		"":                          {},
		"0.":                        {},
		"thread":                    {},
		"precis.thread.message.t12": {},
	} {
		typ, token, ok := events.ParseSubject(subject)
		if got := (parsed{typ, token, ok}); got != want {
			t.Errorf("ParseSubject(%q) = %+v, want %+v", subject, got, want)
		}
	}
}

func FuzzThreadOf(f *testing.F) {
	for _, token := range []string{"a", "=2E", "=61", "=", "=2e", "a=00b", "*", ">", "=FF"} {
		f.Add(token)
	}
	f.Fuzz(func(t *testing.T, token string) {
		thread, err := events.ThreadOf(token)
		if err != nil {
			return
		}
		if again, err := events.Token(thread); err != nil || again != token {
			t.Fatalf("%q is accepted for %q, whose token is %q (%v)", token, thread, again, err)
		}
	})
}
