package audit

import (
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"

	"precis/events"
	"precis/internal/broker"
	"precis/internal/fold"
	"precis/internal/recovery"
)

// A partition's own chain has its claims and configurations. A processor claims a partition under the configuration that it then puts
// in force, unless that is in force already; so a claim names one of the two. A processor that ends between the two leaves a claim
// whose configuration is nowhere else on record. Nothing else says who the owner of a claim was.

// program is what claims and configurations say of their processor.
type program struct{ version, rules, fingerprint string }

// ownChain is what was read of a partition's own chain.
type ownChain struct {
	inForce *program // nil: no configuration yet
	owner   string   // of the last claim
	open    []*claim // of that owner, which no configuration confirms yet
	left    []*claim // open ones of earlier owners
}

type claim struct {
	program
	stored broker.Stored
	entry  recovery.Entry
}

// ownRecord notes a record of a partition's own chain, and checks what it says of its place.
func (r *replay) ownRecord(m broker.Stored, e recovery.Entry) {
	if e.EventAt != nil || e.FirstEventSeq != 0 || e.EventSeq > e.EffectiveSeq || e.Type == events.PartitionClaimed && e.EventSeq != e.EffectiveSeq {
		r.wrong(m, e, CheckEvent, "no event, and a place at which it took effect", fmt.Sprintf("event %d, stored at %s, in effect from %d; first event %d",
			e.EventSeq, showTime(e.EventAt), e.EffectiveSeq, e.FirstEventSeq))
	}
	chain := r.own[e.Partition]
	if chain == nil {
		chain = &ownChain{}
		r.own[e.Partition] = chain
	}
	switch e.Type {
	case events.PartitionClaimed:
		var rec events.Claimed
		if json.Unmarshal(m.Data, &rec) != nil || rec.Epoch != e.ChainSeq || rec.Owner == "" {
			r.wrong(m, e, CheckReadable, fmt.Sprintf("a claim of an owner with epoch %d", e.ChainSeq), fmt.Sprintf("epoch %d of %q", rec.Epoch, rec.Owner))
		}
		m.Header, m.Data = nil, nil
		chain.claimed(rec.Owner, &claim{program: program{rec.ProgramVersion, rec.RulesVersion, rec.Fingerprint}, stored: m, entry: e})
	case events.ConfigApplied:
		var rec struct { // by itself: the rest may be a newer program's
			ProgramVersion string `json:"program_version"`
			RulesVersion   string `json:"rules_version"`
			Fingerprint    string `json:"fingerprint"`
		}
		if json.Unmarshal(m.Data, &rec) == nil {
			p := program{rec.ProgramVersion, rec.RulesVersion, rec.Fingerprint}
			r.programs.rules[p.fingerprint] = p.rules
			chain.configured(p)
		}
	}
}

func (c *ownChain) claimed(owner string, by *claim) {
	if owner != c.owner {
		c.left = append(c.left, c.open...)
		c.owner, c.open = owner, nil
	}
	if c.inForce == nil || *c.inForce != by.program {
		c.open = append(c.open, by)
	}
}

func (c *ownChain) configured(p program) {
	c.inForce = &p
	open := c.open[:0]
	for _, by := range c.open {
		if by.program != p {
			open = append(open, by)
		}
	}
	c.open = open
}

// claims checks each claim against the configurations beside it, once all are read.
func (r *replay) claims() {
	for _, id := range slices.Sorted(maps.Keys(r.own)) {
		for _, by := range append(r.own[id].left, r.own[id].open...) {
			rules, known := r.programs.rules[by.fingerprint]
			switch {
			case known && rules != by.rules: // which the fingerprint covers
				r.wrong(by.stored, by.entry, CheckConfig, "rules "+rules+", as the configuration of that fingerprint has", "rules "+by.rules)
			default: // a processor that ended in between; what came next may be of the one before it, from the outbox
				r.tally.doubt(scope{at: by.stored.Time}, "a claim under a configuration that was not put in force next")
			}
		}
	}
}

// programs are those that configurations on record name.
type programs struct {
	rules map[string]string // their rules, by fingerprint
}

// configured checks when a configuration says that it was applied, and what it says of an accepted loss.
func (a *auditor) configured(r *onRecord, rec *events.Config) {
	made, loss := r.staged.Made, rec.AcceptedLoss
	if rec.AppliedAt.IsZero() && (rec.ConfigVersion == 0 || fold.NewerConfig(r.staged.Data) != nil) {
		a.tally.doubt(r.scope, "a configuration of a program that says otherwise, or not, when it was applied")
		return
	}
	if loss == nil {
		a.sameTime(r, "the time of its envelope", made, rec.AppliedAt)
		return
	}
	a.sameTime(r, "accepted_at", loss.AcceptedAt, rec.AppliedAt)
	a.after(r, "accepted_at", loss.AcceptedAt) // an acceptance that was interrupted keeps its time
	a.expect(r, CheckEvent, fmt.Sprint("in effect from ", loss.EventsSeq), fmt.Sprint("in effect from ", rec.EffectiveSeq))
}

// accepted checks that each accepted loss is on record for every partition, and how many records it voids.
func (r *replay) accepted() {
	voided := uint64(0)
	for _, loss := range r.losses {
		voided += loss.RecordsVoided
		for id := range r.parts {
			if !slices.ContainsFunc(r.configs[id], func(a applied) bool { return a.loss != nil && a.loss.AcceptedAt.Equal(loss.AcceptedAt) }) {
				r.tally.find(scope{}, Finding{
					Check: CheckConfig, EventSeq: loss.EventsSeq, Want: "the loss accepted at " + showTime(&loss.AcceptedAt) + " on record for every partition",
					Got: fmt.Sprintf("not for partition %d: it was interrupted (run \"processor recover --accept-loss\" again), or its record is altered", id),
				})
			}
		}
	}
	if r.Filter.Thread == "" && r.Filter.To.IsZero() && voided != r.tail.Voided { // else not all records are read
		r.tally.find(scope{}, Finding{
			Check: CheckConfig, Want: fmt.Sprint("records void by accepted losses: ", r.tail.Voided), Got: fmt.Sprint("records_voided: ", voided),
		})
	}
}
