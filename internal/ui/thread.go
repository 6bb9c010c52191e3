package ui

import (
	"context"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"precis/api"
	"precis/internal/audit"
	"precis/internal/service"
	"precis/internal/thread"
	"precis/internal/timeline"
	"precis/summarize"
)

const (
	// shownEntries is how many entries of a story a page has.
	shownEntries = 200
	// shownText is how many bytes of a prompt's texts a page has: 100,000 tokens and more. shortText is the beginning of what comes behind them.
	shownText, shortText = 500_000, 200
)

// threadBody is a thread's story.
type threadBody struct {
	*timeline.View
	At      string
	Earlier string // the address of earlier entries; empty: there are none
	Latest  string // that of the latest ones; empty on them
	Chosen  string // a summary
}

// unnamed returns a story without the name of a parent that the viewer may not see. The story is kept for others, too.
func unnamed(s *audit.Story, v *Viewer) *audit.Story {
	at := slices.IndexFunc(s.Entries, func(e *audit.Entry) bool { return e.Forks != "" && !v.Covers(e.Forks) })
	if at < 0 {
		return s
	}
	own := *s
	own.Entries = slices.Clone(s.Entries)
	for i, e := range own.Entries {
		if e.Forks != "" && !v.Covers(e.Forks) {
			copied := *e
			copied.Forks, own.Entries[i] = "", &copied
		}
	}
	return &own
}

func (u *UI) thread(r *http.Request, v *Viewer, h *thread.Header, partition int) (any, error) {
	in := r.URL.Query()
	at, find := in.Get("at"), in.Get("find")
	story, err := u.sketched(r, h, partition)
	if story == nil && err == nil {
		story, err = u.tell(r.Context(), h, at)
	}
	if err != nil {
		return nil, err
	}
	shows := u.shownOptions(r)
	before := shows.Before
	b := &threadBody{At: at, Chosen: shows.Summary}
	b.View = timeline.New(unnamed(story, v), shows)
	to := func(before int) string {
		q := url.Values{}
		for name, value := range map[string]string{"at": at, "find": find} {
			if value != "" {
				q.Set(name, value)
			}
		}
		if before > 0 {
			q.Set("before", strconv.Itoa(before))
		}
		return addressOf(h.Thread, "") + "?" + q.Encode()
	}
	if b.First > 0 {
		b.Earlier = to(b.First)
	}
	if before > 0 {
		b.Latest = to(0)
	}
	return b, nil
}

// shownOptions say what of a story a request shows.
func (u *UI) shownOptions(r *http.Request) timeline.Options {
	in := r.URL.Query()
	before, _ := strconv.Atoi(in.Get("before")) // anything but a number counts as 0
	return timeline.Options{Contents: u.Contents, Last: shownEntries, Before: before, Find: in.Get("find"), Summary: in.Get("summary")}
}

// addressOf is that of a thread's page.
func addressOf(name, tab string) string { return Path + "threads/" + url.PathEscape(name) + tab }

// promptBody is a thread's prompt.
type promptBody struct {
	Thread  string
	At      string
	Format  string
	Limit   string
	Formats []string
	Due     string // what starts the next compaction
	shown
}

// shown is a prompt as a page has it.
type shown struct {
	Reply    api.ContextReply
	Messages []promptMessage
	Parts    []part
	Bar      template.HTML
	Whole    int64 // tokens of all messages
	Contents bool
}

// promptMessage is a message of a prompt, and what it is made of.
type promptMessage struct {
	timeline.Said
	Source   api.Source
	Known    bool // what it is made of is known
	Kind     string
	Contents bool
}

func (u *UI) prompt(r *http.Request, _ *Viewer, h *thread.Header, partition int) (_ any, err error) {
	in := r.URL.Query()
	b := &promptBody{Thread: h.Thread, At: in.Get("at"), Format: in.Get("format"), Limit: in.Get("max_tokens"), Formats: []string{
		api.FormatMessages, api.FormatOpenAI, api.FormatResponses, api.FormatAnthropic, api.FormatGemini,
	}}
	if b.Format == "" {
		b.Format = api.FormatMessages
	}
	req := api.ContextRequest{Format: b.Format, Explain: true}
	if b.Limit != "" {
		if req.MaxTokens, err = strconv.Atoi(b.Limit); err != nil || req.MaxTokens < 0 {
			return nil, &failure{http.StatusBadRequest, "The limit is a number of tokens; none, or 0, is no limit."}
		}
	}
	if !slices.Contains(b.Formats, b.Format) {
		return nil, &failure{http.StatusBadRequest, "There is no such format."}
	}
	var reply api.ContextReply
	whole, policies := h.Tokens, u.Backend.Config().Policies
	if b.At == "" {
		reply, err = u.promptNow(r.Context(), h.Thread, partition, req)
	} else {
		reply, whole, policies, err = u.promptAt(r.Context(), h, b.At, req)
	}
	if err != nil {
		return nil, err
	}
	for _, p := range policies {
		if e := reply.Explain; e != nil && e.Compaction.Policy == p.Name {
			b.Due = due(p.Compaction.Trigger)
		}
	}
	b.shown = u.shownOf(reply, whole)
	return b, nil
}

