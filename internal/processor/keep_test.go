package processor_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"precis/api"
	"precis/events"
	"precis/internal/broker"
	"precis/internal/config"
	"precis/internal/processor"
	"precis/internal/race"
	"precis/internal/service"
	"precis/summarize"
	"precis/summarize/prompt"
	"precis/summarize/tokens"
)

// ledgerFile is a source file of our own, of some 400 lines: no summary of 800 characters holds the body of one function.
func ledgerFile() (file, body string) {
	var b strings.Builder
	b.WriteString("package ledger\n\n")
	for i := range 24 {
		name := fmt.Sprintf("post%02d", i)
		fmt.Fprintf(&b, "// %s adds an entry to account %d.\nfunc %s(l *Ledger, cents int64) error {\n", name, i, name)
		for line := range 10 {
			fmt.Fprintf(&b, "\tl.note(%d, \"step %d of account %d\", cents*%d)\n", line, line, i, 7*i+line)
		}
		fmt.Fprintf(&b, "\treturn l.balance(%d)\n}\n\n", i)
	}
	file = b.String()
	from := strings.Index(file, "func post17(")
	to := from + strings.Index(file[from:], "\n}\n") + 3
	return file, file[from:to]
}

// editor is a scripted model that changes one function. Like a real one it has nothing but its prompt: it reads the file,
// and in its next turn quotes the function's body as its prompt holds it, or has to read the file again.
type editor struct {
	t    *testing.T
	b    *broker.Broker
	name string
	turn int
	last uint64 // the newest event
	max  int    // tokens of its prompts; 0: any
}

func (e *editor) publish(typ events.Type, body map[string]any) uint64 {
	data, err := json.Marshal(body)
	if err != nil {
		e.t.Fatal(err)
	}
	e.last = put(e.t, e.b.Conn(), string(typ)+"."+e.name, string(data))
	return e.last
}

// call publishes a turn of the model with one call, and its result.
func (e *editor) call(tool string, arguments map[string]any, result string) uint64 {
	e.turn++
	id := fmt.Sprintf("c%d", e.turn)
	e.publish(events.ThreadMessage, map[string]any{
		"message_id": fmt.Sprintf("a%d", e.turn), "role": "assistant", "content": "",
		"tool_calls": []any{map[string]any{"id": id, "name": tool, "arguments": arguments}},
	})
	return e.publish(events.ToolResult, map[string]any{
		"message_id": fmt.Sprintf("r%d", e.turn), "tool_call_id": id, "tool_name": tool, "content": result,
	})
}

// sees reports whether the model's next prompt holds a text.
func (e *editor) sees(text string, seq uint64) bool {
	got, _ := promptOf(e.t, e.b, e.name, fmt.Sprintf(`{"format":"openai","max_tokens":%d,"min_event_seq":%d}`, e.max, seq))
	return slices.ContainsFunc(got.Messages, func(m promptMessage) bool {
		content, _ := m.Content.(string)
		return strings.Contains(content, text)
	})
}

// run works on the task for at most so many turns, and returns the edit, or nothing if the model never saw what to quote.
func (e *editor) run(file, body string, turns int) (edit string) {
	e.publish(events.ThreadMessage, map[string]any{
		"message_id": "task", "role": "user", "content": "Return the balance of account 18 instead of 17 in post17 of ledger.go.",
	})
	for e.turn < turns {
		seq := e.call("Read", map[string]any{"file_path": "/src/ledger.go"}, file)
		if e.sees(body, seq) {
			edit = strings.Replace(body, "balance(17)", "balance(18)", 1)
			e.call("Edit", map[string]any{"file_path": "/src/ledger.go", "old_string": body, "new_string": edit}, "The file has been updated.")
			return edit
		}
	}
	return ""
}

