package state

import (
	"time"

	"precis/internal/thread"
)

// summaryVersion begins the row of a thread.Summary. An edit in a long thread reads dozens of them for their
// counters, and each has its record in it, which JSON reads through to its end.
const summaryVersion = 2

func encodeSummary(s *thread.Summary) []byte {
	e := encoder{b: make([]byte, 0, 512+len(s.Record)+len(s.Invalidated)+40*(len(s.Sources)+len(s.SourceSums)))}
	e.u(summaryVersion)
	e.s(s.ID)
	e.s(s.Kind)
	e.s(s.Slot)
	e.u(uint64(s.Level))
	e.flag(s.Current)
	e.u(s.Version)
	e.strings(s.Sources)
	e.strings(s.SourceSums)
	e.ints(s.TokensBefore, s.TokensAfter, s.CharsBefore)
	e.s(string(s.Status))
	e.s(s.ReplacedBy)
	e.flag(s.Renew)
	e.flag(s.Aside)
	e.flag(!s.ExpiresAt.IsZero())
	if !s.ExpiresAt.IsZero() {
		e.i(s.ExpiresAt.UnixNano())
	}
	e.flag(s.Serves)
	e.bytes(s.Record)
	e.bytes(s.Invalidated)
	return e.b
}

// decodeSummary copies what it keeps.
func decodeSummary(b []byte) (*thread.Summary, error) {
	s := &thread.Summary{}
	d := decoder{b: b}
	d.version(summaryVersion)
	s.ID, s.Kind, s.Slot, s.Level = d.s(), d.s(), d.s(), int(d.u())
	s.Current, s.Version = d.flag(), d.u()
	s.Sources, s.SourceSums = d.strings(), d.strings()
	d.ints(&s.TokensBefore, &s.TokensAfter, &s.CharsBefore)
	s.Status, s.ReplacedBy, s.Renew, s.Aside = thread.Status(d.s()), d.s(), d.flag(), d.flag()
	if d.flag() {
		s.ExpiresAt = time.Unix(0, d.i()).UTC()
	}
	s.Serves, s.Record, s.Invalidated = d.flag(), d.bytes(), d.bytes()
	return s, d.end("summary", s.ID)
}

func (e *encoder) strings(list []string) {
	e.u(uint64(len(list)))
	for _, s := range list {
		e.s(s)
	}
}

func (d *decoder) strings() []string {
	list := make([]string, 0, d.count(1))
	for range cap(list) {
		list = append(list, d.s())
	}
	return list
}
