package fold

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"precis/internal/thread"
	"precis/summarize"
	"precis/summarize/cut"
)

// LeastPayload is the least max_payload, in bytes, of a server that processors publish to: nats-server's default
// (MAX_PAYLOAD_SIZE in its server/const.go). What is summarized, and what is told of it, fits there whatever the server
// at hand takes: a rebuild on another one decides the same.
const LeastPayload = 1 << 20

// recordBytes bounds the data of a record in SUMMARIES: room for its headers is left.
const recordBytes = LeastPayload - envelopeBytes

// What a summary is made from is bounded, so that no record can come near recordBytes and no step near the memory of
// its process. The worst case, in which every byte of an id or a text is a control character that takes six in JSON, is
// tried in bounds_test.go.
const (
	// sourceMessages bounds the messages of one summary: far above what thresholds let through, and a lane stands still
	// for a second at most while they are read.
	sourceMessages = 4096
	// sourceIDBytes bounds their ids as they stand in JSON, quotes and commas included: a quarter of a record is left to
	// them. It is 880 ids of 220 bytes, or all 4,096 where they are UUIDs.
	sourceIDBytes = 192 << 10
	// sourceBytes bounds what they say, texts and arguments in UTF-8, which is read into memory at once: twice a
	// window of a million tokens at four bytes each, the largest one that a provider sells.
	sourceBytes = 8 << 20
	// textChars bounds the text of a compaction or a history in code points, whatever a policy allows: 32,768 tokens at
	// four each. Three quarters of a record are left to it.
	textChars = 128 << 10
)

// room is how much more a summary may be made from.
type room struct{ messages, ids, bytes int }

func newRoom() room { return room{sourceMessages, sourceIDBytes, sourceBytes} }

// take makes room smaller by a message; false where it does not fit. One alone always does: an event is bounded by
// limits.event_bytes, and an id by 256 bytes.
func (r *room) take(m *thread.Message) bool {
	first := r.messages == sourceMessages
	r.messages--
	r.ids -= quotedBytes(m.ID) + 1
	r.bytes -= int(m.Text.Bytes + m.Args.Bytes)
	return first || r.messages >= 0 && r.ids >= 0 && r.bytes >= 0
}

// quotedBytes is how long a text is as a JSON string.
func quotedBytes(text string) int {
	quoted, err := jsontext.AppendQuote(make([]byte, 0, len(text)+2), text)
	if err != nil {
		return 6*len(text) + 2 // no id is invalid UTF-8; it would be replaced
	}
	return len(quoted)
}

// newest are the last of some messages, in order, as far as there is room for them.
func newest(rows []*thread.Message) []*thread.Message {
	r := newRoom()
	for i, m := range slices.Backward(rows) {
		if !r.take(m) {
			return rows[i+1:]
		}
	}
	return rows
}

// stretch is what a cut may replace: the messages before a position that no summary has replaced yet, as far as one leaf
// takes them, and some behind those.
type stretch struct {
	items []cut.Item
	rows  map[uint64]*thread.Message
	room  room
	// limit is the first one that the leaf does not take; 0 where it takes all.
	limit  uint64
	behind int // how many items lie behind that
}

// add takes the next messages in; false where nothing further need be known.
func (s *stretch) add(st *thread.State, rows []*thread.Message, p *summarize.Policy) bool {
	for _, m := range rows {
		m = asItIs(st, m)
		it := m.Item(m.Tokens())
		s.items, s.rows[m.Ordinal] = append(s.items, it), m
		switch {
		case s.limit > 0:
			s.behind++
		case st.Compaction.Cut.Replaces(it, p.Compaction) && !s.room.take(m):
			s.limit = m.Ordinal
		}
	}
	return s.behind < cut.Lookahead
}
