package events_test

import (
	"reflect"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"precis/events"
)

// FuzzDecode feeds subjects, one header and a body to Decode: it must never panic, always return a code, and accept
// only events that can be written as JSON again.
func FuzzDecode(f *testing.F) {
	for _, c := range readDecodeCases(f) {
		name, value := "", ""
		for n, vs := range c.raw.Header {
			name, value = n, vs[0]
		}
		f.Add(c.raw.Subject, name, value, c.raw.Body)
	}
	f.Fuzz(func(t *testing.T, subject, name, value string, body []byte) {
		raw := events.Raw{Subject: subject, Header: map[string][]string{name: {value}}, Body: body}
		ev, rej := events.Decode(raw, events.Limits{EventBytes: 1 << 16})
		if rej != nil {
			if rej.Code == "" || !utf8.ValidString(rej.Error()) {
				t.Fatalf("rejection %q", rej.Error())
			}
			return
		}
		if _, err := json.Marshal(ev.Message); err != nil {
			t.Fatalf("accepted, and can't be written: %v", err)
		}
		if _, err := json.Marshal(ev.Edit); err != nil {
			t.Fatalf("accepted, and can't be written: %v", err)
		}
		kept, rej := events.DecodeKept(raw, events.Limits{EventBytes: 1 << 16})
		if rej != nil || !reflect.DeepEqual(kept, ev) {
			t.Fatalf("decoded %+v, and %+v, %v, of a body that is kept", ev, kept, rej)
		}
		again, rej := events.Decode(raw, events.Limits{EventBytes: 1 << 16})
		if rej != nil || ev.Message != nil && ev.Message.ContentDigest(ev.Type) != again.Message.ContentDigest(again.Type) {
			t.Fatalf("decoded twice, differs: %v", rej)
		}
	})
}