// promptNow is what an agent would get. Unlike an agent's request it has nothing made again, and is not counted.
func (u *UI) promptNow(ctx context.Context, name string, partition int, req api.ContextRequest) (api.ContextReply, error) {
	snapshot := u.Backend.Snapshot(partition)
	defer snapshot.Close()
	return service.ReadContext(ctx, service.Reading{
		View: snapshot.View, Policies: u.Backend.Config().Policies, Now: u.Backend.Now(), Log: u.log(),
	}, name, req)
}

// due says what starts a compaction, in words; empty: nothing by itself.
func due(c summarize.Condition) string {
	join := func(list []summarize.Condition, by string) string {
		texts := make([]string, 0, len(list))
		for _, c := range list {
			text := due(c)
			if len(list) > 1 && len(c.Any)+len(c.All) > 1 {
				text = "(" + text + ")"
			}
			texts = append(texts, text)
		}
		return strings.Join(texts, by)
	}
	switch {
	case len(c.Any) > 0:
		return join(c.Any, " or ")
	case len(c.All) > 0:
		return join(c.All, " and ")
	case c.Tokens > 0:
		return timeline.Plural(c.Tokens, "token", "tokens")
	case c.Messages > 0:
		return timeline.Plural(c.Messages, "message", "messages")
	case c.Fraction > 0:
		return strconv.FormatFloat(100*c.Fraction, 'g', 4, 64) + " % of the window"
	case c.Idle > 0:
		return c.Idle.String() + " without an event"
	}
	return ""
}

// promptAt is what an agent would have got at a moment, and the tokens of all messages and the policies then.
func (u *UI) promptAt(ctx context.Context, h *thread.Header, at string, req api.ContextRequest) (reply api.ContextReply, whole int64, policies []summarize.Policy, err error) {
	m, err := moment(at)
	if err != nil {
		return reply, 0, nil, err
	}
	if h.Events > maxStory {
		return reply, 0, nil, &failure{http.StatusUnprocessableEntity, "The thread has more events than a page folds. The command does: processor audit " + strconv.Quote(h.Thread) + " --at MOMENT"}
	}
	done, err := u.place(&ctx)
	if err != nil {
		return reply, 0, nil, err
	}
	defer done()
	scratch, err := scratchStore()
	if err != nil {
		return reply, 0, nil, err
	}
	defer scratch.Close()
	story, err := audit.Tell(ctx, u.folding(scratch, h.Thread), h.Thread, m)
	if err != nil {
		return reply, 0, nil, toldWrong(err)
	}
	reply, err = u.read(ctx, scratch, story.Partition, story.Policies, story.Until, h.Thread, req)
	return reply, story.Counters.TokensTotal, story.Policies, err
}

func (u *UI) shownOf(reply api.ContextReply, whole int64) shown {
	s := shown{Reply: reply, Whole: whole, Contents: u.Contents}
	said := timeline.SaidIn(reply)
	system, left := len(said)-len(reply.Sources), shownText
	for i, m := range said {
		if len(m.Text) > max(left, shortText) {
			n := max(left, shortText)
			for n > 0 && !utf8.RuneStart(m.Text[n]) {
				n--
			}
			m.Text = m.Text[:n] + "\n… " + timeline.Plural(len(m.Text)-n, "more byte", "more bytes") + ": processor context"
		}
		left = max(0, left-len(m.Text))
		next := promptMessage{Said: m, Contents: u.Contents, Kind: "message"}
		switch {
		case i >= system && system >= 0:
			next.Source, next.Known = reply.Sources[i-system], true
		case reply.SystemSource != nil:
			next.Source, next.Known = *reply.SystemSource, true
		}
		if len(next.Source.SummaryIDs) > 0 {
			next.Kind = "summary"
		}
		s.Messages = append(s.Messages, next)
	}
	if e := reply.Explain; e != nil {
		s.Parts = []part{
			{"System", "system and developer messages", e.Tokens.System}, {"Compaction", "the summary of older messages", e.Tokens.Compaction},
			{"Messages", "what users and the assistant say, and its calls", e.Tokens.Messages}, {"Outputs", "tool results that stand whole, or as a mark", e.Tokens.Outputs},
			{"Summaries", "tool results that stand as their summary", e.Tokens.Summaries}, {"Frame", "what a provider adds", e.Tokens.Frame},
		}
		text := "Tokens of the prompt"
		for _, p := range s.Parts {
			text += ", " + p.Name + " " + strconv.Itoa(p.Tokens)
		}
		s.Bar = share(text, s.Parts)
	}
	return s
}

// compareBody is a thread's prompt beside that under another policy.
type compareBody struct {
	Thread   string
	Policies []string
	Policy   string
	Fields   []field
	Is       shown
	Would    *shown // nil: not asked for yet
	WhatIf   *audit.WhatIf
	Changed  bool
}

// field is a setting that can be tried.
type field struct {
	Name, Label, Hint string
	Value             string
	Set               func(p *summarize.Policy, n int)
}

