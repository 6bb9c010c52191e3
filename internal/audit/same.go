package audit

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"precis/events"
	"precis/internal/thread"
	"precis/summarize"
)

// same compares a record with what the fold decides in its place, byte for byte; with whole, its text too.
func (a *auditor) same(r *onRecord, d events.Record, whole bool) {
	switch want := d.(type) {
	case *events.Summary:
		if got, ok := r.rec.(*events.Summary); ok {
			a.sameSummary(r, *want, got, whole)
			return
		}
		if got, ok := r.rec.(*events.Started); ok && got.Model == nil && want.ID == got.SummaryID && !whole {
			a.tally.doubt(r.scope, "a summary too large to publish, since the rules are not run again")
			return
		}
	case *events.Started:
		if got, ok := r.rec.(*events.Started); ok {
			a.sameStarted(r, *want, got)
			return
		}
	case *events.Invalidated:
		if got, ok := r.rec.(*events.Invalidated); ok {
			rec := *want
			rec.Head = got.Head
			a.sameMembers(r, &rec, CheckInvalidations)
			return
		}
	}
	a.find(r, CheckTrigger, fmt.Sprintf("%T", d), string(r.staged.Type))
}

// sameSummary compares a rule-based summary with what the rules make today. The text of another version of the rules
// can't be recomputed, but the summary's sources and trigger can. It returns false if nothing can be compared.
func (a *auditor) sameSummary(r *onRecord, want events.Summary, got *events.Summary, whole bool) bool {
	made := want.ID
	if a.onOthers(r.thread, want.SourceMessageIDs, &want.SourceSummaryIDs, &want.SourceDigest) {
		want.ID = identity(r.thread, want.Kind, want.Slot, want.Version, want.SourceDigest, want.PolicyFingerprint, orNone(want.RulesVersion), "")
	}
	if id, other := a.instead[orNone(want.Replaces)]; other {
		want.Replaces = &id
	}
	if a.byOthers(got) {
		a.instead[made] = got.ID
		a.tally.doubt(r.scope, a.otherRules(got))
		whole = false
		if !a.sameSources(r, &want, got) {
			return false
		}
	}
	check := CheckRemade
	if !whole {
		check = CheckTrigger
		want.Content, want.ToolSummary, want.Method, want.FallbackReason = got.Content, got.ToolSummary, got.Method, got.FallbackReason
		want.TokenCountAfter, want.CharsBefore, want.CharsAfter = got.TokenCountAfter, got.CharsBefore, got.CharsAfter
		want.RulesVersion = got.RulesVersion
		want.ID = identity(r.thread, want.Kind, want.Slot, want.Version, want.SourceDigest, want.PolicyFingerprint, orNone(got.RulesVersion), "")
	}
	want.Head = got.Head
	a.sameMembers(r, &want, check)
	return true
}

// sameStarted accepts the prompt version of the record: the prompt's text comes with the program.
func (a *auditor) sameStarted(r *onRecord, want events.Started, got *events.Started) {
	if a.underOthers() && counted(got.Trigger) {
		want.Trigger.Value = got.Trigger.Value
	}
	want.Head = got.Head
	onOthers := a.onOthers(r.thread, want.SourceMessageIDs, &want.SourceSummaryIDs, &want.SourceDigest)
	if orNone(got.PromptVersion) != orNone(want.PromptVersion) {
		a.tally.doubt(r.scope, "started with another program's prompt")
		want.PromptVersion, onOthers = got.PromptVersion, true
	}
	if onOthers && want.Model != nil {
		want.SummaryID = identity(r.thread, want.Kind, want.Slot, want.Version, want.SourceDigest, want.PolicyFingerprint,
			orNone(got.PromptVersion), orNone(want.Model))
	}
	a.sameMembers(r, &want, CheckTrigger)
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

// sameMembers notes the members in which a record differs from what it should be. check covers those that have no check of their
// own.
func (a *auditor) sameMembers(r *onRecord, want events.Record, check string) {
	data, err := json.Marshal(want)
	list, differs := differing(data, r.staged.Data)
	if err = cmp.Or(err, differs); err != nil {
		a.find(r, CheckReadable, "a record", err.Error())
		return
	}
	holds := true
	for _, m := range list {
		if meantThen(m) {
			continue
		}
		of := checkOf(m.name, check)
		holds = holds && of != check
		a.find(r, of, m.name+": "+m.want, m.name+": "+m.got)
	}
	if holds {
		a.tally.holds(r.scope, check)
	}
}

// member is a member in which two JSON objects differ, from shortly before the first difference.
type member struct{ name, want, got string }

// differing compares two JSON objects member by member, in canonical form.
func differing(want, got []byte) (list []member, err error) {
	wants, err := members(want)
	if err != nil {
		return nil, err
	}
	gots, err := members(got)
	if err != nil {
		return nil, err
	}
	for name := range gots {
		if _, known := wants[name]; !known {
			wants[name] = nil
		}
	}
	for _, name := range slices.Sorted(maps.Keys(wants)) {
		if string(wants[name]) != string(gots[name]) {
			a, b := apart(cmp.Or(string(wants[name]), missing), cmp.Or(string(gots[name]), missing))
			list = append(list, member{name, a, b})
		}
	}
	return list, nil
}

// missing stands for a member that is not there.
const missing = "missing"

// meantThen reports whether a record lacks a member because its program did not know it, and behaved accordingly:
// before meanwhile was on record, no stale summary stood in a prompt.
func meantThen(m member) bool {
	return m == member{"meanwhile", `"` + events.MeanwhileRaw + `"`, missing}
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