// The loop of a coding agent works with the default configuration: what the model has asked for stands in its next prompt.
// With turns: 0 it fails: the model reads the same file again and again.
func TestAgentSeesWhatItAskedFor(t *testing.T) {
	file, body := ledgerFile()
	for name, test := range map[string]struct {
		keep  summarize.KeepOutputs
		max   int
		works bool
	}{
		"default":        {summarize.Default().Context.KeepOutputs, 0, true},
		"within a limit": {summarize.Default().Context.KeepOutputs, 16_000, true},
		"turns 0":        {summarize.KeepOutputs{}, 0, false},
		"by tokens":      {summarize.KeepOutputs{Tokens: 20_000}, 0, true},
		// Where the output does not fit, its summary stands in, and says so.
		"no room": {summarize.Default().Context.KeepOutputs, 2000, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := settings(t)
			c.Policies[0].Context.KeepOutputs = test.keep
			b := openBroker(t, t.TempDir())
			serving(t, processor.Options{Config: c, Logger: logger(t), Broker: b})
			e := &editor{t: t, b: b, name: "fix", max: test.max}
			if edit := e.run(file, body, 5); (edit != "") != test.works {
				t.Errorf("after %d turns the edit is %q", e.turn, edit)
			}
			if test.works && e.turn != 2 {
				t.Errorf("it took %d turns, want 2", e.turn)
			}
			var got api.ContextReply
			_, reply := promptOf(t, b, "fix", fmt.Sprintf(`{"max_tokens":%d,"min_event_seq":%d}`, test.max, e.last))
			if err := json.Unmarshal([]byte(reply), &got); err != nil {
				t.Fatal(err)
			}
			if name == "no room" && !slices.Equal(got.ShortenedMessageIDs, []string{"r5"}) {
				t.Errorf("shortened: %v", got.ShortenedMessageIDs)
			}
			if name == "default" && strings.Contains(reply, "step 3 of account 5") {
				t.Error("the output that the model has read is still whole")
			}
		})
	}
}

// A result that came before its call is not read by the turn that made the call.
func TestEarlyResultStandsWhole(t *testing.T) {
	t.Parallel()
	b := openBroker(t, t.TempDir())
	serving(t, processor.Options{Config: settings(t), Logger: logger(t), Broker: b})
	file, body := ledgerFile()
	result, err := json.Marshal(map[string]any{"message_id": "r", "tool_call_id": "c", "tool_name": "Read", "content": file})
	if err != nil {
		t.Fatal(err)
	}
	e := &editor{t: t, b: b, name: "race"}
	put(t, b.Conn(), "tool.result.race", string(result))
	for i, whole := range []bool{true, true, false} {
		seq := put(t, b.Conn(), "thread.message.race", []string{
			`{"message_id":"a","role":"assistant","content":"","tool_calls":[{"id":"c","name":"Read","arguments":{}}]}`,
			`{"message_id":"u","role":"user","content":"What is it?"}`,
			`{"message_id":"b","role":"assistant","content":"It is a ledger."}`,
		}[i])
		if e.sees(body, seq) != whole {
			t.Errorf("after %d messages it is whole: %t", i+1, !whole)
		}
	}
}

// chat is a random thread of an agent, and which of its outputs prompts have to hold whole, told from its events alone.
type chat struct {
	rng   *rand.Rand
	said  []*spoken
	calls []string // open
	n     int
	keep  summarize.KeepOutputs
}

// spoken is one message.
type spoken struct {
	id, role, call string
	calls          []string
	text           string
	args           string
	turns          int // of the assistant since it came, or since its text changed
	pinned, gone   bool
}

