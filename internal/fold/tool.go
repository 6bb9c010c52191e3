package fold

import (
	"context"
	"encoding/binary"
	"math"
	"slices"
	"time"
	"unicode/utf8"

	"precis/events"
	"precis/internal/secrets"
	"precis/internal/thread"
	"precis/state"
	"precis/summarize"
	"precis/summarize/cut"
	"precis/summarize/rules"
)

// toolDraft drafts a tool output's summary by rules. While records are adopted it defers the rules until their output is needed:
// normally the record exists.
func (f *Fold) toolDraft(st *thread.State, in thread.Input, res thread.Result, p *summarize.Policy, fs facts) draft {
	rec := f.toolRecord(st, in, p)
	m, name := *st.Message, st.Header.Thread
	by := rules.Input{
		MessageID: m.ID, ToolName: fs.origin.ToolName, Arguments: fs.origin.Arguments,
		Content: res.Content.Text(), IsError: fs.origin.IsError, ExitCode: fs.origin.ExitCode,
		Relevant: fs.origin.RelevantRange, MaxChars: p.ToolOutput.MaxSummaryChars,
		PreserveErrors: p.ToolOutput.PreserveErrors, IncludeMetadata: p.ToolOutput.IncludeMetadata,
		Earlier: fs.past.texts, Seen: fs.past.seen,
	}
	if !fs.late {
		f.fill(rec, by, in.Measure)
		return draft{created: rec}
	}
	return draft{created: rec, fill: func(ctx context.Context) error {
		before, err := f.past(ctx, name, m.Ordinal, m.Revision > 0 && in.Event.Edit != nil)
		if err != nil {
			return err
		}
		by.Earlier, by.Seen = before.texts, before.seen
		f.fill(rec, by, in.Measure)
		return nil
	}}
}

// fill writes the rules' output for a tool output into its record.
func (f *Fold) fill(rec *events.Summary, in rules.Input, measure func(string) thread.Size) {
	out, method, why := ByRules(MaskedInput(in, f.secrets))
	out.Text, out.Tool = f.secrets(out.Text), *f.maskTool(&out.Tool)
	after := measure(out.Text)
	rec.Content, rec.ToolSummary = out.Text, &out.Tool
	rec.Method, rec.FallbackReason = method, why
	rec.TokenCountAfter, rec.CharsAfter = after.Tokens, after.Chars
}

// toolRecord returns the record without the rules' output.
func (f *Fold) toolRecord(st *thread.State, in thread.Input, p *summarize.Policy) *events.Summary {
	m, version := st.Message, rules.Version
	asOf := st.Header.LastMessageID
	rec := &events.Summary{
		AsOfMessageID: &asOf,
		Kind:          events.KindToolResult, Slot: toolSlot(m.ID), Current: prompted(st),
		SourceMessageIDs: []string{m.ID}, SourceSummaryIDs: []string{},
		SourceDigest: sourceDigest(m),
		// The output's count in the thread, by the same tokenizer as the summary's.
		TokenCountBefore: m.Text.Tokens, Tokenizer: p.Tokenizer, CharsBefore: m.Text.Chars,
		RulesVersion: &version,
		Policy:       p.Name, PolicyFingerprint: summarize.KindFingerprint(*p, events.KindToolResult),
		Cost:      events.Cost{AmountMicroUSD: new(int64), Currency: "USD"},
		CreatedAt: in.Time,
	}
	if p.Staleness.TTL > 0 && p.Stale("ttl") {
		rec.ExpiresAt = expiry(in.Time, p.Staleness.TTL)
	}
	slot := st.Slot(rec.Slot)
	rec.Version, rec.Replaces = slot.Version+1, holderOf(slot)
	rec.ID = summarize.Identity{
		Thread: st.Header.Thread, Kind: rec.Kind, Slot: rec.Slot, Version: rec.Version,
		SourceDigest: rec.SourceDigest, PolicyFingerprint: rec.PolicyFingerprint, Method: rules.Version,
	}.ID()
	return rec
}

