package prompt

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"precis/events"
	"precis/internal/race"
	"precis/summarize"
	"precis/summarize/cut"
	"precis/summarize/ledger"
	"precis/summarize/prompt/valid"
	"precis/summarize/tokens"
)

var (
	transcriptsEvery = flag.Int("transcripts.every", 20, "at every how many events of a real thread TestTranscripts makes its prompts; TestNativeTranscripts at a fifth of them")
	transcriptsAll   = flag.Bool("transcripts.all", false, "whether they take all transcripts and five budgets, or one half and three")
)

func dirs() []string {
	if *transcriptsAll {
		return []string{"dev", "dev2"}
	}
	return []string{"dev"}
}

func budgets() []int {
	if *transcriptsAll {
		return []int{300, 1000, 8000, 40000, 0}
	}
	return []int{1000, 8000, 0}
}

// TestTranscripts makes the prompt of every real thread at every 20th event, for three limits and in every
// format, with the thread's tool outputs and older messages summarized as they would be.
func TestTranscripts(t *testing.T) {
	race.Slow(t)
	count, err := tokens.For(tokens.Estimate)
	if err != nil {
		t.Fatal(err)
	}
	made, over, before := 0, 0, map[string]Prompt{}
	for _, th := range transcripts(t, dirs()...) {
		clear(before)
		s := newSession(count)
		for i, m := range staying(th) {
			s.add(m)
			if i%*transcriptsEvery != *transcriptsEvery-1 && i != len(th) {
				continue
			}
			for _, limit := range budgets() {
				for _, format := range formats {
					p := s.prompt(t, format, limit)
					made++
					if !p.WithinBudget {
						over++
					}
					if limit == 0 {
						s.prefixStands(t, format, before[format], p)
						before[format] = p
					}
				}
			}
			s.compacted = false
		}
	}
	t.Logf("%d prompts, %d where what must stay does not fit", made, over)
}

// staying is a thread that begins with a system message, and in which some messages are pinned: few real
// transcripts have any.
func staying(th []*events.Message) []*events.Message {
	list := []*events.Message{{MessageID: "rules", Role: events.RoleSystem, Content: events.TextContent("Never touch <generated> files.\n— the owner")}}
	for i, m := range th {
		own := *m
		own.Pinned = i%37 == 7 && m.Role == events.RoleUser || i%101 == 50 && m.Role == events.RoleAssistant
		list = append(list, &own)
	}
	return list
}

// session is a thread as the processor would keep it.
type session struct {
	count      tokens.Counter
	policy     summarize.Compaction
	state      cut.State
	items      []cut.Item
	messages   map[uint64]Message
	leaves     []ledger.Ledger
	compaction *Summary
	edge       uint64
	compacted  bool // since the last prompt
	prompts    int
}

func newSession(count tokens.Counter) *session {
	c := summarize.Compaction{Keep: summarize.Keep{Messages: 20}, Trigger: summarize.Condition{Tokens: 12000}}
	return &session{count: count, policy: c, messages: map[uint64]Message{}}
}

func (s *session) add(m *events.Message) {
	n := uint64(len(s.messages) + 1)
	msg := Message{Ordinal: n, Message: m}
	text := m.Content.Text()
	if m.Role == events.RoleTool && len(text) > 1500 {
		msg.Summary = &Summary{ID: "sum_" + m.MessageID, Content: "[✓ " + strings.ToValidUTF8(text[:400], "") + "]"}
		text = msg.Summary.Content
	}
	s.messages[n] = msg
	it := cut.Item{Ordinal: n, MessageID: m.MessageID, Role: m.Role, Results: m.Answers(), Pinned: m.Pinned, Tokens: int64(s.count.Count(text))}
	for _, c := range m.Calls() {
		it.Calls = append(it.Calls, c.ID)
	}
	s.state.Apply(it, s.policy)
	s.items = append(s.items, it)
	if _, ok := cut.Fires(s.policy.Trigger, s.state.Facts(s.policy)); ok {
		s.compact()
	}
}

func (s *session) compact() {
	p, _ := s.state.Choose(s.policy.Keep)
	parts := s.state.Split(p, s.items, s.policy)
	s.state.Replace(p)
	s.edge = p.Prev
	s.items = append(parts.Held, parts.Kept...)
	var span []ledger.Message
	for _, it := range parts.Replaced {
		span = append(span, ledger.Message{Ordinal: it.Ordinal, Message: s.messages[it.Ordinal].Message})
	}
	leaf := ledger.Collect(span).Trim()
	s.leaves = append(s.leaves, leaf)
	text := ledger.Join(s.leaves).Text(2000)
	s.compaction = &Summary{ID: "sum_current", Content: text}
	s.compacted = true
}

