package cut

// Patience is for how many later messages an open call keeps cuts from passing it.
const Patience = 100

// Bounds of a State. Beyond them the oldest entry goes: an open call then counts as abandoned, an
// early result as one without a call, and positions are thinned out.
const (
	maxOpen    = 256
	maxEarly   = 64
	maxPending = 64
)

// State is what is stored of a thread to decide about compactions at a flat cost per message. The zero
// State is an empty thread's. It holds no contents, is copied with Clone, and can be marshalled.
type State struct {
	Seen  weight `json:"seen"`  // all messages so far
	Free  weight `json:"free"`  // of these, what is not fixed
	Gone  weight `json:"gone"`  // of these, what compactions have replaced
	Count uint64 `json:"count"` // items so far, deleted ones too: the clock of Patience

	Edge   Edge   `json:"edge,omitzero"`   // of what compactions stand for; the zero Edge: of nothing
	Behind weight `json:"behind,omitzero"` // what stands behind it

	User      Turn `json:"user"`      // the latest user message
	Assistant Turn `json:"assistant"` // the latest assistant message and its results

	Open  []Call `json:"open,omitempty"`  // calls that wait for their result, oldest first
	Early []Call `json:"early,omitempty"` // results whose call has not come, oldest first

	LastAt   uint64     `json:"last_at"`           // the newest item's ordinal
	Last     weight     `json:"last"`              // and its weight: keep.tokens needs it
	BestUser Position   `json:"best_user"`         // the newest position before a user message that keeps enough
	BestAny  Position   `json:"best_any"`          // the newest position of any kind that does
	Pending  []Position `json:"pending,omitempty"` // positions inside the part to keep, oldest first
}

// Edge is an item behind which every one that is not deleted stands verbatim: the one before the last cut, or the
// newest of those before it that a compaction stands for.
type Edge struct {
	At     uint64 `json:"at"`     // ordinal
	Weight weight `json:"weight"` // of that item alone
}

// Turn is a message that stays verbatim for being the latest of its role.
type Turn struct {
	At      uint64   `json:"at"`
	Weight  weight   `json:"weight"`            // of what is not fixed anyway
	Members []uint64 `json:"members,omitempty"` // ordinals of the results that belong to it
}

// Call is an open call, or a result that came before its call.
type Call struct {
	ID     string `json:"id"`
	At     uint64 `json:"at"`              // ordinal
	Count  uint64 `json:"count"`           // State.Count when it came
	Weight weight `json:"weight,omitzero"` // of an early result
}

// Position is a place where a cut would be safe: before the item At. The zero Position is none.
type Position struct {
	At     uint64 `json:"at"`
	Prev   uint64 `json:"prev"`   // the item before At
	User   bool   `json:"user"`   // a user message follows
	Before weight `json:"before"` // State.Seen before it
	Tail   weight `json:"tail"`   // State.Seen before Prev
	Free   weight `json:"free"`   // State.Free before it
}

// Clone returns a State that shares nothing with s.
func (s *State) Clone() State {
	var to State
	s.CopyTo(&to)
	return to
}

// CopyTo makes to equal to s and shares nothing with it. What to held is gone; its lists are used again.
func (s *State) CopyTo(to *State) {
	open, early, pending := to.Open, to.Early, to.Pending
	user, assistant := to.User.Members, to.Assistant.Members
	*to = *s
	to.Open, to.Early = append(open[:0], s.Open...), append(early[:0], s.Early...)
	to.Pending = append(pending[:0], s.Pending...)
	to.User.Members = append(user[:0], s.User.Members...)
	to.Assistant.Members = append(assistant[:0], s.Assistant.Members...)
}