// fieldsOf are the settings of a policy that change prompts most.
func fieldsOf(p *summarize.Policy) []field {
	tokens := ""
	for _, t := range slices.Concat(p.Compaction.Trigger.Any, []summarize.Condition{p.Compaction.Trigger}) {
		if t.Tokens > 0 {
			tokens = strconv.Itoa(t.Tokens)
		}
	}
	return []field{
		{"over_chars", "Summarize outputs over", "characters; 0: never", strconv.Itoa(p.ToolOutput.OverChars), func(p *summarize.Policy, n int) { p.ToolOutput.OverChars = n }},
		{"turns", "Outputs stand whole for", "turns of the assistant", strconv.Itoa(p.Context.KeepOutputs.Turns), func(p *summarize.Policy, n int) { p.Context.KeepOutputs.Turns = n }},
		{"tokens", "Compact over", "tokens", tokens, func(p *summarize.Policy, n int) { p.Compaction.Trigger = summarize.Condition{Tokens: n} }},
		{"keep", "A compaction keeps the last", "messages", strconv.Itoa(p.Compaction.Keep.Messages), func(p *summarize.Policy, n int) { p.Compaction.Keep.Messages, p.Compaction.Keep.Tokens = n, 0 }},
	}
}

func (u *UI) compare(r *http.Request, _ *Viewer, h *thread.Header, partition int) (any, error) {
	config := u.Backend.Config()
	own, _ := summarize.Resolve(config.Policies, h.Policy, h.FirstAgentID, h.Thread)
	in := r.URL.Query()
	b := &compareBody{Thread: h.Thread, Policy: own.Name}
	base := *own
	for _, p := range config.Policies {
		b.Policies = append(b.Policies, p.Name)
		if p.Name == in.Get("policy") {
			base, b.Policy = p, p.Name
		}
	}
	tried := base
	b.Fields = fieldsOf(&base)
	for i := range b.Fields {
		f := &b.Fields[i]
		text := in.Get(f.Name)
		if text == "" || text == f.Value {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return nil, &failure{http.StatusBadRequest, f.Label + ": give a number of " + f.Hint + "."}
		}
		f.Value = text
		f.Set(&tried, n)
	}
	now, err := u.promptNow(r.Context(), h.Thread, partition, api.ContextRequest{Format: api.FormatMessages, Explain: true})
	if err != nil {
		return nil, err
	}
	b.Is = u.shownOf(now, h.Tokens)
	if in.Has("policy") {
		if err := u.imagine(r.Context(), h, tried, b); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// imagine folds a thread under another policy.
func (u *UI) imagine(ctx context.Context, h *thread.Header, p summarize.Policy, b *compareBody) error {
	if h.Events > maxStory {
		return &failure{http.StatusUnprocessableEntity, "The thread has more events than a page folds. The command does: processor replay --policy FILE --thread " + strconv.Quote(h.Thread)}
	}
	p.Match = summarize.Match{}
	config, err := u.Backend.Imagined([]summarize.Policy{p})
	if err != nil {
		return &failure{http.StatusBadRequest, sentence(err)}
	}
	done, err := u.place(&ctx)
	if err != nil {
		return err
	}
	defer done()
	was, err := scratchStore()
	if err != nil {
		return err
	}
	defer was.Close()
	would, err := scratchStore()
	if err != nil {
		return err
	}
	defer would.Close()
	if b.WhatIf, err = audit.Imagine(ctx, u.folding(was, h.Thread), would, config); err != nil {
		return toldWrong(err)
	}
	partition, found := -1, (*thread.Header)(nil)
	for id := 0; id < u.Backend.Partitions() && found == nil; id++ {
		if found, err = would.View(id).Header(h.Thread); err != nil {
			return err
		}
		partition = id
	}
	if found == nil {
		return &failure{http.StatusNotFound, "The log holds nothing of the thread."}
	}
	reply, err := u.read(ctx, would, partition, config.Policies, u.Backend.Now(), h.Thread, api.ContextRequest{Format: api.FormatMessages, Explain: true})
	if err != nil {
		return err
	}
	s := u.shownOf(reply, found.Tokens)
	b.Would = &s
	return nil
}

// summary leads to the thread of a summary.
func (u *UI) summary(r *http.Request, v *Viewer) (*page, error) {
	id := r.PathValue("summary")
	var reply map[string]jsontext.Value
	if err := u.ask(r, v, api.SummaryGet, id, api.SummaryRequest{}, &reply); err != nil {
		return nil, err
	}
	var name string
	if raw, ok := reply["thread_id"]; ok {
		name, _ = strconv.Unquote(string(raw))
		if text, err := jsontext.AppendUnquote(nil, raw); err == nil {
			name = string(text)
		}
	}
	if name == "" || !v.Covers(name) {
		return nil, &failure{http.StatusNotFound, "There is no such summary."}
	}
	return &page{To: addressOf(name, "") + "?" + url.Values{"summary": {id}}.Encode() + "#s-" + url.PathEscape(id)}, nil
}
