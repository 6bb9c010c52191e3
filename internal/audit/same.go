package audit

import (
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"precis/events"
	"precis/internal/thread"
	"precis/summarize"
)

// same compares a record with what the fold decides in its place, byte for byte.
func (a *auditor) same(at scope, r *onRecord, d events.Record, whole bool) error {
	switch want := d.(type) {
	case *events.Summary:
		if got, ok := r.rec.(*events.Summary); ok {
			return a.sameSummary(at, r, *want, got, whole)
		}
		if got, ok := r.rec.(*events.Started); ok && got.Model == nil && want.ID == got.SummaryID && !whole {
			a.tally.doubt(at, "a summary too large to publish, since the rules are not run again")
			return nil
		}
	case *events.Started:
		if got, ok := r.rec.(*events.Started); ok {
			return a.sameStarted(at, r, *want, got)
		}
	case *events.Invalidated:
		if got, ok := r.rec.(*events.Invalidated); ok {
			rec := *want
			rec.Head = got.Head
			return a.compare(at, r, &rec, CheckInvalidations)
		}
	}
	a.tally.find(at, Finding{
		Thread: events.OrNull(r.thread), Summary: summaryOf(r.rec), Check: CheckTrigger, EventSeq: r.rec.Common().EventSeq,
		Want: fmt.Sprintf("%T", d), Got: string(r.staged.Type),
	})
	return nil
}

// sameSummary compares a rule-based summary with what the rules make today. The text of another version of the rules
// can't be recomputed, but the summary's sources and trigger can.
func (a *auditor) sameSummary(at scope, r *onRecord, want events.Summary, got *events.Summary, whole bool) error {
	check := CheckRemade
	if a.byOthers(got) {
		a.tally.doubt(at, "made by rules "+orNone(got.RulesVersion)+", this program has "+a.rulesVersion)
		whole = false
		if !a.sameSources(at, &want, got) {
			return nil
		}
	}
	if !whole {
		check = CheckTrigger
		asSaid(&want, got)
		want.ID = identity(at.thread, want.Kind, want.Slot, want.Version, want.SourceDigest, want.PolicyFingerprint, orNone(got.RulesVersion), "")
	}
	want.Head = got.Head
	return a.compare(at, r, &want, check)
}

// asSaid copies what the rules produced from the record.
func asSaid(want, got *events.Summary) {
	want.Content, want.ToolSummary, want.Method, want.FallbackReason = got.Content, got.ToolSummary, got.Method, got.FallbackReason
	want.TokenCountAfter, want.CharsBefore, want.CharsAfter = got.TokenCountAfter, got.CharsBefore, got.CharsAfter
	want.RulesVersion = got.RulesVersion
}

// sameStarted accepts the prompt version of the record: the prompt's text comes with the program.
func (a *auditor) sameStarted(at scope, r *onRecord, want events.Started, got *events.Started) error {
	if a.underOthers() && counted(got.Trigger) {
		want.Trigger.Value = got.Trigger.Value
	}
	want.Head = got.Head
	if orNone(got.PromptVersion) != orNone(want.PromptVersion) {
		a.tally.doubt(at, "started with another program's prompt")
		want.PromptVersion = got.PromptVersion
		want.SummaryID = identity(at.thread, want.Kind, want.Slot, want.Version, want.SourceDigest, want.PolicyFingerprint,
			orNone(got.PromptVersion), orNone(want.Model))
	}
	return a.compare(at, r, &want, CheckTrigger)
}

func identity(thread, kind, slot string, version uint64, digest, fingerprint, method, model string) string {
	return summarize.Identity{
		Thread: thread, Kind: kind, Slot: slot, Version: version,
		SourceDigest: digest, PolicyFingerprint: fingerprint, Method: method, Model: model,
	}.ID()
}

func orNone(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// compare notes the members in which a record differs from what it should be.
func (a *auditor) compare(at scope, r *onRecord, want events.Record, check string) error {
	members, err := differing(want, r.staged.Data)
	if err != nil {
		return err
	}
	checks := map[string]bool{check: true}
	for _, m := range members {
		name := checkOf(m.name, check)
		checks[name] = false
		wanted, got := apart(m.want, m.got)
		a.tally.find(at, Finding{
			Thread: events.OrNull(r.thread), Summary: summaryOf(r.rec), Check: name, EventSeq: r.rec.Common().EventSeq,
			Want: m.name + ": " + wanted, Got: m.name + ": " + got,
		})
	}
	if checks[check] {
		a.tally.holds(at, check)
	}
	return nil
}

// checkOf is the check that covers a member of a record.
func checkOf(member, check string) string {
	switch member {
	case "source_message_ids", "source_summary_ids", "source_digest":
		return CheckSources
	case "trigger", "policy", "policy_fingerprint", "policy_unresolved":
		return CheckTrigger
	case "cost", "usage":
		return CheckCost
	}
	return check
}

// member is a member in which two records differ.
type member struct{ name, want, got string }

// differing compares what a record should say with its data, member by member, in canonical form.
func differing(want events.Record, data []byte) ([]member, error) {
	raw, err := json.Marshal(want)
	if err != nil {
		return nil, fmt.Errorf("encode record: %w", err)
	}
	a, err := members(raw)
	if err != nil {
		return nil, err
	}
	b, err := members(data)
	if err != nil {
		return nil, err
	}
	var list []member
	for _, name := range slices.Sorted(maps.Keys(a)) {
		if string(a[name]) != string(b[name]) && !meantThen(name, a[name], b[name]) {
			list = append(list, member{name, string(a[name]), orMissing(b[name])})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b)) {
		if _, known := a[name]; !known {
			list = append(list, member{name, "missing", string(b[name])})
		}
	}
	return list, nil
}

// meantThen reports whether a record lacks a member because its program did not know it, and behaved accordingly:
// before meanwhile was on record, no stale summary stood in a prompt.
func meantThen(name string, want, got jsontext.Value) bool {
	return got == nil && name == "meanwhile" && string(want) == `"`+events.MeanwhileRaw+`"`
}

func members(data []byte) (map[string]jsontext.Value, error) {
	value := jsontext.Value(data).Clone()
	if err := value.Canonicalize(); err != nil {
		return nil, fmt.Errorf("canonicalize record: %w", err)
	}
	m := map[string]jsontext.Value{}
	if err := json.Unmarshal(value, &m); err != nil {
		return nil, fmt.Errorf("read record: %w", err)
	}
	return m, nil
}

func orMissing(v jsontext.Value) string {
	if v == nil {
		return "missing"
	}
	return string(v)
}

func readSummary(data []byte) (*events.Summary, error) {
	rec := new(events.Summary)
	if err := json.Unmarshal(data, rec); err != nil {
		return nil, fmt.Errorf("read record: %w", err)
	}
	return rec, nil
}

// digestOf is the digest over messages at their current revisions, and summaries.
func digestOf(rows []*thread.Message, summaries []string) string {
	var sources []summarize.Source
	for _, m := range rows {
		sources = append(sources, summarize.Source{ID: m.ID, Revision: m.Revision, Digest: m.Digest})
	}
	for _, id := range summaries {
		sources = append(sources, summarize.Source{ID: id})
	}
	return summarize.SourceDigest(sources)
}
