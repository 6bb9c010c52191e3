package audit_test

import (
	"bytes"
	"errors"
	"fmt"
	"html"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"precis/api"
	"precis/internal/audit"
	"precis/internal/broker"
	"precis/internal/content"
	"precis/internal/processor"
	"precis/internal/race"
	"precis/internal/service"
	"precis/internal/timeline"
	"precis/state"
	"precis/summarize"
)

// tell tells a thread's story and has use look at it while its state is there.
func (w *world) tell(thread string, m audit.Moment, use func(*audit.Story, *state.Store)) {
	w.t.Helper()
	w.scratch(func(o audit.Options) error {
		s, err := audit.Tell(within(w.t), o, thread, m)
		if err == nil {
			use(s, o.Scratch)
		}
		return err
	})
}

func TestStory(t *testing.T) {
	w := newWorld(t)
	w.story()
	w.tell("rules", audit.Moment{}, func(s *audit.Story, _ *state.Store) {
		for _, f := range s.Findings {
			t.Errorf("%+v", f)
		}
		var lines []string
		for _, e := range s.Entries {
			lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s%s %s", e.Type, e.MessageID, e.Outcome, e.Code)))
		}
		want := []string{
			"thread.message u1accepted", "tool.result r1accepted", "summary.created", "tool.result r1duplicate",
			"tool.result r2accepted", "summary.created", "tool.result r1rejected message_conflict",
		}
		if got := strings.Join(lines[:len(want)], "\n"); got != strings.Join(want, "\n") {
			t.Errorf("the story begins\n%s\nwant\n%s", got, strings.Join(want, "\n"))
		}
		status := map[string]string{}
		for _, sum := range s.Summaries {
			status[sum.Slot] += string(sum.Status) + " "
		}
		if status["tool:r1"] != "replaced active " || status["tool:r2"] != "stale " || status["tool:r4"] != "active " {
			t.Errorf("summaries stand as %v", status)
		}
		if s.Agent != "builder" || s.Policy != "default" || s.Counters.Duplicates != 1 || s.Counters.ToolResults != 4 {
			t.Errorf("%+v", s)
		}
	})
}

func TestStoryOfNobody(t *testing.T) {
	w := newWorld(t)
	w.story()
	w.scratch(func(o audit.Options) error {
		if _, err := audit.Tell(within(t), o, "nobody", audit.Moment{}); !errors.Is(err, audit.ErrNoThread) {
			t.Errorf("got %v", err)
		}
		return nil
	})
}

// What a replay says an agent would have been given at an event is what the running processor gave.
func TestContextAtEveryEvent(t *testing.T) {
	race.Slow(t)
	w := newWorld(t)
	w.config.Policies[0].Compaction.Trigger = summarize.Condition{Messages: 5}
	type moment struct {
		seq  uint64
		at   time.Time
		want string
	}
	var live []moment
	w.run(func(p *processor.Processor) {
		for i, e := range [][2]string{
			{"thread.message.t", say("u1", "user", "Build it.")},
			{"tool.result.t", output("r1", 80, "")},
			{"thread.message.t", say("a1", "assistant", "It builds.")},
			{"message.edited.t", `{"message_id":"r1","edit_id":"e1","content":` + fmt.Sprintf("%q", strings.Repeat("another line\n", 150)) + `}`},
			{"thread.message.t", say("u2", "user", "Test it.")},
			{"tool.result.t", output("r2", 80, "")},
			{"thread.message.t", say("a2", "assistant", "Nothing fails.")},
			{"thread.message.t", say("u3", "user", "Ship it.")},
			{"thread.message.t", say("a3", "assistant", "Shipped.")},
			{"message.edited.t", `{"message_id":"u1","edit_id":"e2","content":"Build all of it."}`},
			{"tool.result.t", output("r3", 90, `,"policy":"by-model"`)},
			{"message.edited.t", `{"message_id":"r2","edit_id":"e3","deleted":true}`},
			{"thread.message.t", say("u4", "user", "Thanks.")},
		} {
			w.put(e)
			// An event can leave work to a later turn. A time counts only if the prompt is the same before and after it, with all records
			// stored in between.
			given := func() string { return w.context(p.View, p.Partitions(), p.Policies()) }
			settled := func() time.Time {
				if err := p.Settled(within(t)); err != nil {
					t.Fatal(err)
				}
				return time.Now()
			}
			settled()
			want, at := given(), settled()
			for now := given(); now != want; now = given() {
				want, at = now, settled()
			}
			live = append(live, moment{uint64(i + 1), at, want})
		}
	})
	for _, m := range live {
		for _, at := range []audit.Moment{{Seq: m.seq}, {Time: m.at}} {
			w.tell("t", at, func(s *audit.Story, scratch *state.Store) {
				if got := w.context(scratch.View, s.Partition+1, s.Policies); got != m.want {
					t.Errorf("context at %+v\n%s\nwant\n%s", at, got, m.want)
				}
				for _, f := range s.Findings {
					t.Errorf("at %+v: %+v", at, f)
				}
			})
		}
	}
}

