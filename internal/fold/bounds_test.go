package fold

import (
	"fmt"
	"strings"
	"testing"

	"precis/events"
	"precis/internal/thread"
	"precis/summarize"
)

// Whatever ids and texts are made of, and whatever a policy allows, a compaction's record fits.
func TestLargestCompactionFits(t *testing.T) {
	for name, id := range map[string]string{
		"control characters": strings.Repeat("\x01", 250), "letters": strings.Repeat("a", 250), "quotes": strings.Repeat(`"`, 250), "short": "",
	} {
		rec := &events.Summary{Content: strings.Repeat("\x01", textChars)}
		last := id + "000000"
		rec.AsOfMessageID, rec.Slot = &last, "leaf:"+last
		r := newRoom()
		for i := 0; ; i++ {
			m := &thread.Message{ID: fmt.Sprintf("%s%06d", id, i)}
			if !r.take(m) {
				break
			}
			rec.SourceMessageIDs = append(rec.SourceMessageIDs, m.ID)
		}
		data, _, err := events.Seal("", rec)
		if err != nil {
			t.Fatal(err)
		}
		if len(data) > recordBytes {
			t.Errorf("%s: %d sources make %d bytes, want %d at most", name, len(rec.SourceMessageIDs), len(data), recordBytes)
		}
	}
}

// A single message is never too much, and the newest ones are those that count.
func TestRoom(t *testing.T) {
	large := func(id string) *thread.Message {
		return &thread.Message{ID: id, Text: thread.Size{Bytes: sourceBytes + 1}}
	}
	if got := newest([]*thread.Message{large("a"), large("b")}); len(got) != 1 || got[0].ID != "b" {
		t.Errorf("got %d messages", len(got))
	}
	r := newRoom()
	small := &thread.Message{ID: "c", Text: thread.Size{Bytes: 1}}
	if !r.take(large("a")) || r.take(small) {
		t.Error("want room for one that is too large, and for nothing else")
	}
	r = newRoom()
	for i := range sourceMessages {
		if !r.take(small) {
			t.Fatalf("no room for message %d", i)
		}
	}
	if r.take(small) {
		t.Error("want no room for more")
	}
}

func TestBudget(t *testing.T) {
	words := func(text string) int { return len(strings.Fields(text)) }
	long := func(chars int) string { return strings.Repeat("word ", chars/5) }
	for _, c := range []struct {
		name   string
		policy summarize.Compaction
		before int64
		want   Budget
		text   string // how it begins, where it is not a text within the budget
	}{
		{"its own limit", summarize.Compaction{ContextWindow: 200_000, MaxSummaryTokens: 500}, 90_000, Budget{Tokens: 500, Chars: 2000}, ""},
		{"auto, of little", summarize.Compaction{ContextWindow: 200_000}, 15_000, Budget{Tokens: 500, Chars: 2000}, ""},
		{"auto, a share", summarize.Compaction{ContextWindow: 200_000}, 64_000, Budget{Tokens: 2000, Chars: 8000}, ""},
		{"auto, of much", summarize.Compaction{ContextWindow: 200_000}, 900_000, Budget{Tokens: 4000, Chars: 16_000}, ""},
		{"auto, a small window", summarize.Compaction{ContextWindow: 8000}, 64_000, Budget{Tokens: 800, Chars: 3200}, ""},
		{"auto, half of what it stands for", summarize.Compaction{ContextWindow: 200_000}, 300, Budget{Tokens: 150, Chars: 600}, ""},
		{"a tenth of the window", summarize.Compaction{ContextWindow: 4000, MaxSummaryTokens: 500}, 90_000, Budget{Tokens: 400, Chars: 1600}, ""},
		{"half of what it stands for", summarize.Compaction{ContextWindow: 200_000, MaxSummaryTokens: 500}, 300, Budget{Tokens: 150, Chars: 600}, ""},
		{"characters", summarize.Compaction{ContextWindow: 200_000, MaxSummaryTokens: 500, MaxSummaryChars: 700}, 90_000, Budget{Tokens: 500, Chars: 700}, ""},
		{"a window for 50 tokens", summarize.Compaction{ContextWindow: 500, MaxSummaryTokens: 500}, 90_000, Budget{Tokens: 50, Chars: 200}, ""},
		{"and for fewer", summarize.Compaction{ContextWindow: 499, MaxSummaryTokens: 500}, 90_000, Budget{Tokens: 49, Chars: 196, omit: true}, "[Summary omitted"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := NewBudget(c.policy, c.before)
			if b != c.want {
				t.Fatalf("got %+v, want %+v", b, c.want)
			}
			text := b.Fit(long, words)
			if !strings.HasPrefix(text, c.text) || c.text == "" && (words(text) > b.Tokens || len(text) > b.Chars || text == "") {
				t.Errorf("%d words, %d characters: %.60s", words(text), len(text), text)
			}
		})
	}
}
