package state

import (
	"reflect"
	"testing"

	"precis/internal/thread"
)

// Rows that an event reads. A header is read with a thread's first event in memory, a message with an edit of it, a slot
// with each summary.
func BenchmarkDecode(b *testing.B) {
	n := new(int64)
	var h thread.Header
	m := thread.Message{CallIDs: []string{"call_1"}, CallID: "call_2", ID: "m", Role: "assistant"}
	var slot thread.Slot
	fill(reflect.ValueOf(&h).Elem(), n)
	fill(reflect.ValueOf(&slot).Elem(), n)
	header, message, slotRow, summary := encodeThread(nil, &h, nil), encodeMessage(nil, &m), encodeJSON(&slot), encodeSummary(whole())
	for name, decode := range map[string]func() error{
		"header":  func() error { _, _, err := decodeThread("t", header); return err },
		"message": func() error { _, err := decodeMessage("m", message); return err },
		"slot":    func() error { return decodeJSON(&thread.Slot{}, "slot", "s")(slotRow) },
		"summary": func() error { _, err := decodeSummary(summary); return err },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := decode(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
