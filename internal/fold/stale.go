package fold

import (
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"precis/events"
	"precis/internal/thread"
	"precis/state"
	"precis/summarize"
	"precis/summarize/llm"
)

// Without an event of its thread, only a configuration or its age makes a summary stale. Both are handled in turns, and the
// results are on record: a recovery adopts them at the event after which they took effect.
//
// There are two ways to find what a configuration makes stale. An index by fingerprint finds it at once, but costs every summary
// a row, and another one each for its prompt and model. A scan of all summaries in key order costs nothing until it is needed,
// and then reads a million rows: at a bounded rate that takes minutes in the background, with its position saved in the batch
// that holds the results. The fold scans, since configurations rarely change. Expiry has an index, since it is checked every
// second; only summaries that expire have rows there.

// Sweep compares up to limit of the partition's summaries with the configuration in force. It continues where it, or an earlier
// process, stopped.
func (f *Fold) Sweep(limit int, now time.Time) (Swept, error) {
	s, err := f.part.Sweep()
	if err != nil || f.recovering() {
		return Swept{Done: f.recovering()}, err
	}
	if s.Judges != f.judges {
		s = state.Sweep{Judges: f.judges}
	}
	if s.Done {
		return Swept{Done: true}, nil
	}
	if len(s.After) == 0 {
		s.Left = f.part.Meta().Summaries
	}
	refs, last, err := f.part.NextSummaries(s.After, limit)
	if err != nil {
		return Swept{}, err
	}
	out := Swept{Looked: len(refs)}
	for _, ref := range refs {
		stale, err := f.outdate(events.BySweep, ref, now, f.outdated)
		if err != nil {
			return out, err
		}
		out.Stale += stale
	}
	s.After, s.Done = last, len(refs) < limit
	s.Left -= min(s.Left, uint64(len(refs)))
	if s.Done {
		s.Left = 0 // summaries made meanwhile follow the configuration in force
	}
	out.Done, out.Left = s.Done, s.Left
	f.part.SaveSweep(s)
	return out, nil
}

// Swept is the result of one turn of a sweep.
type Swept struct {
	Looked int // summaries
	Stale  int // of these, and of what was made from them, became stale
	Left   uint64
	Done   bool
}

// ExpireDue makes up to limit expired summaries stale, and what was made from them.
func (f *Fold) ExpireDue(limit int, now time.Time) error {
	refs, err := f.part.Expired(now, limit)
	if err != nil || f.recovering() {
		return err
	}
	for _, ref := range refs {
		if _, err := f.Expire(ref, now); err != nil {
			return err
		}
	}
	return nil
}

// Expire makes a summary stale if it has expired, and what was made from it.
func (f *Fold) Expire(ref state.Ref, now time.Time) (stale int, err error) {
	return f.outdate(events.ByExpiry, ref, now, func(_ *thread.State, sum *thread.Summary) (*events.Invalidated, error) {
		if sum.ExpiresAt.IsZero() || sum.ExpiresAt.After(now) {
			return nil, nil
		}
		setting, old := "expires_at", sum.ExpiresAt.UTC().Format(time.RFC3339Nano)
		return &events.Invalidated{Reason: events.ReasonTTLExpired, Cause: events.Cause{Setting: &setting, Old: &old}}, nil
	})
}

