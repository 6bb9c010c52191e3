package prompt

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"precis/events"
)

// Providers take ids and names of letters, digits, _ and - alone: OpenAI ids of at most 40 bytes and
// names of at most 64, Anthropic the same characters and no id twice.
const (
	maxID   = 40
	maxName = 64
)

// rename gives every call an id that providers take. One that is fit and new stays; another is derived
// from the id and the place of the call, so that it is the same in the next prompt. One that came in the prompt's own shape is
// the provider's, and stays where the provider takes it.
func rename(units []unit, own events.Shape) {
	used := map[string]bool{}
	for i := range units {
		for n := range units[i].calls {
			c := &units[i].calls[n]
			c.id = c.ID
			if own == events.ShapeShared && c.own != nil {
				continue // the format messages has the part as it is
			}
			if used[c.id] || !fits(c.id, maxID) && !c.keepsID(own) {
				c.id = derived(c.ID, units[i].ordinal, n)
			}
			used[c.id] = true
		}
	}
}

// keepsID reports whether the provider takes back an id of its own that does not fit others. Anthropic refuses its own too where
// they have a character other than those of [nameByte]; their length is free.
func (c *call) keepsID(own events.Shape) bool {
	if own == events.ShapeShared || c.id == "" || !c.has(own) {
		return false
	}
	return own != events.ShapeAnthropic || fits(c.id, len(c.id))
}

// has reports whether the call, or the result that it was made up for, came in a shape.
func (c *call) has(shape events.Shape) bool {
	switch {
	case c.own != nil && c.own.Shape == shape, len(c.Raw) > 0 && shape == events.ShapeOpenAI:
		return true
	case c.own != nil || len(c.Raw) > 0 || c.answer == nil:
		return shape == events.ShapeShared
	}
	return c.answer.Shape == shape
}

func derived(id string, ordinal uint64, n int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%d\n%d", id, ordinal, n))
	return "call_" + hex.EncodeToString(sum[:12])
}

func fits(s string, limit int) bool {
	if s == "" || len(s) > limit {
		return false
	}
	for i := range len(s) {
		if !nameByte(s[i]) {
			return false
		}
	}
	return true
}

// toolName is a tool's name as providers take it.
func toolName(name string) string {
	if name == "" {
		return "unknown_tool"
	}
	if fits(name, maxName) {
		return name
	}
	b := []byte(name[:min(len(name), maxName)])
	for i := range b {
		if !nameByte(b[i]) {
			b[i] = '_'
		}
	}
	return string(b)
}

func nameByte(c byte) bool {
	return c == '_' || c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
