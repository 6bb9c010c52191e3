package ledger

import (
	"fmt"
	"strings"
	"testing"

	"precis/events"
)

// A span of the default trigger's size, some 100,000 tokens, and a roll-up of 16 of them.
func BenchmarkLeaf(b *testing.B) {
	messages := longSpan(200)
	b.SetBytes(int64(200 * 2000))
	for b.Loop() {
		Collect(messages).Trim().Text(2000)
	}
}

// An endless line costs as much as the same characters on separate lines.
func BenchmarkGiantLine(b *testing.B) {
	const size = 1 << 20
	for name, unit := range map[string]string{"one line": "x y ", "lines": strings.Repeat("x y ", 30) + "\n"} {
		text := strings.Repeat(unit, size/len(unit))
		messages := []Message{{Ordinal: 1, Message: &events.Message{MessageID: "m", Role: events.RoleUser, Content: events.TextContent(text)}}}
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				Collect(messages).Trim().Text(2000)
			}
		})
	}
}

func BenchmarkRollUp(b *testing.B) {
	var leaves []Ledger
	for range 16 {
		leaves = append(leaves, Collect(longSpan(200)).Trim())
	}
	for b.Loop() {
		Join(leaves).Text(2000)
	}
}

func longSpan(n int) []Message {
	list := make([]Message, 0, n)
	for i := range n {
		var text strings.Builder
		for j := range 50 {
			fmt.Fprintf(&text, "func (s *Store%d) ReadHeader%d(ctx context.Context) error {\n", i, j)
		}
		m := &events.Message{MessageID: fmt.Sprint(i), Role: events.RoleTool, ToolCallID: fmt.Sprint(i), Content: events.TextContent(text.String())}
		list = append(list, Message{Ordinal: uint64(i + 1), Message: m})
	}
	return list
}

// A talk of short messages, each of whose sentences is looked at.
func BenchmarkTalk(b *testing.B) {
	var messages []Message
	for i := range 100 {
		role := []string{events.RoleUser, events.RoleAssistant}[i%2]
		text := strings.Repeat(fmt.Sprintf("Part %d of parser.go is done. ", i), 13)
		messages = append(messages, Message{Ordinal: uint64(i + 1), Message: &events.Message{MessageID: fmt.Sprint(i), Role: role, Content: events.TextContent(text)}})
	}
	for b.Loop() {
		Collect(messages).Trim().Text(2000)
	}
}