// next is the subject and the body of the thread's next event.
func (k *chat) next() (typ events.Type, body map[string]any) {
	k.n++
	m := &spoken{id: fmt.Sprintf("m%d", k.n)}
	switch what := k.rng.IntN(12); {
	case what < 3 || len(k.said) == 0:
		m.role, m.text = events.RoleAssistant, fmt.Sprintf("I think %d.", k.n)
		body = map[string]any{"message_id": m.id, "role": m.role, "content": m.text}
		var made []any
		for range k.rng.IntN(3) {
			id := fmt.Sprintf("c%d.%d", k.n, len(made))
			m.calls, k.calls = append(m.calls, id), append(k.calls, id)
			m.args += `{"n":1}`
			made = append(made, map[string]any{"id": id, "name": "run", "arguments": map[string]any{"n": 1}})
		}
		body["tool_calls"] = made
		k.read()
	case what < 4:
		m.role, m.text = events.RoleUser, fmt.Sprintf("Go on with %d.", k.n)
		body = map[string]any{"message_id": m.id, "role": m.role, "content": m.text}
	case what < 9:
		m.role, m.text = events.RoleTool, k.output()
		if len(k.calls) > 0 {
			i := k.rng.IntN(len(k.calls))
			m.call, k.calls = k.calls[i], slices.Delete(k.calls, i, i+1)
		}
		k.said = append(k.said, m)
		return events.ToolResult, map[string]any{"message_id": m.id, "tool_call_id": m.call, "tool_name": "run", "content": m.text}
	default:
		return k.edit()
	}
	k.said = append(k.said, m)
	return events.ThreadMessage, body
}

// read counts a turn of the assistant, if the next message begins one.
func (k *chat) read() {
	if n := len(k.said); n > 0 && k.said[n-1].role == events.RoleAssistant && !k.said[n-1].gone {
		return
	}
	for _, m := range k.said {
		m.turns++
	}
}

func (k *chat) output() string {
	var b strings.Builder
	for i := range k.rng.IntN(70) {
		fmt.Fprintf(&b, "step %d of %d took %d ms in part%d.go\n", i, k.n, k.rng.IntN(999), k.rng.IntN(99))
	}
	return b.String()
}

// edit changes, deletes, restores, pins or unpins a message.
func (k *chat) edit() (events.Type, map[string]any) {
	m := k.said[k.rng.IntN(len(k.said))]
	body := map[string]any{"message_id": m.id, "edit_id": fmt.Sprintf("e%d", k.n)}
	switch what := k.rng.IntN(4); {
	case what == 0:
		m.pinned = !m.pinned
		body["pinned"] = m.pinned
	case what == 1 && !m.gone:
		m.gone, m.text = true, ""
		body["deleted"] = true
	default:
		m.gone, m.turns = false, 0
		if m.text = fmt.Sprintf("Otherwise %d.", k.n); m.role == events.RoleTool {
			m.text = k.output()
		}
		body["content"] = m.text
	}
	return events.MessageEdited, body
}

// large reports whether a summary is made of the message.
func (m *spoken) large() bool { return m.role == events.RoleTool && len([]rune(m.text)) > 1500 }

// At every event of random threads: each output stands whole in the prompt exactly as long as the policy says, and
// tokens_live is what the prompt holds. Then the store is recomputed from the log, and each record is decided again.
func TestOutputsStandWholeUntilTheyAreRead(t *testing.T) {
	race.Slow(t)
	for _, keep := range []summarize.KeepOutputs{{Turns: 1}, {Turns: 3}, {}} {
		t.Run(fmt.Sprintf("%+v", keep), func(t *testing.T) {
			t.Parallel()
			c := settings(t)
			c.Policies[0].Context.KeepOutputs = keep
			c.Policies[0].Compaction.Trigger = summarize.Condition{}
			s := stage(t, c)
			defer s.finish()
			<-s.Ready()
			svc, err := service.Start(s.schedule.broker.Conn(), s.Processor, service.Options{Logger: logger(t)})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = svc.Stop() }()
			whole := 0
			for seed := range uint64(8) {
				k := &chat{rng: rand.New(rand.NewPCG(seed, 14)), keep: keep}
				name := fmt.Sprintf("talk%d", seed)
				for range 60 {
					typ, body := k.next()
					data, err := json.Marshal(body)
					if err != nil {
						t.Fatal(err)
					}
					seq := put(t, s.schedule.broker.Conn(), string(typ)+"."+name, string(data))
					whole += k.check(t, s, name, seq)
				}
			}
			if keep.Turns > 0 && whole < 100 {
				t.Errorf("%d outputs stood whole, which is too few to tell", whole)
			}
		})
	}
}

