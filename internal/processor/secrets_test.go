package processor_test

import (
	"flag"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go/jetstream"

	"precis/internal/broker"
	"precis/internal/config"
	"precis/internal/processor"
	"precis/internal/race"
	"precis/internal/secrets/samples"
	"precis/summarize"
)

var secretDraws = flag.Int("secrets", 0, "how often each kind of secret is drawn; 0: a third of them once; 20 before a release")

// threads is how many threads the secrets are dealt out to.
const threads = 6

// leastLeak is the length from which a piece of a secret counts as one.
const leastLeak = 8

// echo is a model that records what it is asked, and answers with secrets: its own key and what it is told to say.
type echo struct {
	mu    sync.Mutex
	asked []string
	says  string
}

func (e *echo) answer(_ int64, body string, w http.ResponseWriter) {
	e.mu.Lock()
	e.asked = append(e.asked, body)
	says := e.says
	e.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	text, _ := json.Marshal("Deployed with " + echoKey + " and " + says)
	_, _ = fmt.Fprintf(w, `{"id":"msg_1","type":"message","role":"assistant","model":"claude-haiku-4-5-20251001",
		"content":[{"type":"text","text":%s}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":900,"output_tokens":20}}`, text)
}

// echoKey looks like nothing: only its value tells it.
const echoKey = "plain words for a key"

// Nothing that a processor publishes, shows as a summary or sends to a model has a piece of a secret in it that an
// agent, a tool or a model has brought, or that its configuration names.
func TestNoSecretLeavesTheProcessor(t *testing.T) {
	race.Slow(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	for _, mode := range []string{summarize.ModeRules, summarize.ModeLLM} {
		t.Run(mode, func(t *testing.T) {
			e := &echo{}
			m := newModelReading(t, e.answer)
			b := openBroker(t, t.TempDir())
			p := serving(t, processor.Options{Config: tellsAll(t, mode, m), Logger: logger(t), Broker: b})
			r := samples.New(seed)
			var all []samples.Sample
			for _, k := range samples.Kinds() {
				times := *secretDraws
				if times == 0 && r.IntN(3) == 0 {
					times = 1
				}
				for range times {
					s := k.Draw(r)
					all = append(all, s)
					e.mu.Lock()
					e.says = s.Text()
					e.mu.Unlock()
					publishSecret(t, b, fmt.Sprintf("t%d", len(all)%threads), len(all), s, r)
				}
			}
			if err := p.Settled(within(t)); err != nil {
				t.Fatal(err)
			}
			texts := published(t, b)
			e.mu.Lock()
			defer e.mu.Unlock()
			if mode == summarize.ModeLLM && len(e.asked) < 10 {
				t.Errorf("the model was asked %d times", len(e.asked))
			}
			for _, body := range e.asked {
				texts = append(texts, material(t, body))
			}
			all = append(all, samples.Sample{Secret: echoKey})
			whole := linesOf(texts)
			for _, s := range all {
				if piece := s.Leaks(whole, leastLeak); piece != "" {
					i := strings.Index(whole, piece)
					t.Errorf("%q of %q is in %q", piece, s.Text(), whole[max(0, i-200):min(len(whole), i+len(piece)+60)])
				}
			}
			t.Logf("%d secrets, %d texts", len(all), len(texts))
		})
	}
}

// material is what of a request is not our own prompt.
func material(t testing.TB, body string) string {
	var req struct {
		Messages []struct {
			Content []struct {
				Text string `json:"text"`
			} `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal([]byte(body), &req); err != nil {
		t.Fatal(err)
	}
	text := req.Messages[0].Content[0].Text
	from, to := strings.Index(text, "BEGIN DATA"), strings.LastIndex(text, "END DATA")
	if from < 0 || to < from {
		t.Fatalf("no material in %q", text)
	}
	return text[from:to]
}

// linesOf are the lines of texts, each once.
func linesOf(texts []string) string {
	seen := map[string]bool{}
	var b strings.Builder
	for _, text := range texts {
		for line := range strings.Lines(text) {
			if !seen[line] {
				seen[line] = true
				b.WriteString(line)
			}
		}
	}
	return b.String()
}

// tellsAll summarizes all that can be: outputs, threads and histories.
func tellsAll(t testing.TB, mode string, m *model) *config.Config {
	c := settings(t)
	if mode == summarize.ModeLLM {
		c = byModel(t, m)
		p := c.Providers[config.ProviderSummarizer]
		p.APIKey, p.MaxConcurrency = echoKey, 8
		c.Providers[config.ProviderSummarizer] = p
	}
	policy := &c.Policies[0]
	policy.ToolOutput.OverChars, policy.ToolOutput.MaxSummaryChars = 300, 500
	policy.Compaction.Trigger, policy.Compaction.Keep = summarize.Condition{Messages: 7}, summarize.Keep{Messages: 2}
	policy.History.Enabled, policy.History.EveryMessages = true, 11
	return c
}

// publishSecret has an agent say a secret, call a tool with it, and get it back, each somewhere in a longer text.
func publishSecret(t testing.TB, b *broker.Broker, thread string, n int, s samples.Sample, r *samples.Random) {
	say := func(v map[string]any) string {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	pad := func() string { return strings.Repeat("step done in src/app.go; ", r.IntN(16)) }
	args, err := json.Marshal(map[string]any{"command": s.Text()})
	if err != nil {
		t.Fatal(err)
	}
	put(t, b.Conn(), "thread.message."+thread,
		say(map[string]any{"message_id": fmt.Sprintf("u%d", n), "role": "user", "content": pad() + "\n" + s.Text() + "\n" + pad()}),
		say(map[string]any{"message_id": fmt.Sprintf("a%d", n), "role": "assistant", "content": "I run it with " + s.Text(), "tool_calls": []any{map[string]any{"id": fmt.Sprintf("c%d", n), "name": "bash", "arguments": string(args)}}}),
	)
	put(t, b.Conn(), "tool.result."+thread, say(map[string]any{
		"message_id": fmt.Sprintf("r%d", n), "tool_call_id": fmt.Sprintf("c%d", n), "tool_name": "bash", "arguments": map[string]any{"command": s.Text()},
		"content": pad() + "\n" + s.Text() + "\n" + strings.Repeat(pad()+"\n", 6) + s.Text(),
	}))
}

// published are all records, and the summaries in prompts.
func published(t testing.TB, b *broker.Broker) (texts []string) {
	stream, err := b.JetStream().Stream(within(t), broker.StreamSummaries)
	if err != nil {
		t.Fatal(err)
	}
	info, err := stream.Info(within(t))
	if err != nil {
		t.Fatal(err)
	}
	for seq := info.State.FirstSeq; seq <= info.State.LastSeq; seq++ {
		msg, err := stream.GetMsg(within(t), seq)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, strings.Join(unescaped(t, msg), "\n"))
	}
	for i := range threads {
		p, _ := promptOf(t, b, fmt.Sprintf("t%d", i), "")
		for _, m := range p.Messages {
			if text, ok := m.Content.(string); ok && strings.Contains(text, "Summar") {
				texts = append(texts, text)
			}
		}
	}
	return texts
}

// unescaped are a record's strings as they read, and its JSON.
func unescaped(t testing.TB, msg *jetstream.RawStreamMsg) []string {
	var v any
	if err := json.Unmarshal(msg.Data, &v); err != nil {
		t.Fatal(err)
	}
	list := []string{string(msg.Data)}
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			list = append(list, v)
		case []any:
			for _, one := range v {
				walk(one)
			}
		case map[string]any:
			for _, one := range v {
				walk(one)
			}
		}
	}
	walk(v)
	return list
}
