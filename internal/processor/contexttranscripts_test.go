package processor_test

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/nats-io/nats.go"

	"precis/api"
	"precis/events"
	"precis/internal/broker"
	"precis/internal/processor"
	"precis/internal/race"
	"precis/summarize"
	"precis/summarize/prompt"
	"precis/summarize/prompt/valid"
)

// Budgets and formats that real threads' prompts are asked for in. The last budget holds every prompt here.
var (
	budgets = []int{2000, 8000, 200_000}
	formats = prompt.Formats()
)

// keptThreads is what the threads' names begin with in which outputs are kept whole.
const keptThreads = "swea-"

// every is how many events a thread grows by between two times that its prompts are asked for.
const every = 20

var everyThread = flag.Int("context.every", 2, "TestContextOfRealTranscripts takes one thread of so many")

// Threads of the real transcripts, at every 20th event, for three budgets and in three formats, of the
// running service: within the budget, valid for the provider, no orphan, what must stand verbatim verbatim;
// the same again byte for byte, and its beginning as it was while messages are appended.
func TestContextOfRealTranscripts(t *testing.T) {
	race.Slow(t)
	t.Parallel()
	threads := readTranscripts(t)
	c := settings(t)
	c.Policies[0].Compaction.Trigger = summarize.Condition{Tokens: 12000}
	kept := c.Policies[0] // the outputs of some threads stand whole until they are read, which changes a prompt's end
	kept.Name, kept.Match = "kept", summarize.Match{ThreadID: keptThreads + "*"}
	c.Policies[0].Context.KeepOutputs = summarize.KeepOutputs{}
	c.Policies = append([]summarize.Policy{kept}, c.Policies...)
	b := openBroker(t, t.TempDir())
	serving(t, processor.Options{Config: c, Logger: logger(t), Broker: b})
	var n met
	for i, th := range threads {
		if i%*everyThread != 0 {
			continue
		}
		for len(th.messages) > th.sent {
			th.grow(t, b)
			for _, budget := range budgets {
				for _, format := range formats {
					th.ask(t, b, budget, format, &n)
				}
			}
		}
	}
	t.Logf("%+v of %d threads", n, len(threads))
	if n.over == 0 || n.shrunk == 0 || n.compacted == 0 || n.prefixes < n.prompts/4 {
		t.Error("that is not what was to be looked at")
	}
}

// met is how many prompts were looked at, and how many of them were too long whatever was given up, had to give
// up something, hold a compaction, and went on where the one before ended.
type met struct{ prompts, over, shrunk, compacted, prefixes int }

// realThread is a thread of a transcript, and how much of it is published.
type realThread struct {
	name     string
	messages []*events.Message
	msgs     []*nats.Msg
	sent     int
	last     uint64                      // the newest event's sequence
	before   map[string]api.ContextReply // the last answer, by format and budget
}

// readTranscripts reads the real threads. Few real ones have a system message and none has a pinned one, so
// that each begins with one, and some are pinned.
func readTranscripts(t *testing.T) []*realThread {
	byName := map[string]*realThread{}
	eachEvent(t, transcripts(t), func(ev events.FileEvent) {
		th := byName[ev.Thread]
		if th == nil {
			th = &realThread{name: ev.Thread, before: map[string]api.ContextReply{}}
			byName[ev.Thread] = th
			th.add(t, events.ThreadMessage, []byte(`{"message_id":"rules","role":"system","content":"Never touch <generated> files.\n— the owner"}`))
		}
		th.add(t, ev.Type, ev.Data)
	})
	threads := slices.Collect(maps.Values(byName))
	slices.SortFunc(threads, func(a, b *realThread) int { return strings.Compare(a.name, b.name) })
	return threads
}

func (th *realThread) add(t *testing.T, kind events.Type, data []byte) {
	subject, err := events.Subject(kind, th.name)
	if err != nil {
		t.Fatal(err)
	}
	m := new(events.Message)
	if err := json.Unmarshal(data, m); err != nil {
		t.Fatal(err)
	}
	if i := len(th.messages); m.Role == events.RoleUser && i%37 == 8 || m.Role == events.RoleAssistant && i%101 == 51 {
		m.Pinned = true
		data = append([]byte(`{"pinned":true,`), bytes.TrimLeft(data, "{ ")...)
	}
	if kind == events.ToolResult {
		m.Role = events.RoleTool
	}
	th.messages, th.msgs = append(th.messages, m), append(th.msgs, &nats.Msg{Subject: subject, Data: data})
}

// grow publishes the thread's next events.
func (th *realThread) grow(t *testing.T, b *broker.Broker) { th.growBy(t, b, every) }

