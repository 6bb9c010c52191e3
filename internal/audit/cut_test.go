package audit_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"precis/events"
	"precis/internal/audit"
	"precis/internal/broker"
	"precis/internal/config"
	"precis/internal/processor"
	"precis/internal/race"
	"precis/internal/thread"
	"precis/state"
	"precis/summarize"
)

// newFickleModel is a server that refuses what has "refuse" in it, as a provider refuses a key.
func newFickleModel(t testing.TB) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		if bytes.Contains(body, []byte("refuse")) {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = fmt.Fprint(w, `{"type":"error","error":{"type":"authentication_error","message":"no"}}`)
			return
		}
		_, _ = fmt.Fprint(w, `{"id":"msg_1","type":"message","role":"assistant","model":"claude-haiku-4-5-20251001",
			"content":[{"type":"text","text":"The build compiled every part."}],"stop_reason":"end_turn","stop_sequence":null,
			"usage":{"input_tokens":1200,"output_tokens":40}}`)
	}))
	t.Cleanup(s.Close)
	return s
}

// mixedThreads are those of mixed.
var mixedThreads = []string{"rules", "model", "long", "hist", "ttl"}

// mixed is a world with everything in it that an event can lead to, each thread's among the others'.
func mixed(t *testing.T) *world {
	w := newWorld(t)
	w.config.Retention.Events = 30 * time.Minute
	p := w.config.Providers[config.ProviderSummarizer]
	p.BaseURL = newFickleModel(t).URL
	w.config.Providers = map[string]config.Provider{config.ProviderSummarizer: p}
	byModel := &w.config.Policies[1]
	byModel.Compaction.Trigger, byModel.Compaction.Keep = summarize.Condition{Messages: 6}, summarize.Keep{Messages: 2}
	told, short := w.config.Policies[0], w.config.Policies[0]
	told.Name, told.History.Enabled, told.History.EveryMessages = "told", true, 4
	short.Name, short.Staleness.TTL = "short", 100*time.Millisecond
	// What no event that is left says: the policy that matches the thread has other settings.
	short.Staleness.Meanwhile, short.ToolOutput.MaxSummaryChars = summarize.MeanwhileRaw, 300
	w.config.Policies = append(w.config.Policies, told, short)
	w.run(func(p *processor.Processor) {
		for i := range 9 {
			w.round(i)
			if i%4 == 3 {
				if err := errors.Join(p.Settled(within(t)), p.Tended(within(t))); err != nil {
					t.Fatal(err)
				}
			}
		}
		w.expired()
		p.Renew(broker.PartitionOf("ttl", w.config.Partitions), "ttl", nil) // as a request has it
		if err := errors.Join(p.Tended(within(t)), p.Settled(within(t))); err != nil {
			t.Fatal(err)
		}
		w.expired()
		w.round(9)
		if err := p.Settled(within(t)); err != nil {
			t.Fatal(err)
		}
		w.expired() // or what expires in a store that is made again is news to the first one
	})
	return w
}

// expired waits until every summary that expires has.
func (w *world) expired() {
	w.t.Helper()
	ctx := within(w.t)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	of := audit.Filter{Thread: "ttl"}
	for made := 0; made == 0 || len(w.rows(of, events.SummaryInvalidated)) < made; made = len(w.rows(of, events.SummaryCreated)) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			w.t.Fatal("nothing has expired")
		}
	}
}

func (w *world) round(i int) {
	role := []string{"user", "assistant"}[i%2]
	named := func(policy string) string { return fmt.Sprintf(`,"policy":%q`, policy) }
	w.put(
		line(i, role),
		[2]string{"thread.message.hist", fmt.Sprintf(`{"message_id":"h%d","role":%q,"content":"What %d is about, and why."%s}`, i, role, i, named("told"))},
		[2]string{"thread.message.model", fmt.Sprintf(`{"message_id":"q%d","role":%q,"content":"Go on with part %d."%s}`, i, role, i, named("by-model"))},
	)
	switch i % 6 {
	case 0:
		w.put([2]string{"tool.result.model", output(fmt.Sprintf("m%d", i), 60, "")},
			[2]string{"tool.result.ttl", output(fmt.Sprintf("t%d", i), 60, named("short"))})
	case 1:
		w.put([2]string{"tool.result.model", strings.ReplaceAll(output(fmt.Sprintf("m%d", i), 60, ""), "compiled", "refuse")},
			[2]string{"tool.result.rules", output(fmt.Sprintf("r%d", i), 60, "")})
	case 2:
		w.put([2]string{"message.edited.rules", fmt.Sprintf(`{"message_id":"r%d","edit_id":"e%d","content":%q}`, i-1, i, strings.Repeat("another line of text\n", 90))},
			[2]string{"thread.message.long", fmt.Sprintf(`{"message_id":"pin%d","role":"user","content":"Never touch main_%d.go.","pinned":true}`, i, i)})
	case 3:
		w.put([2]string{"message.edited.model", fmt.Sprintf(`{"message_id":"m%d","edit_id":"e%d","content":%q}`, i-2, i, strings.Repeat("refuse this line\n", 100))},
			[2]string{"tool.result.rules", output("r1", 60, "")})
	case 4:
		w.put([2]string{"message.edited.long", fmt.Sprintf(`{"message_id":"l%d","edit_id":"e%d","deleted":true}`, i-3, i)},
			[2]string{"message.edited.ttl", fmt.Sprintf(`{"message_id":"later%d","edit_id":"e%d","content":"?"}`, i, i)})
	case 5:
		w.put([2]string{"message.edited.long", fmt.Sprintf(`{"message_id":"l%d","edit_id":"f%d","content":"Other words of l%d."}`, i-5, i, i-5)},
			[2]string{"tool.result.rules", `{"message_id":"broken"`},
			[2]string{"message.edited.model", fmt.Sprintf(`{"message_id":"m%d","edit_id":"g%d","deleted":true}`, i-5, i)})
	}
}

