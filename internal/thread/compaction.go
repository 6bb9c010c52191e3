package thread

import (
	"slices"

	"precis/summarize/cut"
)

// Compaction is how far a thread is compacted: what decides about the next cut, and which summaries the
// current one is made of. It is a row of its own.
type Compaction struct {
	Cut cut.State `json:"cut"`
	// Tops are the summaries that the current one is made from, oldest first.
	Tops []Top `json:"tops,omitempty"`
	// Held are the messages before the last cut that are verbatim until the next one takes them: it left them for
	// being the latest of their role, or a compaction has given them back. Fixed are those that stay for good: pinned
	// and system messages. Ordinals, in order. What is deleted of the others is in neither.
	Held  []uint64 `json:"held,omitempty"`
	Fixed []uint64 `json:"fixed,omitempty"`
}

// Top is a leaf, or a node that was made from leaves, and the messages it stands for.
type Top struct {
	Summary string `json:"summary"`
	Slot    string `json:"slot"`
	Level   int    `json:"level"`
	From    uint64 `json:"from"` // ordinals, both included
	To      uint64 `json:"to"`
}

// Clone returns a Compaction that shares nothing with c.
func (c *Compaction) Clone() *Compaction {
	to := &Compaction{}
	c.CopyTo(to)
	return to
}

// CopyTo makes to equal to c and shares nothing with it. What to held is gone; its lists are used again.
func (c *Compaction) CopyTo(to *Compaction) {
	c.Cut.CopyTo(&to.Cut)
	to.Tops = append(to.Tops[:0], c.Tops...)
	to.Held = append(to.Held[:0], c.Held...)
	to.Fixed = append(to.Fixed[:0], c.Fixed...)
}

// To is the last ordinal before the last cut; 0 where there was none.
func (c *Compaction) To() uint64 {
	if n := len(c.Tops); n > 0 {
		return c.Tops[n-1].To
	}
	return 0
}

// Replaced says whether a summary stands for the message at an ordinal.
func (c *Compaction) Replaced(ordinal uint64) bool {
	return ordinal <= c.To() && !slices.Contains(c.Held, ordinal) && !slices.Contains(c.Fixed, ordinal)
}

// Hold has a message before the last cut stand verbatim until the next one.
func (c *Compaction) Hold(ordinal uint64) {
	c.Fixed = without(c.Fixed, ordinal)
	c.Held = with(c.Held, ordinal)
}

// Fix has a message before the last cut stand verbatim for good.
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

// Put notes that a summary has taken its slot among the tops.
func (c *Compaction) Put(slot, summary string) {
	for i := range c.Tops {
		if c.Tops[i].Slot == slot {
			c.Tops[i].Summary = summary
		}
	}
}

// Item is the message as cuts see it; weight is what it holds in a prompt.
func (m *Message) Item(weight int64) cut.Item {
	return cut.Item{
		Ordinal: m.Ordinal, MessageID: m.ID, Role: m.Role, Calls: m.CallIDs, Result: m.CallID,
		Pinned: m.Pinned, Deleted: m.Deleted, Tokens: weight,
	}
}