// outdate invalidates an active summary for which judge returns an invalidation, and everything made from it, causes before
// effects.
func (f *Fold) outdate(
	cause events.StepCause, ref state.Ref, now time.Time, judge func(*thread.State, *thread.Summary) (*events.Invalidated, error),
) (stale int, err error) {
	st, err := f.part.LoadThread(ref.Thread)
	if err != nil {
		return 0, err
	}
	if err := f.loadStale(st, ref.Summary); err != nil {
		return 0, err
	}
	sum := st.Summary(ref.Summary)
	if sum.Status != thread.Active {
		return 0, nil
	}
	inv, err := judge(st, sum)
	if err != nil || inv == nil {
		return 0, err
	}
	if err := f.part.LoadMadeFrom(st, sum.ID); err != nil {
		return 0, err
	}
	f.begin(cause)
	p, _ := f.policy(st, nil)
	of := madeFrom(st, func(s *thread.Summary) bool { return s == sum })
	for _, made := range of {
		if made != sum {
			from := invalidSource(of, made)
			inv = &events.Invalidated{Reason: events.ReasonSourceInvalidated, Cause: events.Cause{SummaryID: &from}}
		}
		inv.SummaryID, inv.Kind, inv.Action, inv.InvalidatedAt = made.ID, made.Kind, p.Staleness.Action, now.UTC()
		inv.Meanwhile = Meanwhile(p, made.Kind)
		f.emit(st, draft{invalidated: inv}, Delivery{Seq: f.applied, Time: now})
		stale++
	}
	f.part.Save(st)
	f.flush()
	return stale, nil
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

// outdated returns how a summary conflicts with the configuration in force; nil if it does not.
func (f *Fold) outdated(st *thread.State, sum *thread.Summary) (*events.Invalidated, error) {
	p, _ := f.policy(st, nil)
	if !p.Enabled {
		return nil, nil
	}
	var rec made
	if err := json.Unmarshal(sum.Record, &rec); err != nil {
		return nil, errors.Join(state.ErrDamaged, fmt.Errorf("read record of %s: %w", sum.ID, err))
	}
	if now := summarize.KindFingerprint(*p, sum.Kind); p.Stale("policy") && now != rec.PolicyFingerprint {
		return changed(events.ReasonPolicyChanged, "policies."+p.Name, rec.PolicyFingerprint, now), nil
	}
	if rec.Model != nil && p.Stale("model") {
		if provider, now := f.modelOf(p, rec.Provider); now != *rec.Model {
			return changed(events.ReasonModelChanged, "providers."+provider+".model", *rec.Model, now), nil
		}
	}
	if rec.PromptVersion != nil && p.Stale("prompt") {
		if now, ok := promptServes(p, sum.Kind, *rec.PromptVersion); !ok {
			return changed(events.ReasonPromptChanged, "policies."+p.Name+".prompts", *rec.PromptVersion, now), nil
		}
	}
	return nil, nil
}

// Outdated returns how a summary conflicts with the configuration in force; nil if it does not. An audit compares an
// invalidation with it.
func (f *Fold) Outdated(st *thread.State, sum *thread.Summary) (*events.Invalidated, error) {
	return f.outdated(st, sum)
}

func changed(reason, setting, old, now string) *events.Invalidated {
	return &events.Invalidated{Reason: reason, Cause: events.Cause{Setting: &setting, Old: &old, New: &now}}
}

// modelOf returns the model that would make a summary now: the policy's, or main's if main stood in for it.
func (f *Fold) modelOf(p *summarize.Policy, provider *string) (name, model string) {
	if provider != nil && *provider == mainProvider && p.Provider != mainProvider {
		return mainProvider, f.config.Providers[mainProvider].Model
	}
	if _, ok := f.config.Providers[p.Provider]; !ok {
		return mainProvider, f.config.model(p)
	}
	return p.Provider, f.config.model(p)
}

// promptServes reports whether a prompt's version is still one of the policy's, and returns the present version.
func promptServes(p *summarize.Policy, kind, version string) (now string, ok bool) {
	return promptsOf(p).Serves(kind, version)
}

// promptsOf returns a policy's prompts, which were checked when the configuration was read.
func promptsOf(p *summarize.Policy) llm.Prompts {
	prompts, err := llm.NewPrompts(p.Prompts)
	if err != nil {
		return llm.Prompts{}
	}
	return prompts
}

// modelFits reports whether a job's model and prompt still match its policy.
func (f *Fold) modelFits(p *summarize.Policy, job *events.Started) bool {
	if job.Model != nil && p.Stale("model") && f.config.model(p) != *job.Model {
		return false
	}
	if job.PromptVersion == nil || !p.Stale("prompt") {
		return true
	}
	_, ok := promptServes(p, job.Kind, *job.PromptVersion)
	return ok
}
