package fold

import (
	"context"
	"encoding/binary"
	"slices"
	"unicode/utf8"

	"precis/events"
	"precis/internal/content"
	"precis/internal/secrets"
	"precis/internal/thread"
	"precis/summarize"
	"precis/summarize/rules"
)

// output is what a tool output's summary is made from. It is read before anything changes.
type output struct {
	// msg is the message, completed from its call; nil if no summary is to be made.
	msg *events.Message
	// before is what precedes it; not read if the rules do not run.
	before past
	// unread: the summary is on record, and an audit compares everything but the rules' output.
	unread bool
}

// ReadOutput reads what a summary of the event's tool output needs besides the state; nothing if none will be made.
func (s *Step) ReadOutput(ctx context.Context) {
	if s.whole != nil || !s.decides && s.f.Watch == nil {
		return // what follows is known
	}
	ev := s.in.Event
	text, ok := outputText(s.st, ev)
	if !ok || !s.p.Enabled || !s.p.MayTrigger(text.Text()) {
		return
	}
	ordinal, msg := s.st.Header.Ordinals+1, ev.Message
	if msg == nil { // an edit carries no tool name and no arguments
		ordinal = s.st.Message.Ordinal
		msg = got(content.Origin(ctx, s.f.Log, s.st.Message))
	}
	s.output = output{msg: s.called(ctx, ordinal, msg), unread: !s.decides}
	if s.decides {
		s.output.before = s.f.past(ctx, s.st.Header.Thread, ordinal, ev.Edit != nil)
	}
}

// called completes a message from its call.
func (s *Step) called(ctx context.Context, ordinal uint64, m *events.Message) *events.Message {
	return got(content.Called(ctx, s.f.part.View, s.f.Log, s.st.Header.Thread, ordinal, content.Now, m))
}

// outputText returns the content of the event's tool result after the event; false if the event does not set it.
func outputText(st *thread.State, ev *events.Event) (events.Content, bool) {
	switch {
	case ev == nil:
	case ev.Message != nil && ev.Type == events.ToolResult && st.Message == nil:
		for _, held := range slices.Backward(st.Held) {
			if held.Edit.Contents() {
				return held.Edit.Content, !held.Edit.Deleted
			}
		}
		return ev.Message.Content, true
	case ev.Edit != nil && ev.Edit.Contents() && st.Message != nil && st.Message.Tool && !st.EditSeen:
		return ev.Edit.Content, !ev.Edit.Deleted
	}
	return events.Content{}, false
}

// asked reports whether a policy has a tool output summarized in its present state.
func asked(p *summarize.Policy, m *thread.Message) bool {
	if m == nil || m.Deleted {
		return false
	}
	_, ok := p.ToolTrigger(m.Text.Chars, m.Text.Tokens)
	return ok
}

// SummarizeOutput decides the summary of a tool output that is larger than its policy's threshold: by rules, or as the start of a job.
// One that has a summary gets another only if the event made that one stale and the policy recomputes it.
func (s *Step) SummarizeOutput() {
	m := s.st.Message
	if !s.res.Revised || !m.Tool || m.Deleted || s.output.msg == nil {
		return
	}
	trigger, ok := s.p.ToolTrigger(m.Text.Chars, m.Text.Tokens)
	if !ok {
		return
	}
	if s.st.Slot(events.ToolSlot(m.ID)).Holder != "" {
		if !s.invalidates() || s.p.Staleness.Action != events.ActionRegenerate {
			return
		}
		trigger.Reason = events.TriggerRegenerated
	}
	s.decided = append(s.decided, s.outputSummary(m, s.output, s.res.Content.Text(), trigger))
}

// outputSummary decides the summary of a tool output, by rules or as the start of a job. text is its content.
func (s *Step) outputSummary(m *thread.Message, out output, text string, trigger events.Trigger) events.Record {
	slot, ids := events.ToolSlot(m.ID), []string{m.ID}
	if s.p.Mode == summarize.ModeLLM {
		in := MaskedInput(InputOf(s.p, m.ID, out.msg, text), s.f.Mask)
		return s.started(events.KindToolResult, slot, string(in.Recognized()), trigger, ids, []string{}, messagesDigest(m))
	}
	rec := s.byRules(events.KindToolResult, slot, trigger)
	rec.Current = prompted(s.st.Compaction, m)
	rec.SourceMessageIDs, rec.SourceDigest = ids, messagesDigest(m)
	// The output's count in the thread, by the same tokenizer as the summary's.
	rec.TokenCountBefore, rec.CharsBefore = m.Text.Tokens, m.Text.Chars
	s.identify(rec)
	if out.unread {
		return rec
	}
	in := InputOf(s.p, m.ID, out.msg, text)
	in.Earlier, in.Seen = out.before.texts, out.before.seen
	made, method, why := ByRules(MaskedInput(in, s.f.Mask))
	rec.Method, rec.FallbackReason, rec.ToolSummary = method, why, s.f.maskTool(&made.Tool)
	s.write(rec, made.Text)
	return rec
}