// context is what precis.thread.context answers for the thread t from some state.
func (w *world) context(view func(int) state.View, partitions int, policies []summarize.Policy) string {
	w.t.Helper()
	log := broker.NewLogReader(w.broker.JetStream(), broker.StreamEvents)
	for id := range partitions {
		h, err := view(id).Header("t")
		if err != nil {
			w.t.Fatal(err)
		}
		if h == nil {
			continue
		}
		reply, err := service.ReadContext(within(w.t), service.Reading{View: view(id), Log: content.Uncached{Log: log}, Policies: policies}, "t", api.ContextRequest{Format: "openai"})
		if err != nil {
			w.t.Fatal(err)
		}
		b, err := json.Marshal(reply)
		if err != nil {
			w.t.Fatal(err)
		}
		return string(b)
	}
	w.t.Fatal("no thread t")
	return ""
}

func TestPage(t *testing.T) {
	const hostile = `</script><script>alert(1)</script><!--<img src=x onerror=alert(1)>`
	w := newWorld(t)
	w.run(func(*processor.Processor) {
		w.put([2]string{"thread.message.t", say("u1", "user", hostile)}, [2]string{"tool.result.t", output("r1", 80, "")})
	})
	w.tell("t", audit.Moment{}, func(s *audit.Story, _ *state.Store) {
		var page bytes.Buffer
		if err := timeline.WritePage(&page, s); err != nil {
			t.Fatal(err)
		}
		text := page.String()
		if !strings.Contains(text, html.EscapeString(hostile)) || strings.Contains(text, hostile) || strings.Count(text, "<script") != 1 {
			t.Error("the page has not the text alone")
		}
		if strings.Count(text, `class="row`) != 2 || strings.Count(text, `<details class="card"`) != 1 {
			t.Error("the page tells another story")
		}
		for _, outside := range []string{"http://", "https://", "src=", "<link"} {
			if strings.Contains(strings.ReplaceAll(text, html.EscapeString(hostile), ""), outside) {
				t.Errorf("the page needs %q", outside)
			}
		}
	})
}

// Configurations that are kept between runs are read again where there are more, and a story has its own partition's in force.
func TestKeptConfigurations(t *testing.T) {
	w, kept := newWorld(t), &audit.Applied{}
	for starts := 1; starts <= 2; starts++ {
		w.config.Policies[0].Compaction.Trigger = summarize.Condition{Messages: 100 * starts}
		w.run(func(*processor.Processor) { w.put(line(starts, "user")) })
		for range 2 {
			counts, err := audit.Configurations(within(t), w.broker.JetStream(), kept)
			if err != nil || len(counts) != w.config.Partitions+1 {
				t.Fatalf("configurations of %v: %v", counts, err)
			}
			for partition, n := range counts {
				if n != starts {
					t.Errorf("start %d, partition %d: %d configurations", starts, partition, n)
				}
			}
		}
		w.scratch(func(o audit.Options) error {
			o.Applied = kept
			s, err := audit.Tell(within(t), o, "long", audit.Moment{})
			if err == nil && (len(s.Findings) > 0 || s.Policies[0].Compaction.Trigger.Messages != 100*starts) {
				t.Errorf("start %d: %+v, %+v", starts, s.Policies[0].Compaction.Trigger, s.Findings)
			}
			return err
		})
	}
}