// check holds a thread's prompt and counters against the model; whole is how many large outputs stand whole.
func (k *chat) check(t *testing.T, s *scene, name string, seq uint64) (whole int) {
	t.Helper()
	counter, err := tokens.For("o200k_base")
	if err != nil {
		t.Fatal(err)
	}
	_, body := promptOf(t, s.schedule.broker, name, fmt.Sprintf(`{"format":"messages","min_event_seq":%d}`, seq))
	var got struct {
		Messages []struct {
			MessageID string `json:"message_id"`
			SummaryID string `json:"summary_id"`
			Content   string `json:"content"`
		} `json:"messages"`
		Waiting []string `json:"waiting_message_ids"`
	}
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	var live int64
	summaries := map[string]string{}
	for _, m := range got.Messages {
		if m.SummaryID != "" {
			summaries[m.MessageID] = m.Content
		}
	}
	h, err := s.View(s.partition(name)).Header(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range k.said {
		text, short := summaries[m.id]
		if slices.Contains(got.Waiting, m.id) { // not in this prompt; the counters have it as it will be
			short = m.large() && !m.pinned && m.turns >= k.keep.Turns
			if short {
				sum, _, err := holder(s.View(s.partition(name)), name, "tool:"+m.id)
				if err != nil {
					t.Fatal(err)
				}
				live += sum.TokensAfter
				continue
			}
		} else if want := m.large() && !m.pinned && !m.gone && m.turns >= k.keep.Turns; short != want {
			t.Fatalf("%s: %s after %d turns: summarized %t", name, m.id, m.turns, short)
		}
		switch {
		case m.gone:
		case short:
			live += int64(counter.Count(text))
		default:
			if live += int64(counter.Count(m.text)); m.large() && !m.pinned {
				whole++
			}
		}
		if !m.gone {
			for range m.calls {
				live += int64(counter.Count(`{"n":1}`))
			}
		}
	}
	if h.TokensLive != live {
		t.Fatalf("%s at %d: tokens_live %d, the prompt holds %d", name, seq, h.TokensLive, live)
	}
	return whole
}

// Every ten events the share of a prompt that still begins the thread's next prompt, over the real transcripts, without a
// limit: what a provider's cache holds of it. Compactions and outputs that give way to their summaries cost the rest.
func TestPrefixStability(t *testing.T) {
	race.Slow(t)
	for name, change := range map[string]func(*config.Config){
		"default":         func(*config.Config) {},
		"turns 0":         func(c *config.Config) { c.Policies[0].Context.KeepOutputs = summarize.KeepOutputs{} },
		"turns 3":         func(c *config.Config) { c.Policies[0].Context.KeepOutputs.Turns = 3 },
		"tokens 20000":    func(c *config.Config) { c.Policies[0].Context.KeepOutputs.Tokens = 20_000 },
		"window of 32000": func(c *config.Config) { c.Policies[0].Compaction.Trigger = summarize.Condition{Tokens: 22_000} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := settings(t)
			change(c)
			c.Policies[0].Tokenizer = "estimate"
			b := openBroker(t, t.TempDir())
			serving(t, processor.Options{Config: c, Logger: logger(t), Broker: b})
			var stands, of, prompts int
			for _, th := range readTranscripts(t) {
				var before []byte
				for len(th.messages) > th.sent {
					th.growBy(t, b, 10)
					_, body := promptOf(t, b, th.name, fmt.Sprintf(`{"format":%q,"min_event_seq":%d}`, prompt.FormatOpenAI, th.last))
					var got api.ContextReply
					if err := json.Unmarshal([]byte(body), &got); err != nil {
						t.Fatal(err)
					}
					now := bytes.TrimSuffix(got.Messages, []byte("]"))
					if before != nil {
						stands, of, prompts = stands+common(before, now), of+len(before), prompts+1
					}
					before = now
				}
			}
			share := 100 * float64(stands) / float64(of)
			t.Logf("%s: %.1f %% of %d prompts of %d bytes stand after ten events", name, share, prompts, of)
			if name == "default" && share < 95 {
				t.Errorf("%.1f %% of a prompt stands after ten events, want 95 %%", share)
			}
		})
	}
}

// common is how many bytes two texts begin with in common.
func common(a, b []byte) (n int) {
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}
