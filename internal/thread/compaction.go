package thread

import (
	"slices"

	"precis/summarize/cut"
)

// Compaction is how far a thread is compacted: the inputs of the next cut, and the sources of the current summary. It is a
// part of its thread's row.
type Compaction struct {
	Cut cut.State `json:"cut"`
	// Tops are the sources of the current summary, oldest first.
	Tops []Top `json:"tops,omitempty"`
	// Held are the messages before the last cut that stay verbatim until the next cut takes them: the latest of their role, or
	// given back by a compaction. Fixed are those that stay verbatim for good: pinned and system messages. Both are ordinals in
	// ascending order. Other deleted messages are in neither, so Replaced holds for them.
	Held  []uint64 `json:"held,omitempty"`
	Fixed []uint64 `json:"fixed,omitempty"`
	// Outputs are the tool outputs that prompts hold whole for now, by ordinal.
	Outputs  []Output `json:"outputs,omitempty"`
	Reported Reported `json:"reported,omitzero"`
}

// Top is a leaf or a node made from leaves, with the messages it stands for.
type Top struct {
	Summary string `json:"summary"`
	Slot    string `json:"slot"`
	Level   int    `json:"level"`
	From    uint64 `json:"from"` // ordinals, inclusive
	To      uint64 `json:"to"`
}

// Clone returns a deep copy of c.
func (c *Compaction) Clone() *Compaction {
	to := &Compaction{}
	c.CopyTo(to)
	return to
}

// CopyTo makes to a deep copy of c and reuses its lists.
func (c *Compaction) CopyTo(to *Compaction) {
	c.Cut.CopyTo(&to.Cut)
	to.Tops = append(to.Tops[:0], c.Tops...)
	to.Held = append(to.Held[:0], c.Held...)
	to.Fixed = append(to.Fixed[:0], c.Fixed...)
	to.Outputs = append(to.Outputs[:0], c.Outputs...)
	to.Reported = c.Reported
}

// To returns the last ordinal before the last cut; 0 if there was none.
func (c *Compaction) To() uint64 {
	if n := len(c.Tops); n > 0 {
		return c.Tops[n-1].To
	}
	return 0
}

// Empty reports whether the current summary stands for nothing: what it stood for was deleted, or is verbatim again. No prompt holds
// it then. It goes by tokens, as the summary's row does (Summary.Saved).
func (c *Compaction) Empty() bool { return c.Cut.Gone.Tokens <= 0 }

// Replaced reports whether a summary stands for the message at an ordinal.
func (c *Compaction) Replaced(ordinal uint64) bool {
	return ordinal <= c.To() && !slices.Contains(c.Held, ordinal) && !slices.Contains(c.Fixed, ordinal)
}

// Hold keeps a message before the last cut verbatim until the next cut.
func (c *Compaction) Hold(ordinal uint64) {
	c.Fixed = without(c.Fixed, ordinal)
	c.Held = with(c.Held, ordinal)
}

// Fix keeps a message before the last cut verbatim for good.
func (c *Compaction) Fix(ordinal uint64) {
	c.Held = without(c.Held, ordinal)
	c.Fixed = with(c.Fixed, ordinal)
}

func with(list []uint64, n uint64) []uint64 {
	at, found := slices.BinarySearch(list, n)
	if found {
		return list
	}
	return slices.Insert(list, at, n)
}

func without(list []uint64, n uint64) []uint64 {
	return slices.DeleteFunc(list, func(have uint64) bool { return have == n })
}

// Put replaces the top of a slot with a summary, if the slot has a top.
func (c *Compaction) Put(slot, summary string) {
	for i := range c.Tops {
		if c.Tops[i].Slot == slot {
			c.Tops[i].Summary = summary
		}
	}
}

// Item returns the message as cuts see it; weight is its tokens in a prompt.
func (m *Message) Item(weight int64) cut.Item {
	return cut.Item{
		Ordinal: m.Ordinal, MessageID: m.ID, Role: m.Role, Calls: m.Calls(), Results: m.Results(),
		Pinned: m.Pinned, Deleted: m.Deleted, Tokens: weight,
	}
}
