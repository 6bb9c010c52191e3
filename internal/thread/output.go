package thread

import (
	"cmp"
	"slices"

	"precis/summarize"
)

// maxOutputs bounds the tool outputs that a thread keeps whole. The row that holds them is written with every event; a
// model that has 64 large outputs before it in one turn has no room for more.
const maxOutputs = 64

// Output is a tool output that prompts hold whole for now (context.keep_outputs), whether or not it has a summary yet.
// Which outputs these are is part of the state and changes only with events, so that counters and triggers count what a
// prompt holds, and a rebuild finds the same.
type Output struct {
	At     uint64 `json:"at"`     // ordinal
	Turns  uint64 `json:"turns"`  // of the assistant, since
	Tokens int64  `json:"tokens"` // of its text
}

// KeepsWhole reports whether prompts hold the tool output at an ordinal whole.
func (c *Compaction) KeepsWhole(ordinal uint64) bool {
	_, found := c.output(ordinal)
	return found
}

func (c *Compaction) output(ordinal uint64) (at int, found bool) {
	return slices.BinarySearchFunc(c.Outputs, ordinal, func(o Output, ordinal uint64) int { return cmp.Compare(o.At, ordinal) })
}

// KeepWhole adds a tool output that has come, or has another content, and returns the ordinals of those that are kept
// no longer.
func (c *Compaction) KeepWhole(o Output, keep summarize.KeepOutputs) (released []uint64) {
	at, found := c.output(o.At)
	if keep.None() || keep.Turns == 0 && o.Tokens > int64(keep.Tokens) {
		if found {
			c.Outputs = slices.Delete(c.Outputs, at, at+1)
			return []uint64{o.At}
		}
		return nil
	}
	if found {
		c.Outputs[at] = o
	} else {
		c.Outputs = slices.Insert(c.Outputs, at, o)
	}
	if len(c.Outputs) > maxOutputs {
		released = append(released, c.Outputs[0].At)
		c.Outputs = slices.Delete(c.Outputs, 0, 1)
	}
	return append(released, c.settle(keep)...)
}

// Turn notes a turn of the assistant, which has read every output but the unread ones, and returns the ordinals of those
// that are kept no longer.
func (c *Compaction) Turn(unread []uint64, keep summarize.KeepOutputs) (released []uint64) {
	for i := range c.Outputs {
		if !slices.Contains(unread, c.Outputs[i].At) {
			c.Outputs[i].Turns++
		}
	}
	return c.settle(keep)
}

// Rewind has the thread keep the outputs that it kept where it goes back to: again, as they are counted from the ordinal
// from on, and of those before it the ones that it keeps now. It returns the ordinals of those that stand whole again, and
// of those that are kept no longer.
func (c *Compaction) Rewind(from uint64, again []Output) (whole, released []uint64) {
	old := Compaction{Outputs: slices.Clone(c.Outputs)}
	c.Outputs = append(slices.DeleteFunc(c.Outputs, func(o Output) bool { return o.At >= from }), again...)
	c.Outputs = slices.Delete(c.Outputs, 0, max(len(c.Outputs)-maxOutputs, 0))
	for _, o := range c.Outputs {
		if !old.KeepsWhole(o.At) {
			whole = append(whole, o.At)
		}
	}
	for _, o := range old.Outputs {
		if !c.KeepsWhole(o.At) {
			released = append(released, o.At)
		}
	}
	return whole, released
}

// settle releases the outputs that have had their turns, oldest first, until the others are within keep.Tokens. What a
// provider has cached is lost from the oldest one on, so that it releases them in batches: down to half of the tokens.
func (c *Compaction) settle(keep summarize.KeepOutputs) (released []uint64) {
	had := func(o Output) bool { return o.Turns >= uint64(keep.Turns) }
	var tokens int64
	left := 0
	for _, o := range c.Outputs {
		if had(o) {
			tokens += o.Tokens
			left++
		}
	}
	most := int64(keep.Tokens)
	if tokens <= most {
		return nil
	}
	c.Outputs = slices.DeleteFunc(c.Outputs, func(o Output) bool {
		if !had(o) || tokens <= most/2 || tokens <= most && left == 1 {
			return false
		}
		tokens -= o.Tokens
		left--
		released = append(released, o.At)
		return true
	})
	return released
}
