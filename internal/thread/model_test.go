package thread_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"precis/events"
	"precis/internal/thread"
)

// event is one event as the naive model reads it.
type event struct {
	typ     events.Type
	message string
	text    string
	edit    string // id; empty in a message
	deleted bool
	broken  bool
}

func (e event) body() string {
	switch {
	case e.broken:
		return `{"message_id":`
	case e.deleted:
		return fmt.Sprintf(`{"message_id":%q,"deleted":true,"edit_id":%q}`, e.message, e.edit)
	case e.typ == events.MessageEdited:
		return fmt.Sprintf(`{"message_id":%q,"content":%q,"edit_id":%q}`, e.message, e.text, e.edit)
	case e.typ == events.ToolResult:
		return fmt.Sprintf(`{"message_id":%q,"content":%q}`, e.message, e.text)
	}
	return fmt.Sprintf(`{"message_id":%q,"role":"user","content":%q}`, e.message, e.text)
}

func anEvent() *rapid.Generator[event] {
	return rapid.Custom(func(t *rapid.T) event {
		e := event{
			typ:     rapid.SampledFrom([]events.Type{events.ThreadMessage, events.ThreadMessage, events.ToolResult, events.MessageEdited, events.MessageEdited}).Draw(t, "type"),
			message: fmt.Sprintf("m%d", rapid.IntRange(0, 3).Draw(t, "message")),
			text:    strings.Repeat("w ", rapid.IntRange(0, 2).Draw(t, "words")),
			broken:  rapid.IntRange(0, 15).Draw(t, "broken") == 0,
		}
		if e.typ == events.MessageEdited {
			e.edit = fmt.Sprintf("e%d", rapid.IntRange(0, 3).Draw(t, "edit"))
			e.deleted = rapid.IntRange(0, 3).Draw(t, "deleted") == 0
		}
		return e
	})
}

// naive says what a log comes to, from the contract's words: it looks at the whole log again for every
// event, and shares nothing with the fold.
type naive struct{ messages, tools, edits, duplicates, ignored, rejected, waiting, tokens uint64 }

type naiveMessage struct {
	first, now string // type and text; empty now: deleted
	gone       bool
}

func countNaively(log []event, pending int) naive {
	var n naive
	messages := map[string]*naiveMessage{}
	known := map[string]bool{}   // edits, by message and id
	held := map[string][]event{} // by message
	heldAt := map[string][]int{} // the event's place
	apply := func(m *naiveMessage, e event) {
		if e.deleted == m.gone && (m.gone || e.text == m.now) {
			n.ignored++
			return
		}
		m.now, m.gone = e.text, e.deleted
		n.edits++
	}
	for i, e := range log {
		m := messages[e.message]
		key := e.message + " " + e.edit
		switch {
		case e.broken:
			n.rejected++
		case e.typ == events.MessageEdited && known[key]:
			n.duplicates++
		case e.typ == events.MessageEdited && m == nil && pending == 0:
			n.rejected++
		case e.typ == events.MessageEdited && m == nil:
			known[key] = true
			held[e.message], heldAt[e.message] = append(held[e.message], e), append(heldAt[e.message], i)
		case e.typ == events.MessageEdited:
			known[key] = true
			apply(m, e)
		case m == nil:
			m = &naiveMessage{first: string(e.typ) + e.text, now: e.text}
			messages[e.message] = m
			if e.typ == events.ToolResult {
				n.tools++
			} else {
				n.messages++
			}
			for _, w := range held[e.message] {
				apply(m, w)
			}
			delete(held, e.message)
			delete(heldAt, e.message)
		case m.first == string(e.typ)+e.text:
			n.duplicates++
		default:
			n.rejected++
		}
		for id, places := range heldAt {
			for len(places) > 0 && places[0]+pending <= i {
				delete(known, id+" "+held[id][0].edit)
				held[id], places = held[id][1:], places[1:]
				n.rejected++
			}
			heldAt[id] = places
		}
	}
	for _, list := range held {
		n.waiting += uint64(len(list))
	}
	for _, m := range messages {
		if !m.gone {
			n.tokens += uint64(len(strings.Fields(m.now)))
		}
	}
	return n
}

func TestCountersEqualANaiveModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log := rapid.SliceOfN(anEvent(), 0, 60).Draw(t, "log")
		pending := rapid.IntRange(0, 8).Draw(t, "pending")
		b := newBook()
		b.pending = uint64(pending)
		for _, e := range log {
			b.publish(e.typ, e.body())
			if err := b.sums(); err != nil {
				t.Fatalf("behind %+v: %v", e, err)
			}
		}
		h := b.header
		got := naive{h.Messages, h.ToolResults, h.Edits, h.Duplicates, h.Ignored, h.Rejected, h.Waiting, uint64(h.Tokens)}
		if want := countNaively(log, pending); got != want {
			t.Fatalf("got %+v, want %+v", got, want)
		}
	})
}

// Whatever else runs between a thread's events, they come to the same; only where they stand in the log
// differs.
func TestInterleavingChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		logs := rapid.SliceOfN(rapid.SliceOfN(anEvent(), 0, 20), 1, 4).Draw(t, "logs")
		alone, mixed := make([]*book, len(logs)), make([]*book, len(logs))
		var order []int
		for i, log := range logs {
			alone[i], mixed[i] = newBook(), newBook()
			alone[i].pending, mixed[i].pending = 5, 5
			for _, e := range log {
				alone[i].publish(e.typ, e.body())
				order = append(order, i)
			}
		}
		next, outcomes := make([]int, len(logs)), make([][]thread.Outcome, len(logs))
		for seq, i := range rapid.Permutation(order).Draw(t, "order") {
			e := logs[i][next[i]]
			next[i]++
			outcomes[i] = append(outcomes[i], mixed[i].publishAt(uint64(100+7*seq), e.typ, e.body()).Outcome)
		}
		for i := range logs {
			if a, b := placeless(alone[i]), placeless(mixed[i]); a != b {
				t.Fatalf("thread %d\nalone %s\nmixed %s\noutcomes %v", i, a, b, outcomes[i])
			}
		}
	})
}

// placeless is what a book says, without sequences.
func placeless(b *book) string {
	h := b.header
	h.EventSeq, h.FirstSeq = 0, 0
	rows := map[string]thread.Message{}
	for id, m := range b.messages {
		m.Seq, m.FirstSeq = 0, 0
		rows[id] = m
	}
	return fmt.Sprintf("%+v %v %v %v %d", h, rows, b.order, b.edits, len(b.waiting))
}

// Messages that come again, once or often, soon or late, are counted as duplicates and change nothing else.
func TestDuplicatesChangeNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log := rapid.SliceOfN(anEvent(), 1, 30).Draw(t, "log")
		once, often := newBook(), newBook()
		var taken []event // what came in, and so may come again
		repeats := uint64(0)
		for _, e := range log {
			once.publish(e.typ, e.body())
			before := often.header.Duplicates
			often.publish(e.typ, e.body())
			if often.header.Rejected == once.header.Rejected && often.header.Duplicates == before && !e.broken {
				taken = append(taken, e)
			}
			for range rapid.IntRange(0, 2).Draw(t, "again") {
				if len(taken) == 0 {
					continue
				}
				again := rapid.SampledFrom(taken).Draw(t, "which")
				if res := often.publish(again.typ, again.body()); res.Outcome != thread.Duplicate && res.Outcome != thread.Rejected {
					t.Fatalf("%+v again is %v", again, res.Outcome)
				}
				repeats++
			}
		}
		a, b := once.header, often.header
		if b.Duplicates+b.Rejected != a.Duplicates+a.Rejected+repeats {
			t.Fatalf("%d repeats: once %+v, often %+v", repeats, a, b)
		}
		b.Events, b.Duplicates, b.Rejected, b.EventSeq, b.NextDeadline = a.Events, a.Duplicates, a.Rejected, a.EventSeq, a.NextDeadline
		if a != b {
			t.Fatalf("%d repeats: once %+v, often %+v", repeats, a, b)
		}
	})
}