func (s *session) prompt(t *testing.T, format string, limit int) Prompt {
	t.Helper()
	r := Request{Compaction: s.compaction, Edge: s.edge, Context: summarize.Default().Context, MaxTokens: limit, Format: format, Count: s.count.Count}
	for _, it := range s.items {
		r.Messages = append(r.Messages, s.messages[it.Ordinal])
	}
	p, err := Build(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := validity(p, format); err != nil {
		t.Fatalf("%s, limit %d: %v", format, limit, err)
	}
	if limit > 0 && p.WithinBudget != (p.TokenCount <= limit) {
		t.Fatalf("%d of %d tokens, within budget %v", p.TokenCount, limit, p.WithinBudget)
	}
	s.stand(t, r, p)
	if !p.WithinBudget {
		s.nothingElse(t, r, p)
	}
	if s.prompts++; s.prompts%10 != 1 {
		return p
	}
	again, err := Build(r)
	if err != nil || !bytes.Equal(again.Messages, p.Messages) || !bytes.Equal(again.System, p.System) {
		t.Fatalf("the same prompt again is another one: %v", err)
	}
	return p
}

// stand: what must be in every prompt is there, word for word: system messages, what is pinned, and the
// newest user message.
func (s *session) stand(t *testing.T, r Request, p Prompt) {
	t.Helper()
	for _, m := range r.Messages {
		if !isSystem(m.Role) && !m.Pinned && m.MessageID != newestUser(r) {
			continue
		}
		texts := []string{m.Content.Text()}
		if parts := m.Content.Parts(); len(parts) > 0 { // each by itself; results may be marks
			texts = nil
			for _, part := range parts {
				texts = append(texts, part.Text)
			}
		}
		for _, text := range texts {
			quoted, err := json.Marshal(strings.TrimRight(text, " \t\r\n")) // Anthropic takes no white space at the end
			if err != nil {
				t.Fatal(err)
			}
			quoted = quoted[1 : len(quoted)-1] // it may stand behind a mark, and before the next block
			if !bytes.Contains(p.Messages, quoted) && !bytes.Contains(p.System, quoted) {
				t.Fatalf("%s message %s (pinned %v) is not in the prompt", m.Role, m.MessageID, m.Pinned)
			}
		}
	}
}

func newestUser(r Request) string {
	for _, m := range slices.Backward(r.Messages) {
		if m.Role == events.RoleUser {
			return m.MessageID
		}
	}
	return ""
}

// nothingElse: a prompt that is too long for its limit holds what must stay and no more. What is pinned
// keeps the results of its calls.
func (s *session) nothingElse(t *testing.T, r Request, p Prompt) {
	t.Helper()
	calls := map[string]bool{} // of what stays: calls and results stay together
	stays := func(m Message) bool {
		return m.MessageID == newestUser(r) || isSystem(m.Role) || m.Pinned || slices.ContainsFunc(callIDs(m), func(id string) bool { return calls[id] })
	}
	for range 3 { // a result, its caller, the caller's other results
		for _, m := range r.Messages {
			for _, id := range callIDs(m) {
				calls[id] = calls[id] || stays(m)
			}
		}
	}
	gone := slices.Concat(p.DroppedMessageIDs, p.WaitingMessageIDs)
	for _, m := range r.Messages {
		if !stays(m) && !slices.Contains(gone, m.MessageID) {
			t.Fatalf("%s message %s is in a prompt that is too long for its limit", m.Role, m.MessageID)
		}
	}
}

// callIDs are of the calls that a message makes and answers.
func callIDs(m Message) []string {
	ids := m.Answers()
	for _, c := range m.Calls() {
		ids = append(ids, c.ID)
	}
	return ids
}

// prefixStands: between two compactions a prompt goes on where the one before ended.
func (s *session) prefixStands(t *testing.T, format string, before, now Prompt) {
	t.Helper()
	late := bytes.Contains(before.Messages, []byte(noResult)) || len(before.WaitingMessageIDs) > 0 // a result may have come since, in front of what stands
	if s.compacted || late || before.Messages == nil || bytes.Contains(before.Messages, []byte(noneSeen)) {
		return
	}
	end := "]"
	if systemApart(format) {
		end = "]}]" // the next message may be one more block of the last
	}
	if !bytes.HasPrefix(inBlocks(t, format, now.Messages), bytes.TrimSuffix(inBlocks(t, format, before.Messages), []byte(end))) {
		a, b := inBlocks(t, format, now.Messages), inBlocks(t, format, before.Messages)
		i := 0
		for i < min(len(a), len(b)) && a[i] == b[i] {
			i++
		}
		t.Errorf("%s: the prefix changed behind %s: %.200s, was %.200s", format, s.items[len(s.items)-1].MessageID, a[max(0, i-150):], b[max(0, i-150):])
	}
	if !bytes.Equal(now.System, before.System) {
		t.Fatalf("%s: the system text changed from %s to %s", format, before.System, now.System)
	}
}

// inBlocks are messages as they can be compared with those of an earlier prompt (valid.InBlocks).
func inBlocks(t *testing.T, format string, messages jsontext.Value) []byte {
	t.Helper()
	if format != FormatAnthropic {
		return messages
	}
	out, err := valid.InBlocks(messages)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func transcripts(t *testing.T, from ...string) [][]*events.Message {
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		dir = filepath.Dir(dir)
	}
	var files []string
	for _, name := range from {
		found, _ := filepath.Glob(filepath.Join(dir, "..", "shared", "data", name, "*.jsonl"))
		if len(found) == 0 {
			t.Skipf("no transcripts at ../shared/data/%s", name)
		}
		files = append(files, found...)
	}
	var threads [][]*events.Message
	for _, f := range files {
		threads = append(threads, readThreads(t, f)...)
	}
	return threads
}

func readThreads(t *testing.T, path string) [][]*events.Message {
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	byID := map[string][]*events.Message{}
	for line := range bytes.Lines(data) {
		var e struct {
			ThreadID string `json:"thread_id"`
			events.Message
		}
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		if e.Role == "" {
			e.Role = events.RoleTool
		}
		if byID[e.ThreadID] == nil {
			order = append(order, e.ThreadID)
		}
		byID[e.ThreadID] = append(byID[e.ThreadID], &e.Message)
	}
	threads := make([][]*events.Message, 0, len(order))
	for _, id := range order {
		threads = append(threads, byID[id])
	}
	return threads
}