// toolJob returns the job of a tool output's summary by a model.
func (f *Fold) toolJob(st *thread.State, res thread.Result, p *summarize.Policy, fs facts) *thread.Job {
	m, model := st.Message, f.config.model(p)
	category := CategoryOf(fs.origin.ToolName, fs.origin.Arguments, res.Content.Text(), f.secrets)
	prompt := promptVersion(p, events.KindToolResult, string(category))
	job := &thread.Job{AsOf: st.Header.LastMessageID, Started: events.Started{
		Kind: events.KindToolResult, Slot: toolSlot(m.ID), Version: st.Slot(toolSlot(m.ID)).Version + 1,
		SourceMessageIDs: []string{m.ID}, SourceSummaryIDs: []string{}, SourceDigest: sourceDigest(m),
		Policy: p.Name, PolicyFingerprint: summarize.KindFingerprint(*p, events.KindToolResult),
		Model: &model, PromptVersion: &prompt,
	}}
	job.Started.SummaryID = jobID(st, job, prompt, model)
	return job
}

// CategoryOf returns the category of a tool output without secrets, as its summarizer sees it.
func CategoryOf(tool string, arguments []byte, content string, mask func(string) string) rules.Category {
	in := MaskedInput(rules.Input{ToolName: tool, Arguments: arguments, Content: content}, mask)
	return rules.CategoryOf(in.ToolName, in.Arguments, in.Content)
}

// promptVersion returns the version of a policy's prompt for a kind and category.
func promptVersion(p *summarize.Policy, kind, category string) string {
	return promptsOf(p).For(kind, category).Version()
}

func sourceDigest(m *thread.Message) string {
	return summarize.SourceDigest([]summarize.Source{{ID: m.ID, Revision: m.Revision, Digest: m.Digest}})
}

func holderOf(slot *thread.Slot) *string {
	if slot.Holder == "" {
		return nil
	}
	holder := slot.Holder
	return &holder
}

// MaskedInput returns a tool output and its call without secrets. Earlier messages only weigh it and are not shown.
func MaskedInput(in rules.Input, mask func(string) string) rules.Input {
	in.Content, in.ToolName, in.Arguments = mask(in.Content), mask(in.ToolName), secrets.MaskJSON(in.Arguments, mask)
	return in
}

// maskTool removes secrets from the structured form of a published summary.
func (f *Fold) maskTool(tool *events.ToolSummary) *events.ToolSummary {
	if tool == nil {
		return nil
	}
	tool.ToolName = f.secrets(tool.ToolName)
	for i, fact := range tool.KeyFacts {
		tool.KeyFacts[i] = f.secrets(fact)
	}
	for key, value := range tool.Metadata {
		tool.Metadata[key] = f.maskValue(value)
	}
	return tool
}

func (f *Fold) maskValue(value any) any {
	switch v := value.(type) {
	case string:
		return f.secrets(v)
	case []string:
		for i, text := range v {
			v[i] = f.secrets(text)
		}
	}
	return value
}

// ByRules runs the rules and falls back to truncation if they panic: otherwise one tool output could end the processor, at
// every start anew, since its event or its job is still there.
func ByRules(in rules.Input) (out rules.Output, method string, why *string) {
	return guarded(in, rules.ToolOutput)
}

func guarded(in rules.Input, summarize func(rules.Input) rules.Output) (out rules.Output, method string, why *string) {
	defer func() {
		if recover() == nil {
			return
		}
		reason := "rules_panicked"
		method, why = events.MethodTruncation, &reason
		category := rules.CategoryOf(in.ToolName, nil, "")
		out = rules.Output{
			Text: rules.HeadTail(in.Content, category, min(in.MaxChars, utf8.RuneCountInString(in.Content)), in.MessageID),
			Tool: events.ToolSummary{
				ToolName: in.ToolName, Category: string(category), Status: "partial",
				KeyFacts: []string{}, Metadata: map[string]any{},
			},
		}
	}()
	return summarize(in), events.MethodRules, nil
}

func expiry(at time.Time, ttl time.Duration) *time.Time {
	t := at.Add(ttl)
	return &t
}

