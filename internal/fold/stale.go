package fold

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"precis/events"
	"precis/internal/thread"
	"precis/state"
	"precis/summarize"
)

// What makes a summary stale:
//
//	a source was edited or deleted    Invalidate, with the event
//	the policy, a model or a prompt   Outdated, by a sweep after a configuration
//	its age                           ExpireDue, by the clock, and Fold.Renew, by a request
//	a compaction gave messages back   outdateHistory
//
// Each also makes stale what was made from the summary, causes before effects, and each is on record, so that a recovery adopts it at
// the event after which it took effect; a rewind alone (rewind.go) lets what a step can't record lapse. A new cause is another function
// here: one of an event appends to Step.decided, which Record emits for summaries of the event's own message (a summary of another one
// needs that message set around it, or the counters of a cut miss it); any other emits an events.Invalidated itself. If it compares with
// the configuration, Config.judges, stillFits and MeanwhileOf must know it too. What follows from staleness is in renew.go, what a stale
// summary does in prompts in Meanwhile.
//
// There are two ways to find what a configuration makes stale. An index by fingerprint finds it at once, but costs every summary
// a row, and another one each for its prompt and model. A scan of all summaries in key order costs nothing until it is needed,
// and then reads a million rows: at a bounded rate that takes minutes in the background, with its position saved in the batch
// that holds the results. The fold scans, since configurations rarely change. Expiry has an index, since it is checked every
// second; only summaries that expire have rows there.

// Invalidate decides what an edit makes stale: each active summary that its message is a source of, and what was made from those. The
// old text stops serving at once.
func (s *Step) Invalidate() {
	if s.res.Rewound {
		s.invalidateRewound()
		return
	}
	if !s.invalidates() {
		return
	}
	m, deleted := s.st.Message, s.in.Event.Edit.Deleted
	if m.Tool {
		s.reweigh(events.KindToolResult, func() { s.st.Retire(events.ToolSlot(m.ID)) })
	}
	if s.st.Compaction == nil || s.st.Compaction.Replaced(m.Ordinal) {
		s.st.Retire(events.SlotCurrent)
	}
	reason := events.ReasonSourceEdited
	if deleted {
		reason = events.ReasonSourceDeleted
	}
	of := dependents(s.st, func(sum *thread.Summary) bool { return slices.Contains(sum.Sources, m.ID) })
	for _, sum := range of {
		inv := &events.Invalidated{
			SummaryID: sum.ID, Kind: sum.Kind, Reason: reason, Action: s.p.Staleness.Action, Meanwhile: events.MeanwhileRaw,
			Cause: events.Cause{MessageID: &m.ID}, InvalidatedAt: s.in.Time,
		}
		if deleted && sum.Kind == events.KindToolResult {
			inv.Action = events.ActionTrim // a deleted message can't be summarized
		}
		if from := sourceAmong(of, sum); from != "" {
			inv.Reason = events.ReasonSourceInvalidated
			inv.Cause = events.Cause{SummaryID: &from}
		}
		s.decided = append(s.decided, inv)
	}
}

// invalidates reports whether the event makes stale what was made from its message.
func (s *Step) invalidates() bool { return s.res.Edited && s.p.Stale(summarize.StaleSource) }

// dependents returns the active loaded summaries for which something holds, and those made from these, in the order of loading:
// sources come first.
func dependents(st *thread.State, something func(*thread.Summary) bool) []*thread.Summary {
	var list []*thread.Summary
	for _, sum := range st.Summaries {
		if sum.Status == thread.Active && (something(sum) || sourceAmong(list, sum) != "") {
			list = append(list, sum)
		}
	}
	return list
}

// sourceAmong returns the first source of sum that is among the given summaries; empty if there is none.
func sourceAmong(of []*thread.Summary, sum *thread.Summary) string {
	for _, id := range sum.SourceSums {
		if slices.ContainsFunc(of, func(s *thread.Summary) bool { return s.ID == id }) {
			return id
		}
	}
	return ""
}

// outdateHistory invalidates a history if one of its sources has been replaced.
func (s *Step) outdateHistory(sum *thread.Summary) {
	for _, id := range sum.SourceSums {
		if from := s.st.Summary(id); from != nil && from.Status == thread.Replaced {
			s.emit(&events.Invalidated{
				SummaryID: sum.ID, Kind: sum.Kind, Reason: events.ReasonSourceInvalidated, Cause: events.Cause{SummaryID: &id},
				Action: s.p.Staleness.Action, Meanwhile: events.MeanwhileRaw, InvalidatedAt: s.at.Time,
			})
			return
		}
	}
}

