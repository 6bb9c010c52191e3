package fold

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"precis/internal/thread"
	"precis/summarize"
	"precis/summarize/cut"
)

// LeastPayload is the smallest max_payload, in bytes, of a server that processors publish to: nats-server's default
// (MAX_PAYLOAD_SIZE in its server/const.go). Summaries and their records fit within it whatever the actual server allows, so
// that a rebuild on another server decides the same.
const LeastPayload = 1 << 20

// recordBytes bounds the data of a record in SUMMARIES and leaves room for its headers.
const recordBytes = LeastPayload - envelopeBytes

// What a summary is made from is bounded, so that no record comes near recordBytes and no step near the memory of its process.
// bounds_test.go tests the worst case: every byte of an id or text is a control character, which takes six bytes in JSON.
const (
	// sourceMessages bounds the messages of one summary: far more than thresholds let through, and reading them blocks a lane
	// for at most a second.
	sourceMessages = 4096
	// sourceIDBytes bounds their ids as JSON, including quotes and commas, to a quarter of a record at most: 880 ids of 220
	// bytes, or all 4,096 if they are UUIDs.
	sourceIDBytes = 192 << 10
	// sourceBytes bounds their texts and arguments in UTF-8, which are read into memory at once: twice a window of a million
	// tokens, the largest that a provider sells, at four bytes each.
	sourceBytes = 8 << 20
	// textChars bounds the text of a compaction or a history in code points, whatever a policy allows: 32,768 tokens at four
	// each. Three quarters of a record are reserved for it.
	textChars = 128 << 10
)

// A step's records are stored as one atomic batch, and the server takes 1,000 messages in one (broker.MaxAtomic). These bounds keep
// every step within that. The longest is a request's: renewAsked summaries that wait and as many stale sources, standAtOnce leaves
// that give messages back, each with the nodes above it (one a level, and 13 levels hold 4^13 leaves, 67 million), and a cut:
// 2·128 + 48·14 + 20 records. A job's end has one record for each of its calls, which max_attempts bounds by 100 a provider.
const (
	// renewAtOnce bounds the summaries that an event recomputes: a leaf of 100,000 tokens takes some 50 ms, which delays the events
	// after it.
	renewAtOnce = 8
	// renewAsked bounds those that a step of a request recomputes; the request takes steps until none is left.
	renewAsked = 128
	// standAtOnce bounds the leaves that give messages back in one step; the thread's next step continues.
	standAtOnce = 48
)

// room is how much more a summary can be made from.
type room struct{ messages, ids, bytes int }

func newRoom() room { return room{sourceMessages, sourceIDBytes, sourceBytes} }

// take subtracts a message and reports whether it fits. The first message always fits: limits.event_bytes bounds an event, and
// an id has at most 256 bytes.
func (r *room) take(m *thread.Message) bool {
	first := r.messages == sourceMessages
	r.messages--
	r.ids -= quotedBytes(m.ID) + 1
	r.bytes -= int(m.Text.Bytes + m.Args.Bytes)
	return first || r.messages >= 0 && r.ids >= 0 && r.bytes >= 0
}

// quotedBytes returns the length of text as a JSON string.
func quotedBytes(text string) int {
	quoted, err := jsontext.AppendQuote(make([]byte, 0, len(text)+2), text)
	if err != nil {
		return 6*len(text) + 2 // ids are valid UTF-8; this is an upper bound
	}
	return len(quoted)
}

// newest returns the last messages of rows that fit, in order.
func newest(rows []*thread.Message) []*thread.Message {
	r := newRoom()
	for i, m := range slices.Backward(rows) {
		if !r.take(m) {
			return rows[i+1:]
		}
	}
	return rows
}

// stretch is what a cut may replace: the messages before a position that no summary has replaced yet, as many as one leaf takes,
// and some after those.
type stretch struct {
	items []cut.Item
	rows  map[uint64]*thread.Message
	room  room
	// limit is the ordinal of the first message that the leaf does not take; 0 if it takes all.
	limit  uint64
	behind int // items after limit
}

const (
	// charsPerToken is the most characters that a budget allows per token, as seed 2 counts.
	charsPerToken = 4
	// leastTokens is what a summary needs to say anything. From seed 2.
	leastTokens = 50
)

// omitted is the text if a window is too small for any summary.
const omitted = "[Summary omitted: the context window is too small for one; the messages are in the log]"

// Budget limits the length of a compaction.
type Budget struct {
	Tokens, Chars int
	omit          bool
}

// NewBudget returns what a policy allows for a compaction of messages that take before tokens in a prompt: its own limit, a
// tenth of the window, and at most half of what it stands for, since a summary that saves nothing is no progress.
func NewBudget(c summarize.Compaction, before int64) Budget {
	share := c.WindowShare()
	b := Budget{omit: share < leastTokens}
	b.Tokens = int(min(c.MaxSummaryTokens.Tokens(before), int64(share), max(before/2, 1)))
	b.Chars = min(b.Tokens*charsPerToken, textChars)
	if c.MaxSummaryChars > 0 {
		b.Chars = min(b.Chars, c.MaxSummaryChars)
	}
	return b
}

// Fit renders a text within the budget.
func (b Budget) Fit(render func(chars int) string, count func(string) int) string {
	if b.omit {
		return omitted
	}
	for chars := b.Chars; chars > 0; {
		text := render(chars)
		n := count(text)
		if n <= b.Tokens {
			return text
		}
		chars = min(chars-1, chars*b.Tokens/n)
	}
	return ""
}
