package fold

import (
	"context"
	"errors"
	"slices"

	"precis/events"
	"precis/internal/thread"
	"precis/summarize"
)

// A summary that became stale by its policy, prompt, model or age waits until its thread is used: the thread's next event or a
// request recomputes it. Unused threads cost nothing.

// waive gives up waiting summaries that no longer have a reason to be recomputed. It depends only on the thread's rows and so
// needs no record: a recovery does the same at the same event. It returns what the event recomputes.
func (f *Fold) waive(st *thread.State, p *summarize.Policy) (waiting []string, err error) {
	if st.Header.Renewals == 0 || st.Compaction == nil || !p.Enabled {
		return nil, nil
	}
	ids, err := f.part.Renewals(st.Header.Thread, renewAtOnce)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if err := f.part.LoadSummary(st, id); err != nil {
			return nil, err
		}
		sum := st.Summary(id)
		if sum.Renew && sum.Kind == events.KindHistory && !tellsHistory(p) {
			if err := f.waiveOne(st, sum, nil); err != nil {
				return nil, err
			}
		}
		if !sum.Renew || sum.Kind != events.KindToolResult {
			continue
		}
		m, err := f.part.Message(st.Header.Thread, sum.Sources[0])
		if err != nil {
			return nil, err
		}
		if m = asItIs(st, m); !asked(p, m) {
			if err := f.waiveOne(st, sum, m); err != nil {
				return nil, err
			}
		}
	}
	return ids, nil
}

// asked reports whether a policy has a tool output summarized in its present state.
func asked(p *summarize.Policy, m *thread.Message) bool {
	if m == nil || m.Deleted {
		return false
	}
	_, ok := p.ToolTrigger(m.Text.Chars, m.Text.Tokens)
	return ok
}

// renew recomputes those of the given summaries that still wait. It reads the log and may fail; nothing is saved then.
func (w *compaction) renew(ctx context.Context, waiting []string) error {
	if !w.p.Enabled {
		return nil
	}
	for _, id := range waiting {
		sum, err := w.summary(id)
		if err != nil {
			return err
		}
		if !sum.Renew {
			continue // recomputed or given up by the event
		}
		if err := w.renewOne(ctx, sum); err != nil {
			return err
		}
	}
	return nil
}

func (w *compaction) renewOne(ctx context.Context, sum *thread.Summary) error {
	trigger := events.Trigger{Reason: events.TriggerRegenerated}
	switch sum.Kind {
	case events.KindCompaction:
		return w.remake(ctx, sum, trigger, false)
	case events.KindHistory:
		if !tellsHistory(w.p) || historyDue(w.st, w.p) {
			return nil // not wanted, or the event makes the next one
		}
		return w.f.history(ctx, w.st, w.d, w.p, trigger)
	case events.KindToolResult:
		m, err := w.f.part.Message(w.st.Header.Thread, sum.Sources[0])
		if err != nil {
			return err
		}
		return w.f.toolAgain(ctx, w.st, asItIs(w.st, m), w.d, w.p, trigger)
	}
	return nil
}

// waits returns the compactions of the thread that wait to be recomputed, as many as a step takes.
func (w *compaction) waits() ([]string, error) {
	if w.st.Header.RenewCompactions == 0 {
		return nil, nil
	}
	return w.f.part.Renewals(w.st.Header.Thread, int(min(w.st.Header.RenewCompactions, renewAsked))) // compactions rank first
}