// Sweep compares up to limit of the partition's summaries with the configuration in force. It continues where it, or an earlier
// process, stopped.
func (f *Fold) Sweep(limit int, now time.Time) (out Swept, err error) {
	err = attempt(func() { out = f.sweep(limit, now) })
	return out, err
}

func (f *Fold) sweep(limit int, now time.Time) Swept {
	at := got(f.part.Sweep())
	if f.recovering() {
		return Swept{Done: true}
	}
	if at.Judges != f.judges {
		at = state.Sweep{Judges: f.judges}
	}
	if at.Done {
		return Swept{Done: true}
	}
	if len(at.After) == 0 {
		at.Left = f.part.Meta().Summaries
	}
	refs, last, more, err := f.part.NextSummaries(at.After, limit)
	check(err)
	out := Swept{Looked: len(refs)}
	for _, ref := range refs {
		out.Stale += f.outdate(events.BySweep, ref, now, f.outdated)
	}
	at.After, at.Done = last, !more
	at.Left -= min(at.Left, uint64(len(refs)))
	if at.Done {
		at.Left = 0 // summaries made meanwhile follow the configuration in force
	}
	out.Done, out.Left = at.Done, at.Left
	f.part.SaveSweep(at)
	return out
}

// Swept is the result of one turn of a sweep.
type Swept struct {
	Looked int // summaries
	Stale  int // of these, and of what was made from them, became stale
	Left   uint64
	Done   bool
}

// ExpireDue makes up to limit expired summaries stale, and what was made from them. One of a parked thread whose rows can't be read now holds up those of other
// parked threads alone.
func (f *Fold) ExpireDue(limit int, now time.Time) error {
	return attempt(func() {
		if unread := f.expireDue(got(f.part.Expired(now, limit)), now, nil); unread != nil {
			check(f.expireDue(got(f.part.Expired(now, behindUnread*limit)), now, unread))
		}
	})
}

// behindUnread is how many times further expiries are looked for behind what can't be read now.
const behindUnread = 16

// expireDue makes expired summaries stale. unread is why those of parked threads can't be read now, if they can't; it is returned.
func (f *Fold) expireDue(refs []state.Ref, now time.Time, unread error) error {
	if f.recovering() {
		return nil
	}
	for _, ref := range refs {
		if unread != nil && got(f.part.Parked(ref.Thread)) != nil {
			continue
		}
		err := attempt(func() { f.expire(ref, now) })
		if !errors.Is(err, state.ErrParked) || errors.Is(err, ErrHalfDone) {
			check(err)
			continue
		}
		unread = err
	}
	return unread
}

// expire makes a summary stale if it has expired, and what was made from it.
func (f *Fold) expire(ref state.Ref, now time.Time) {
	f.outdate(events.ByExpiry, ref, now, func(_ *thread.State, sum *thread.Summary) *events.Invalidated {
		if sum.ExpiresAt.IsZero() || sum.ExpiresAt.After(now) {
			return nil
		}
		setting, old := "expires_at", sum.ExpiresAt.UTC().Format(time.RFC3339Nano)
		return &events.Invalidated{Reason: events.ReasonTTLExpired, Cause: events.Cause{Setting: &setting, Old: &old}}
	})
}

// outdate is a step that invalidates an active summary for which judge returns an invalidation, and everything made from it.
func (f *Fold) outdate(
	cause events.StepCause, ref state.Ref, now time.Time, judge func(*thread.State, *thread.Summary) *events.Invalidated,
) (stale int) {
	s := f.on(ref.Thread, Delivery{Seq: f.applied, Time: now})
	sum := s.loadStale(ref.Summary)
	if sum.Status != thread.Active {
		return 0
	}
	inv := judge(s.st, sum)
	if inv == nil {
		return 0
	}
	check(f.part.LoadMadeFrom(s.st, sum.ID))
	f.begin(cause)
	of := dependents(s.st, func(made *thread.Summary) bool { return made == sum })
	for _, made := range of {
		if made != sum {
			from := sourceAmong(of, made)
			inv = &events.Invalidated{Reason: events.ReasonSourceInvalidated, Cause: events.Cause{SummaryID: &from}}
		}
		inv.SummaryID, inv.Kind, inv.Action, inv.InvalidatedAt = made.ID, made.Kind, s.p.Staleness.Action, now.UTC()
		inv.Meanwhile = Meanwhile(s.p, made.Kind)
		s.emit(inv)
	}
	s.save()
	return len(of)
}