// InputOf returns the rules' input for a tool output and a content of it, without what precedes it.
func InputOf(p *summarize.Policy, id string, m *events.Message, text string) rules.Input {
	own, reader := p.ToolNamed(m.ToolName), ""
	switch p.Context.Retrieval {
	case summarize.RetrievalMCP:
		reader = "read_original" // internal/mcp
	case summarize.RetrievalNone:
		id = ""
	}
	return rules.Input{
		Category: rules.Category(own.Category), Keep: own.Keep, Drop: own.Drop,
		MessageID: id, Reader: reader, ToolName: m.ToolName, Arguments: m.Arguments, Content: text, IsError: m.IsError, ExitCode: m.ExitCode,
		Relevant: m.RelevantRange, MaxChars: p.ToolOutput.MaxSummaryChars.Chars(utf8.RuneCountInString(text)),
		PreserveErrors: p.ToolOutput.PreserveErrors, IncludeMetadata: p.ToolOutput.IncludeMetadata,
	}
}

// readOutput reads an earlier tool output; its message is nil if the policy wants no summary of it.
func (s *Step) readOutput(ctx context.Context, m *thread.Message) (out output) {
	if !asked(s.p, m) {
		return out
	}
	if out.msg = got(content.Current(ctx, s.f.Log, m)); out.msg.Content.Text() == "" {
		return out
	}
	out.msg = s.called(ctx, m.Ordinal, out.msg)
	out.before = s.f.past(ctx, s.st.Header.Thread, m.Ordinal, true)
	return out
}

// summarizeEarlier makes the summary of an earlier tool output from what readOutput returned. If the log no longer holds the output,
// it makes none and stops waiting for it.
func (s *Step) summarizeEarlier(m *thread.Message, out output, trigger events.Trigger) {
	if out.msg == nil {
		return
	}
	if out.msg.Content.Text() == "" {
		s.giveUp(m)
		return
	}
	s.slot(events.ToolSlot(m.ID))
	s.loadOver(m)
	s.about(m, func() { s.emit(s.outputSummary(m, out, out.msg.Content.Text(), trigger)) })
}

// about does something with another message than the event's.
func (s *Step) about(m *thread.Message, do func()) {
	own := s.st.Message
	s.st.Message = m
	do()
	s.st.Message = own
}

// prompted reports whether prompts use the summary of a message: the message itself if it is pinned, and a compaction may have
// replaced both.
func prompted(c *thread.Compaction, m *thread.Message) bool {
	return m == nil || !m.Pinned && (c == nil || !c.Replaced(m.Ordinal))
}

// MaskedInput returns a tool output and its call without secrets. Earlier messages only weigh it and are not shown.
func MaskedInput(in rules.Input, mask func(string) string) rules.Input {
	in.Content, in.ToolName, in.Arguments = mask(in.Content), mask(in.ToolName), secrets.MaskJSON(in.Arguments, mask)
	return in
}

// maskTool removes secrets from the structured form of a published summary; nil has none.
func (f *Fold) maskTool(tool *events.ToolSummary) *events.ToolSummary {
	if tool == nil {
		return nil
	}
	mask := func(texts []string) {
		for i, text := range texts {
			texts[i] = f.Mask(text)
		}
	}
	tool.ToolName = f.Mask(tool.ToolName)
	mask(tool.KeyFacts)
	for key, value := range tool.Metadata {
		switch v := value.(type) {
		case string:
			tool.Metadata[key] = f.Mask(v)
		case []string:
			mask(v)
		}
	}
	return tool
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
		call := rules.Input{Category: in.Category, ToolName: in.ToolName}
		category := call.Recognized()
		out = rules.Output{
			Text: rules.HeadTail(in.Content, category, min(in.MaxChars, utf8.RuneCountInString(in.Content)), rules.Original(in.Reader, in.MessageID)),
			Tool: events.ToolSummary{
				ToolName: in.ToolName, Category: string(category), Status: "partial",
				KeyFacts: []string{}, Metadata: map[string]any{},
			},
		}
	}()
	return summarize(in), events.MethodRules, nil
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