// Wherever retention has cut a log with everything in it, all that reads it comes to its end, finds nothing that is not
// wrong, and counts what can't be proved.
func TestCutAtEveryEvent(t *testing.T) {
	w := mixed(t)
	store, last := w.store(), w.stream(broker.StreamEvents).CachedInfo().State.LastSeq
	for keep := uint64(1); keep <= last+1; keep += uint64(race.Fewer(15, 1)) { // odd, for what takes turns below
		if err := w.stream(broker.StreamEvents).Purge(within(t), jetstream.WithPurgeSequence(keep)); keep > 1 && err != nil {
			t.Fatal(err)
		}
		// What these have in common is done once at each event: with and without a store, with the rules and without.
		w.provable(keep, func(o *audit.Options) { o.Rules = keep%2 == 0 })
		w.provable(keep, func(o *audit.Options) { o.Rules, o.Store = keep%2 == 1, store })
		for _, name := range mixedThreads[keep%2*2:][:2+keep%2] {
			w.scratch(func(o audit.Options) error {
				s, err := audit.Tell(within(t), o, name, audit.Moment{})
				if err != nil {
					if !errors.Is(err, audit.ErrNoThread) {
						t.Errorf("from event %d, audit %s: %v", keep, name, err)
					}
					return nil
				}
				for _, f := range s.Findings {
					t.Errorf("from event %d, audit %s: %+v", keep, name, f)
				}
				return nil
			})
		}
		if problems, missing := w.check(store, muchLater()); len(problems)+len(missing) > 0 {
			t.Errorf("from event %d, check: %+v %q", keep, problems, missing)
		}
		if keep%5 == 0 || keep > last {
			w.rebuilt(keep)
		}
		if t.Failed() {
			return
		}
	}
}

// provable replays, and holds what is missing to be told as that.
func (w *world) provable(keep uint64, set func(*audit.Options)) {
	w.t.Helper()
	w.scratch(func(o audit.Options) error {
		set(&o)
		how := fmt.Sprintf("from event %d, rules %t, store %t", keep, o.Rules, o.Store != nil)
		rep, err := audit.Replay(within(w.t), o)
		if err != nil {
			w.t.Errorf("%s: %v", how, err)
			return nil
		}
		for _, f := range rep.Findings {
			w.t.Errorf("%s: %+v", how, f)
		}
		told := false
		for _, u := range rep.Unproved {
			told = told || strings.HasPrefix(u.Reason, "removed by retention")
		}
		if told != (keep > 1) {
			w.t.Errorf("%s: not provable are %+v", how, rep.Unproved)
		}
		w.counters(how, o.Scratch)
		return nil
	})
}

// rebuilt makes a store from what is left.
func (w *world) rebuilt(keep uint64) {
	w.t.Helper()
	how, dir := fmt.Sprintf("from event %d, made again", keep), w.config.DataDir
	w.config.DataDir = w.t.TempDir()
	w.run(func(*processor.Processor) {})
	store, err := state.Open(processor.StoreDir(w.config.DataDir), state.Options{Logger: logger(w.t)})
	if err != nil {
		w.t.Fatal(err)
	}
	w.counters(how, store)
	if err := errors.Join(store.Close(), os.RemoveAll(w.config.DataDir)); err != nil {
		w.t.Fatal(err)
	}
	w.config.DataDir = dir
}

// counters holds a store's counters to be what can be counted.
func (w *world) counters(how string, store *state.Store) {
	w.t.Helper()
	for id := range w.config.Partitions + 1 {
		err := store.View(id).Headers(func(h *thread.Header) (bool, error) {
			if h.TokensLive < 0 || h.Tokens < 0 || h.Bytes < 0 {
				w.t.Errorf("%s: %s holds %d tokens, %d in its prompt, %d bytes", how, h.Thread, h.Tokens, h.TokensLive, h.Bytes)
			}
			return true, nil
		})
		if err != nil {
			w.t.Errorf("%s: %v", how, err)
		}
	}
}