// runes counts code points, eight bytes at a time while they are ASCII.
func runes(text string) int64 {
	const wide = 0x8080808080808080
	i := 0
	for i+8 <= len(text) && binary.LittleEndian.Uint64([]byte(text[i:i+8]))&wide == 0 {
		i += 8
	}
	return int64(i + utf8.RuneCountInString(text[i:]))
}

// prompted reports whether prompts use the summary of the event's message: a compaction may have replaced the message.
func prompted(st *thread.State) bool {
	if st.Message != nil && st.Message.Pinned {
		return false // the message itself stands in prompts
	}
	return st.Compaction == nil || st.Message == nil || !st.Compaction.Replaced(st.Message.Ordinal)
}

// calledAtOnce is how many messages the search for a call reads at a time: the first batch nearly always has it.
const calledAtOnce = 16

// Now stands for the current state, where an EVENTS sequence is expected.
const Now = math.MaxUint64

// Called completes a tool result from its call. In OpenAI's message format a result has only the id of its call. Its tool and
// arguments are then those of the last turn before it that makes this call, as first published, within as many messages as a cut
// waits for a result. If the turn makes the call several times, as clients do that restart their numbering in each message,
// results match calls in order. Calls of an earlier turn without a result count as abandoned. A message that was deleted at or
// before the event at has no calls.
func Called(ctx context.Context, view state.View, log Log, name string, ordinal, at uint64, m *events.Message) (*events.Message, error) {
	if m.ToolName != "" || m.ToolCallID == "" {
		return m, nil
	}
	t := turn{id: m.ToolCallID}
	for to, least := ordinal, max(ordinal, cut.Patience+1)-cut.Patience; to > least && !t.whole; {
		from := max(to, least+calledAtOnce) - calledAtOnce
		rows, err := view.Messages(name, from, to)
		if err != nil {
			return nil, err
		}
		for _, row := range slices.Backward(rows) {
			t.before(row)
		}
		to = from
	}
	row, nth := t.caller()
	if row == nil || row.Deleted && row.Seq <= at {
		return m, nil
	}
	return calledBy(ctx, log, row, nth, m)
}

// turn collects the calls of one id before a result, reading backwards.
type turn struct {
	id       string
	answered int               // results between the calls and the result in question
	callers  []*thread.Message // one entry per call, last call first
	whole    bool              // earlier messages do not belong to the turn
}

// before adds the next earlier message. The messages of a turn that have calls are adjacent.
func (t *turn) before(row *thread.Message) {
	if t.whole = t.whole || len(t.callers) > 0 && len(row.CallIDs) == 0; t.whole {
		return
	}
	for _, id := range row.CallIDs {
		if id == t.id {
			t.callers = append(t.callers, row)
		}
	}
	if row.CallID == t.id && len(t.callers) == 0 {
		t.answered++
	}
}

// caller returns the message that makes the first call without a result, or else the last call, and which of its calls with that
// id it is; nil if there is none.
func (t *turn) caller() (row *thread.Message, nth int) {
	if len(t.callers) == 0 {
		return nil, 0
	}
	slices.Reverse(t.callers)
	at := min(t.answered, len(t.callers)-1)
	return t.callers[at], at - slices.Index(t.callers, t.callers[at])
}

// calledBy returns m with the tool and arguments of the nth call of its id in a message.
func calledBy(ctx context.Context, log Log, row *thread.Message, nth int, m *events.Message) (*events.Message, error) {
	ev, err := eventOf(ctx, log, row.FirstSeq)
	if err != nil || ev == nil {
		return m, err
	}
	told, call := *m, nthCall(ev.Message.ToolCalls, m.ToolCallID, nth)
	if told.ToolName = call.Name; len(m.Arguments) == 0 {
		told.Arguments = call.Arguments
	}
	return &told, nil
}

// nthCall returns the nth call with an id.
func nthCall(calls []events.ToolCall, id string, nth int) (call events.ToolCall) {
	for _, c := range calls {
		if c.ID != id {
			continue
		}
		if call = c; nth == 0 {
			break
		}
		nth--
	}
	return call
}
