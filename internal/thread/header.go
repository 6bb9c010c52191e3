package thread

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"precis/events"
)

// Header is what is kept once per thread; every event rewrites it, so it stays small.
type Header struct {
	Thread string

	Events      uint64 // all events on the thread's subjects, including duplicates and rejected ones
	Messages    uint64 // thread.message accepted
	ToolResults uint64 // tool.result accepted, and thread.message of role tool
	Edits       uint64 // message.edited accepted that changed something
	Duplicates  uint64 // repeated messages and edits
	Ignored     uint64 // edits that change nothing
	Rejected    uint64
	Ordinals    uint64 // messages ever accepted: the ordinal of the newest

	Tokens     int64 // current revisions, text and arguments
	Bytes      int64 // the same, UTF-8 bytes
	TokensLive int64 // the same, with what is summarized replaced by its summary

	SummariesActive uint64
	SummariesStale  uint64 // stale and not yet replaced
	LLMInput        int64  // tokens of precis's own calls
	LLMOutput       int64
	CostMicroUSD    int64
	CostUnknown     uint64 // calls of unknown price

	EventSeq uint64 // the EVENTS sequence of the last event applied
	ChainSeq uint64 // the last record of the thread
	Chain    string // its chain value

	FirstAgentID  string // of the first message accepted, or of the thread.forked before it; policies match on it
	Policy        string // the policy named last by an event
	Parent        string // the thread that the first message accepted names as its parent
	LastMessageID string // the newest message

	Waiting      uint64 // edits that wait for their message
	NextDeadline uint64 // the Events count at which the first of them is given up; 0 if none waits

	Jobs uint64 // started and not ended

	FirstSeq uint64 // the EVENTS sequence of the first event, if known

	Fork Fork // where a fork comes from

	LastAt int64 // stream time of the last event, Unix nanoseconds; 0 if unknown
	// Renewals counts the stale summaries that wait to be recomputed, RenewCompactions the compactions among them.
	Renewals         uint64
	RenewCompactions uint64
}

// Message is the row of one message: sizes, digests and the log positions of its revisions.
type Message struct {
	ID      string
	Ordinal uint64 // position in the thread, from 1
	Tool    bool   // a tool result
	Role    string

	Shape       [32]byte // digest of what edits can't change: type, role, tool calls, tool call id
	FirstDigest [32]byte // content digest of revision 0: distinguishes a duplicate from a conflict
	Digest      [32]byte // content digest of the current revision
	Revision    uint64   // edits so far
	FirstSeq    uint64   // EVENTS sequence of revision 0
	Seq         uint64   // EVENTS sequence of the current revision
	Deleted     bool
	Rewound     bool // deleted by a rewind: nothing marks its place in a prompt
	Pinned      bool

	Text Size // of the current revision's content
	Args Size // of the calls' arguments, and the tokens of the message's further members
	// Given is how many of Calls or Results the message has whatever its content is: calls that are no parts of it, and what it was
	// published as the results of. GivenArgs are the Args of the former. An edit replaces the others.
	Given     uint64
	GivenArgs Size

	// CallIDs are an assistant's calls. Another message's are the calls that it is the result of besides CallID: one message may
	// have the results of several calls.
	CallIDs []string
	CallID  string // of the call it is the result of
}

// Calls returns the ids of the calls that a message makes.
func (m *Message) Calls() []string {
	if m.Role != events.RoleAssistant {
		return nil
	}
	return m.CallIDs
}

// Results returns the ids of the calls that a message is the result of.
func (m *Message) Results() []string {
	switch {
	case m.CallID == "":
		return nil
	case m.Role == events.RoleAssistant:
		return []string{m.CallID}
	}
	return append([]string{m.CallID}, m.CallIDs...)
}

// Size is the size of a text in the units of thresholds and counters.
type Size struct {
	Chars  int64 // Unicode code points
	Bytes  int64 // UTF-8
	Tokens int64 // by the tokenizer of the policy in force
}

// Tokens of the message in its present state.
func (m *Message) Tokens() int64 { return m.Size().Tokens }

// Size of the message in its present state; a deleted one has none.
func (m *Message) Size() Size {
	if m.Deleted {
		return Size{}
	}
	return m.Text.plus(m.Args, 1)
}

// Status of a summary.
type Status string

const (
	Active   Status = "active"
	Stale    Status = "stale"
	Replaced Status = "replaced"
)

// Summary is the row of one summary.
type Summary struct {
	ID           string   `json:"id"`
	Kind         string   `json:"kind"`
	Slot         string   `json:"slot"`
	Level        int      `json:"level"`
	Current      bool     `json:"current"` // prompts use it
	Version      uint64   `json:"version"`
	Sources      []string `json:"sources"`
	SourceSums   []string `json:"source_summaries"`
	TokensBefore int64    `json:"tokens_before"`
	TokensAfter  int64    `json:"tokens_after"`
	CharsBefore  int64    `json:"chars_before"`
	Status       Status   `json:"status"`
	ReplacedBy   string   `json:"replaced_by,omitzero"`
	Serves       bool     `json:"serves,omitzero"` // not active, but stands in prompts until it is recomputed
	Renew        bool     `json:"renew,omitzero"`  // stale, waits to be recomputed
	Aside        bool     `json:"aside,omitzero"`  // of a pinned tool output, which stands in prompts itself
	// Inherited: of the thread that this one was forked from, whose record it has.
	Inherited bool `json:"inherited,omitzero"`
	// Withheld: of a tool output that prompts hold whole for now (Compaction.Outputs).
	Withheld  bool      `json:"withheld,omitzero"`
	ExpiresAt time.Time `json:"expires_at,omitzero"`
	// Of its record. An inherited summary has its place in the chain of the thread that made it.
	Policy       string `json:"policy"`
	EventSeq     uint64 `json:"event_seq"`
	EffectiveSeq uint64 `json:"effective_seq"`
	ChainSeq     uint64 `json:"chain_seq"`
	// Record is the data of its summary.created; none in a summary that is replaced and serves no more, which nothing decides by: the log
	// has it (state.View.Recorded).
	Record      jsontext.Value `json:"record,omitempty"`
	Invalidated jsontext.Value `json:"invalidated,omitempty"` // the data of its summary.invalidated
}

// Slot is a place that successive summaries hold.
type Slot struct {
	Name    string `json:"name"`
	Version uint64 `json:"version"` // the last one taken
	Holder  string `json:"holder"`  // the latest summary put there
	// Serving is the summary in use while the holder only reserves the slot for a model's text.
	Serving string `json:"serving,omitzero"`
}

// Used returns the summary that prompts use of the slot, if it may stand in them (Summary.Stands); empty if there is none.
func (s *Slot) Used() string {
	if s.Serving != "" {
		return s.Serving
	}
	return s.Holder
}

// Waiting is an edit whose message has not arrived yet, kept in full: it may have to be rejected byte for byte when only the log
// would still hold it.
type Waiting struct {
	MessageID string              `json:"message_id"`
	Key       string              `json:"key"`      // the edit's identity
	Seq       uint64              `json:"seq"`      // EVENTS sequence
	Deadline  uint64              `json:"deadline"` // Header.Events at which it is given up
	Subject   string              `json:"subject"`
	Header    map[string][]string `json:"header"`
	Body      []byte              `json:"body"`

	Edit *events.Edit `json:"-"` // decoded when the row is loaded
}
