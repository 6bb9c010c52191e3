package fold

import (
	"fmt"
	"strings"
	"testing"

	"precis/events"
	"precis/internal/thread"
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