// Meanwhile returns what stands in prompts until a summary is recomputed that became stale without a change of its sources: raw
// for histories, which no prompt includes, and for what a policy trims or fails, which is not recomputed by itself.
func Meanwhile(p *summarize.Policy, kind string) string {
	if p.Staleness.Action != summarize.ActionRegenerate || kind == events.KindHistory {
		return events.MeanwhileRaw
	}
	return p.Staleness.Meanwhile
}

// MeanwhileOf returns the meanwhile of an invalidation, which an audit compares with the one on record.
func (f *Fold) MeanwhileOf(st *thread.State, sum *thread.Summary, rec *events.Invalidated) (string, error) {
	switch rec.Reason {
	case events.ReasonSourceEdited, events.ReasonSourceDeleted:
		return events.MeanwhileRaw, nil
	case events.ReasonSourceInvalidated:
		if rec.Cause.SummaryID == nil {
			return events.MeanwhileRaw, nil
		}
		from, err := f.part.Summary(st.Header.Thread, *rec.Cause.SummaryID)
		if err != nil || from == nil || !from.Serves {
			return events.MeanwhileRaw, err
		}
	}
	p, _ := f.policy(st, nil)
	return Meanwhile(p, sum.Kind), nil
}

// made is the part of a summary's record that tells how it was made.
type made struct {
	Policy            string  `json:"policy"`
	PolicyFingerprint string  `json:"policy_fingerprint"`
	Provider          *string `json:"provider"`
	Model             *string `json:"model"`
	PromptVersion     *string `json:"prompt_version"`
}

// Outdated returns how a summary conflicts with the configuration in force; nil if it does not. An audit compares an
// invalidation with it.
func (f *Fold) Outdated(st *thread.State, sum *thread.Summary) (inv *events.Invalidated, err error) {
	err = attempt(func() { inv = f.outdated(st, sum) })
	return inv, err
}

func (f *Fold) outdated(st *thread.State, sum *thread.Summary) *events.Invalidated {
	p, _ := f.policy(st, nil)
	if !p.Enabled {
		return nil
	}
	var rec made
	if err := json.Unmarshal(sum.Record, &rec); err != nil {
		check(errors.Join(state.ErrDamaged, fmt.Errorf("read record of %s: %w", sum.ID, err)))
	}
	if now := summarize.KindFingerprint(*p, sum.Kind); p.Stale(summarize.StalePolicy) && now != rec.PolicyFingerprint {
		return changed(events.ReasonPolicyChanged, "policies."+p.Name, rec.PolicyFingerprint, now)
	}
	if rec.Model != nil && p.Stale(summarize.StaleModel) {
		if provider, now := f.modelOf(p, rec.Provider); now != *rec.Model {
			return changed(events.ReasonModelChanged, "providers."+provider+".model", *rec.Model, now)
		}
	}
	if rec.PromptVersion != nil && p.Stale(summarize.StalePrompt) {
		if now, ok := promptsOf(p).Serves(sum.Kind, *rec.PromptVersion); !ok {
			return changed(events.ReasonPromptChanged, "policies."+p.Name+".prompts", *rec.PromptVersion, now)
		}
	}
	return nil
}

func changed(reason, setting, old, now string) *events.Invalidated {
	return &events.Invalidated{Reason: reason, Cause: events.Cause{Setting: &setting, Old: &old, New: &now}}
}

// modelOf returns the model that would make a summary now: the policy's, or main's if main stood in for it.
func (f *Fold) modelOf(p *summarize.Policy, provider *string) (name, model string) {
	stoodIn := provider != nil && *provider == summarize.ProviderMain && p.Provider != summarize.ProviderMain
	if _, ok := f.config.Providers[p.Provider]; stoodIn || !ok {
		return summarize.ProviderMain, f.config.Providers[summarize.ProviderMain].Model
	}
	return p.Provider, f.config.model(p)
}

// stillFits reports whether a job's result would not be stale at once: its policy, model and prompt are still those in force.
func (f *Fold) stillFits(p *summarize.Policy, job *events.Started) bool {
	if summarize.KindFingerprint(*p, job.Kind) != job.PolicyFingerprint {
		return false
	}
	if job.Model != nil && p.Stale(summarize.StaleModel) && f.config.model(p) != *job.Model {
		return false
	}
	if job.PromptVersion == nil || !p.Stale(summarize.StalePrompt) {
		return true
	}
	_, ok := promptsOf(p).Serves(job.Kind, *job.PromptVersion)
	return ok
}