func (th *realThread) growBy(t *testing.T, b *broker.Broker, n int) {
	pub, err := broker.NewPublisher(b.Conn(), broker.PublisherConfig{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = pub.Close() }()
	next := min(th.sent+n, len(th.msgs))
	for _, ack := range pub.PublishBatch(within(t), th.msgs[th.sent:next]) {
		if ack.Err != nil {
			t.Fatal(ack.Err)
		}
		th.last = max(th.last, ack.Seq)
	}
	th.sent = next
}

// ask asks for a prompt, and holds it to what is promised.
func (th *realThread) ask(t *testing.T, b *broker.Broker, budget int, format string, n *met) {
	request := fmt.Sprintf(`{"max_tokens":%d,"format":%q,"min_event_seq":%d}`, budget, format, th.last)
	_, body := promptOf(t, b, th.name, request)
	at := fmt.Sprintf("%s at event %d, %d tokens as %s", th.name, th.sent, budget, format)
	if _, again := promptOf(t, b, th.name, request); again != body {
		t.Fatalf("%s: the same again is another one", at)
	}
	var got api.ContextReply
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	n.prompts++
	n.compacted += bytes.Count(got.Messages, []byte(summarize.Default().Context.SummaryHeading))
	n.shrunk += min(len(got.DroppedMessageIDs), 1)
	if !got.WithinBudget {
		n.over++
	}
	if got.WithinBudget != (got.TokenCount <= budget) {
		t.Errorf("%s: %d tokens, within budget %v", at, got.TokenCount, got.WithinBudget)
	}
	if err := validFor(format, got); err != nil {
		t.Errorf("%s: %v", at, err)
	}
	must := th.standing()
	th.stand(t, at, must, got)
	if !got.WithinBudget && format == prompt.FormatMessages {
		th.nothingElse(t, at, must, got)
	}
	if th.begins(t, at, fmt.Sprint(format, budget), got) {
		n.prefixes++
	}
}

func validFor(format string, got api.ContextReply) error {
	switch format {
	case prompt.FormatOpenAI:
		return valid.OpenAI(got.Messages)
	case prompt.FormatResponses:
		return valid.Responses(got.Messages)
	case prompt.FormatAnthropic:
		return valid.Anthropic(got.System, got.Messages)
	case prompt.FormatGemini:
		return valid.Gemini(got.System, got.Messages)
	}
	return valid.Plain(got.Messages)
}

// standing are the messages that stand verbatim in every prompt: the system's, those that are pinned, and
// the newest of the user's.
func (th *realThread) standing() map[string]string {
	must := map[string]string{}
	newest := ""
	for _, m := range th.messages[:th.sent] {
		if m.Role == events.RoleUser {
			newest = m.MessageID
		}
	}
	for _, m := range th.messages[:th.sent] {
		if m.Role == events.RoleSystem || m.Role == events.RoleDeveloper || m.Pinned || m.MessageID == newest {
			must[m.MessageID] = m.Content.Text()
		}
	}
	return must
}

// stand holds a prompt to what must stand in it.
func (th *realThread) stand(t *testing.T, at string, must map[string]string, got api.ContextReply) {
	for id, text := range must {
		if slices.Contains(got.DroppedMessageIDs, id) {
			t.Errorf("%s: message %s is said to be dropped", at, id)
		}
		quoted, err := json.Marshal(strings.TrimRight(text, " \t\r\n")) // Anthropic takes no white space at the end
		if err != nil {
			t.Fatal(err)
		}
		quoted = quoted[1 : len(quoted)-1] // it may stand behind a mark, and before the next block
		if !bytes.Contains(got.Messages, quoted) && !bytes.Contains(got.System, quoted) {
			t.Errorf("%s: message %s does not stand in it", at, id)
		}
	}
}

// nothingElse: a prompt that is too long for its budget holds what must stand and no more; what is pinned
// keeps the results of its calls.
func (th *realThread) nothingElse(t *testing.T, at string, must map[string]string, got api.ContextReply) {
	for _, m := range th.messages[:th.sent] {
		if _, ok := must[m.MessageID]; !ok || !m.Pinned {
			continue
		}
		for _, call := range m.ToolCalls {
			must[call.ID] = ""
		}
	}
	var list []struct {
		MessageID  string `json:"message_id"`
		ToolCallID string `json:"tool_call_id"`
		Content    string `json:"content"`
	}
	if err := json.Unmarshal(got.Messages, &list); err != nil {
		t.Fatal(err)
	}
	for _, m := range list {
		_, stays := must[m.MessageID]
		_, result := must[m.ToolCallID]
		if m.MessageID != "" && !stays && !result {
			t.Errorf("%s: message %s stands in a prompt that is too long for its budget", at, m.MessageID)
		}
	}
}

// begins holds a prompt to the one before: where nothing was compacted and nothing more given up, it goes on
// where that ended. It says whether that is so.
func (th *realThread) begins(t *testing.T, at, of string, got api.ContextReply) bool {
	was := th.before[of]
	th.before[of] = got
	if strings.HasPrefix(th.name, keptThreads) || was.Messages == nil || !slices.Equal(was.DroppedMessageIDs, got.DroppedMessageIDs) || !extends(got.SummaryIDs, was.SummaryIDs) {
		return false
	}
	end := []byte("]")
	if strings.HasPrefix(of, prompt.FormatAnthropic) || strings.HasPrefix(of, prompt.FormatGemini) {
		end = []byte("]}]") // the next message may be one more block of the last
	}
	if !bytes.HasPrefix(inBlocks(t, of, got.Messages), bytes.TrimSuffix(inBlocks(t, of, was.Messages), end)) || !bytes.HasPrefix(got.System, bytes.TrimRight(was.System, "]}")) {
		t.Errorf("%s: the prefix changed", at)
	}
	return true
}

// inBlocks are messages as they can be compared with those of an earlier prompt (valid.InBlocks).
func inBlocks(t *testing.T, of string, messages jsontext.Value) []byte {
	t.Helper()
	if !strings.HasPrefix(of, prompt.FormatAnthropic) {
		return messages
	}
	out, err := valid.InBlocks(messages)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func extends(list, by []string) bool { return len(list) >= len(by) && slices.Equal(list[:len(by)], by) }
