package prompt

import (
	"github.com/go-json-experiment/json/jsontext"

	"precis/events"
	"precis/summarize"
)

// Formats of a prompt.
const (
	FormatOpenAI    = "openai"    // chat completions
	FormatResponses = "responses" // input items of OpenAI's Responses API
	FormatAnthropic = "anthropic" // messages; system apart
	FormatGemini    = "gemini"    // contents; system apart
	FormatMessages  = "messages"  // the thread's own shape
)

// Formats are all of them.
func Formats() []string {
	return []string{FormatOpenAI, FormatResponses, FormatAnthropic, FormatGemini, FormatMessages}
}

// Request is what a prompt is made of.
type Request struct {
	Messages   []Message // those that no compaction replaces, in the thread's order; deleted ones left out
	Compaction *Summary  // the current one, nil for none
	// Edge is the ordinal up to which compactions stand for what is not in Messages: a result before it is not one of a call behind it,
	// even if that has the same id.
	Edge      uint64
	Context   summarize.Context
	MaxTokens int // 0: no limit
	Format    string
	Count     func(text string) int // tokens
	// Apart has Anthropic's messages as they were published, for a transcript: those of one role in a row stay apart, each with
	// the one message of Prompt.Sources that it is, calls wait for no result, and nothing is added for the provider but calls of results that have none.
	Apart bool
	// OnlySummaries has null in the place of each message that stands without a summary, for a caller that has the thread's messages.
	OnlySummaries bool
}

// Message is one message at its current revision.
type Message struct {
	Ordinal uint64 // its place in the thread; grows
	*events.Message
	// Answered are the calls that the message was published as the results of: an edit or a deletion takes the parts, and
	// the calls are answered all the same.
	Answered []string
	// Summary stands in for a tool output; nil: the output itself does.
	Summary *Summary
	// Spare stands in for a tool output that is kept whole, where there is no room for it. Summary is nil then.
	Spare *Summary
	// Tokens is what a tool output weighs whole.
	Tokens int
	// TrimmedAt is the ordinal at which the content went without a summary: its summary went stale
	// under the action trim, or it was deleted. 0: it did not. A Summary takes precedence.
	TrimmedAt uint64
	// Deleted is a tool result that only a mark stands for, since its call needs one.
	Deleted bool
	// Gone is a message that the log no longer holds: without a Summary nothing stands for it.
	Gone bool

	*outline // set by outlined
}

// trimmed says that only a mark stands for the message.
func (m *Message) trimmed() bool { return m.TrimmedAt > 0 && m.Summary == nil }

// Summary is an active summary.
type Summary struct {
	ID      string
	Content string
}

// Prompt is what is sent.
type Prompt struct {
	// System is what stands apart from the messages: Anthropic's list of system blocks, [] for none; Gemini's system
	// instruction, nil for none. nil in other formats.
	System     jsontext.Value
	Messages   jsontext.Value // the list of messages; see Request.OnlySummaries
	TokenCount int
	// WithinBudget is false where not even system, pinned and the newest user message fit.
	WithinBudget      bool
	DroppedMessageIDs []string // their contents had to go to hold the limit, or are gone; deleted ones are not named
	SummaryIDs        []string // summaries that stand in the prompt
	WaitingMessageIDs []string // held back until the results of their calls are there
	// SummaryLeftOut says that there was no room for the compaction: the messages that it stands for are dropped too.
	SummaryLeftOut bool
	OmittedParts   []OmittedPart // of the messages that stand in the prompt, in its order
	// ShortenedMessageIDs are outputs to be kept whole that are summaries here, to hold the limit.
	ShortenedMessageIDs []string
	// Sources says of each of Messages what it is made of, and SystemSource of System.
	Sources      []Source
	SystemSource Source
	Parts        Parts
}

// Parts are the tokens of a prompt by what takes them, which is all of TokenCount.
type Parts struct {
	System     int `json:"system"`     // system and developer messages
	Compaction int `json:"compaction"` // the current summary
	Messages   int `json:"messages"`   // what users and the assistant say, and its calls
	Outputs    int `json:"outputs"`    // results that stand whole, or as a mark
	Summaries  int `json:"summaries"`  // results that stand as their summary
	Frame      int `json:"frame"`      // what a provider adds to the prompt, and a line that opens it
}

// Source is what a message of a prompt is made of: several messages of the thread where a format joins them, and none for a
// text that no message has.
type Source struct {
	MessageIDs []string // that stand in it, whole, as their summary or as a mark
	SummaryIDs []string
	Tokens     int // including provider framing
}

// OmittedPart is a part of a content that the format has no counterpart of: a mark stands there instead, or of
// reasoning nothing.
type OmittedPart struct {
	MessageID string
	Index     int    // in the message's list of parts, from 0; -1: a member of the message beside its content
	Type      string // the publisher's word
	Reason    string // one of reason…
}