// replacedBy returns the summaries that now hold the slots of a node's sources. own: until the event made the node stale all of
// them held their slots, and those that no longer do are loaded.
func (w *compaction) replacedBy(ids []string, own bool) ([]string, error) {
	ids = slices.Clone(ids)
	for i, id := range ids {
		if own && w.st.Summary(id) == nil {
			continue
		}
		slot, err := w.slotOf(id)
		if err != nil {
			return nil, err
		}
		if ids[i], err = w.f.part.Holder(w.st, slot); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

func (w *compaction) slotOf(id string) (string, error) {
	if p, ok := w.f.ledgers.Peek(id); ok {
		return p.slot, nil
	}
	sum, err := w.summary(id)
	if err != nil {
		return "", err
	}
	return sum.Slot, nil
}

// fresh recomputes the stale sources of the next compaction: what a policy trims stays stale, and a new summary must not be made
// from it. The thread's header counts its stale summaries: if all of them are loaded, tops that are not loaded need no check.
// done is false if the event has reached its limit: the next event continues, and nothing is made from the stale ones before.
func (w *compaction) fresh(ctx context.Context, why reason) (done bool, err error) {
	for _, top := range slices.Clone(w.st.Compaction.Tops) {
		if w.st.Summary(top.Summary) == nil && w.st.StaleLoaded() {
			continue
		}
		if done, err := w.freshen(ctx, top.Summary, why); err != nil || !done {
			w.unfinished = err == nil
			return false, err
		}
	}
	return true, nil
}

// freshen recomputes a stale leaf or node, after its sources.
func (w *compaction) freshen(ctx context.Context, id string, why reason) (done bool, err error) {
	sum, err := w.summary(id)
	if err != nil {
		return false, err
	}
	if holder := w.st.Slot(sum.Slot).Holder; holder != id {
		if sum, err = w.summary(holder); err != nil {
			return false, err
		}
	}
	if sum.Status == thread.Active {
		return true, nil
	}
	for _, child := range sum.SourceSums {
		if done, err := w.freshen(ctx, child, why); err != nil || !done {
			return false, err
		}
	}
	if w.freshened >= renewAtOnce && !w.patient || w.freshened >= renewAsked {
		return false, nil
	}
	trigger, ok := why()
	if !ok {
		return false, nil
	}
	w.freshened++
	return true, w.remake(ctx, sum, trigger, false)
}

// toolAgain makes the summary of an earlier tool output. If the log no longer holds the output, it makes none and stops waiting
// for it.
func (f *Fold) toolAgain(ctx context.Context, st *thread.State, m *thread.Message, d Delivery, p *summarize.Policy, trigger events.Trigger) error {
	src, err := f.readTool(ctx, st, m, p)
	if err != nil {
		return err
	}
	return f.toolFrom(st, m, src, d, p, trigger)
}

// toolSource is what a tool output's summary is recomputed from; the zero value if the policy wants none.
type toolSource struct {
	msg    *events.Message
	before past
}

// readTool reads the log and changes nothing.
func (f *Fold) readTool(ctx context.Context, st *thread.State, m *thread.Message, p *summarize.Policy) (src toolSource, err error) {
	if !asked(p, m) {
		return src, nil
	}
	if src.msg, err = CurrentMessage(ctx, f.log, m); err != nil || src.msg.Content.Text() == "" {
		return src, err
	}
	if src.msg, err = Called(ctx, f.part.View, f.log, st.Header.Thread, m.Ordinal, Now, src.msg); err != nil {
		return src, err
	}
	src.before, err = f.past(ctx, st.Header.Thread, m.Ordinal, true)
	return src, err
}

// toolFrom makes the summary from what readTool returned.
func (f *Fold) toolFrom(st *thread.State, m *thread.Message, src toolSource, d Delivery, p *summarize.Policy, trigger events.Trigger) error {
	if src.msg == nil {
		return nil
	}
	if src.msg.Content.Text() == "" {
		return f.giveUp(st, m)
	}
	if err := errors.Join(f.part.LoadSlot(st, toolSlot(m.ID)), f.loadOver(st, m)); err != nil {
		return err
	}
	in := thread.Input{Seq: d.Seq, Time: d.Time}
	var err error
	if in.Measure, err = f.measure(p.Tokenizer); err != nil {
		return err
	}
	own := st.Message
	st.Message = m
	dr := f.toolDecision(st, in, thread.Result{Content: src.msg.Content}, p, facts{origin: src.msg, past: src.before}, trigger)
	f.emit(st, dr, d)
	st.Message = own
	return nil
}

// giveUp stops waiting for the summary of a tool output that retention has removed: otherwise it would delay what can be
// recomputed. It makes no record, since none could be proved: the source is not in the log.
func (f *Fold) giveUp(st *thread.State, m *thread.Message) error {
	if err := f.part.LoadSlot(st, toolSlot(m.ID)); err != nil {
		return err
	}
	sum := st.Summary(st.Slot(toolSlot(m.ID)).Holder)
	if sum == nil || !sum.Renew {
		return nil
	}
	if err := f.waiveOne(st, sum, m); err != nil {
		return err
	}
	f.givenUp()
	f.logger.Info().Str("thread_id", st.Header.Thread).Str("summary_id", sum.ID).
		Msg("a stale summary is not recomputed: the log no longer holds its source")
	return nil
}

// toolDecision drafts a tool output's summary, by rules or as a job.
func (f *Fold) toolDecision(st *thread.State, in thread.Input, res thread.Result, p *summarize.Policy, fs facts, trigger events.Trigger) draft {
	_, unresolved := f.policy(st, nil)
	if p.Mode == summarize.ModeLLM {
		job := f.toolJob(st, res, p, fs)
		job.Started.Trigger, job.Unresolved = trigger, unresolved
		return draft{started: job}
	}
	dr := f.toolDraft(st, in, res, p, fs)
	dr.created.Trigger = trigger
	if unresolved != "" {
		dr.created.PolicyUnresolved = &unresolved
	}
	return dr
}

// again recomputes what an edit made stale: the leaf that contains the message, the nodes above it and the current summary.
// Other leaves stay the same, byte for byte.
func (w *compaction) again(ctx context.Context, drafts []draft) error {
	stale := staleCompactions(w.st, drafts)
	if len(stale) == 0 || !w.p.Enabled {
		return nil
	}
	trigger := events.Trigger{Reason: events.TriggerRegenerated}
	for _, sum := range stale {
		if err := w.remake(ctx, sum, trigger, true); err != nil {
			return err
		}
	}
	return nil
}

// remake recomputes a stale summary; sources must be recomputed before what was made from them. own: the event itself made it
// stale.
func (w *compaction) remake(ctx context.Context, sum *thread.Summary, trigger events.Trigger, own bool) error {
	var err error
	switch {
	case sum.Slot == events.SlotCurrent:
		return w.current(ctx, trigger)
	case len(sum.SourceSums) > 0:
		var children []string
		if children, err = w.replacedBy(sum.SourceSums, own); err != nil {
			return err
		}
		err = w.node(ctx, sum.Slot, sum.Level, children, trigger)
	default:
		var rows []*thread.Message
		if rows, err = w.f.part.MessagesOf(w.st.Header.Thread, sum.Sources); err != nil {
			return err
		}
		rows = w.inside(rows)
		var before int64
		if before, err = w.weigh(rows); err != nil {
			return err
		}
		err = w.leaf(ctx, sum.Slot, rows, max(before, 1), trigger)
	}
	return err
}

// live returns the rows as the event leaves them, without deleted messages.
func (w *compaction) live(rows []*thread.Message) []*thread.Message {
	var list []*thread.Message
	for _, m := range rows {
		if m = asItIs(w.st, m); !m.Deleted {
			list = append(list, m)
		}
	}
	return list
}

// weigh returns the tokens that messages take now in a prompt without compaction.
func (w *compaction) weigh(rows []*thread.Message) (tokens int64, err error) {
	for _, m := range rows {
		if m.Tool {
			if err := w.f.part.LoadSlot(w.st, toolSlot(m.ID)); err != nil {
				return 0, err
			}
		}
		tokens += weightOf(w.st, m)
	}
	return tokens, nil
}

// staleCompactions returns the compactions that the drafts make stale and the policy recomputes, sources before what was made
// from them.
func staleCompactions(st *thread.State, drafts []draft) []*thread.Summary {
	var list []*thread.Summary
	for _, d := range drafts {
		if d.invalidated == nil || d.invalidated.Kind != events.KindCompaction || d.invalidated.Action != events.ActionRegenerate {
			continue
		}
		if sum := st.Summary(d.invalidated.SummaryID); sum != nil && sum.Status == thread.Stale {
			list = append(list, sum)
		}
	}
	slices.SortStableFunc(list, func(a, b *thread.Summary) int { return rank(a) - rank(b) })
	return list
}

func rank(sum *thread.Summary) int {
	if sum.Slot == events.SlotCurrent {
		return 1 << 30
	}
	return sum.Level
}
