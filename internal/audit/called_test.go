package audit_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"precis/events"
	"precis/internal/audit"
	"precis/internal/broker"
	"precis/internal/config"
	"precis/internal/processor"
	"precis/state"
)

// calls is an assistant's message in the shape of OpenAI's: ids, names, and arguments as strings.
func calls(message, thread string, named ...[3]string) [2]string {
	var list []string
	for _, c := range named {
		list = append(list, fmt.Sprintf(`{"id":%q,"name":%q,"arguments":%q}`, c[0], c[1], c[2]))
	}
	return [2]string{"thread.message." + thread, fmt.Sprintf(`{"message_id":%q,"role":"assistant","content":null,"tool_calls":[%s]}`, message, strings.Join(list, ","))}
}

// answer is a result that says nothing of its call but its id.
func answer(message, thread, call, text string) [2]string {
	return [2]string{"thread.message." + thread, fmt.Sprintf(`{"message_id":%q,"role":"tool","tool_call_id":%q,"content":%q}`, message, call, strings.Repeat(text+"\n", 1+1800/len(text)))}
}

// A result with nothing but its call's id is summarized as what it is: its tool is the one that was called, the last
// time where an id is used again, also when it is made again.
func TestResultsKnowTheirCalls(t *testing.T) {
	w := newWorld(t)
	w.config.Policies[0].Compaction.Trigger.Messages = 1000
	w.run(func(p *processor.Processor) {
		w.put(answer("r0", "bare", "a", "early.go:3: before its call"))
		w.put(calls("m1", "bare", [3]string{"a", "grep", `{"pattern":"ErrStale"}`}, [3]string{"b", "Read", `{"file_path":"/src/main.go"}`}))
		w.put(answer("r1", "bare", "b", "    12→func main() {}"))
		for i := range 20 {
			w.put([2]string{"thread.message.bare", say(fmt.Sprintf("between%d", i), "user", "And?")})
		}
		w.put(answer("r2", "bare", "a", "state/store.go:14:	return ErrStale"),
			calls("m2", "bare", [3]string{"a", "Bash", `{"command":"make build"}`}, [3]string{"a", "Glob", `{"pattern":"*.go"}`}),
			answer("r3", "bare", "a", "compiled one more part"), answer("r3b", "bare", "a", "part.go"),
			calls("m3", "bare", [3]string{"d", "Bash", `{"command":"login --password of-mine"}`}), [2]string{"message.edited.bare", `{"message_id":"m3","deleted":true}`},
			answer("gone", "bare", "d", "welcome"))
		for i := range 100 {
			w.put([2]string{"thread.message.bare", say(fmt.Sprintf("after%d", i), "user", "And?")})
		}
		w.put(answer("r4", "bare", "a", "too late to be known"))
		if err := p.Settled(within(t)); err != nil {
			t.Fatal(err)
		}
		w.put([2]string{"message.edited.bare", fmt.Sprintf(`{"message_id":"r2","content":%q}`, strings.Repeat("state/view.go:80:	return ErrStale\n", 80))})
	})
	want := []string{"r0 ", "r1 Read", "r2 grep", "r3 Bash", "r3b Glob", "gone ", "r4 ", "r2 grep"}
	if got := w.tools("bare"); !slices.Equal(got, want) {
		t.Fatalf("tools: got %q, want %q", got, want)
	}
	w.proved()
}

// Where each message of a turn numbers its calls anew, results have them in turn; what an earlier turn never had is no
// reason to tell a later result as its own.
func TestResultsOfCallsWithOneID(t *testing.T) {
	w := newWorld(t)
	w.config.Policies[0].Compaction.Trigger.Messages = 1000
	w.run(func(p *processor.Processor) {
		w.put(calls("m1", "bare", [3]string{"call_1", "grep", `{"pattern":"ErrStale"}`}),
			calls("m2", "bare", [3]string{"call_0", "Glob", `{"pattern":"*.go"}`}, [3]string{"call_1", "Read", `{"file_path":"/src/main.go"}`}),
			answer("r1", "bare", "call_1", "state/store.go:14:	return ErrStale"), answer("r2", "bare", "call_1", "    12→func main() {}"),
			answer("r2 again", "bare", "call_1", "    12→func main() {}"),
			[2]string{"thread.message.bare", say("u1", "user", "Build it.")}, calls("m3", "bare", [3]string{"call_1", "Task", `{"prompt":"build"}`}),
			[2]string{"thread.message.bare", say("u2", "user", "No, by yourself.")}, calls("m4", "bare", [3]string{"call_1", "Bash", `{"command":"make build"}`}),
			answer("r3", "bare", "call_1", "compiled one more part"))
		if err := p.Settled(within(t)); err != nil {
			t.Fatal(err)
		}
		w.put([2]string{"message.edited.bare", fmt.Sprintf(`{"message_id":"r1","content":%q}`, strings.Repeat("state/view.go:80:	return ErrStale\n", 80))})
	})
	want := []string{"r1 grep", "r2 Read", "r2 again Read", "r3 Bash", "r1 grep"}
	if got := w.tools("bare"); !slices.Equal(got, want) {
		t.Fatalf("tools: got %q, want %q", got, want)
	}
	w.tell("bare", audit.Moment{}, func(s *audit.Story, _ *state.Store) {
		var told []string
		for _, e := range s.Entries {
			if e.Role == events.RoleTool {
				told = append(told, e.MessageID+" "+e.Tool)
			}
		}
		if !slices.Equal(told, want[:4]) {
			t.Errorf("the story tells of %q, want %q", told, want[:4])
		}
	})
	w.proved()
}

// tools are the messages of a thread's summaries by rules, each with its tool, in their order.
func (w *world) tools(thread string) (named []string) {
	w.t.Helper()
	for _, m := range w.messages(broker.StreamSummaries) {
		if m.Subject != string(events.SummaryCreated)+"."+thread {
			continue
		}
		var rec events.Summary
		if err := json.Unmarshal(m.Data, &rec); err != nil {
			w.t.Fatal(err)
		}
		named = append(named, rec.SourceMessageIDs[0]+" "+rec.ToolSummary.ToolName)
	}
	return named
}

// So does the rules' summary where no model answers.
func TestResultsKnowTheirCallsWithoutTheModel(t *testing.T) {
	w := newWorld(t)
	gone := newModel(t)
	gone.Close()
	summarizer := w.config.Providers[config.ProviderSummarizer]
	summarizer.BaseURL, summarizer.MaxAttempts = gone.URL, 1
	w.config.Providers[config.ProviderSummarizer] = summarizer
	w.run(func(*processor.Processor) {
		w.put([2]string{"thread.message.bare", `{"message_id":"u","role":"user","content":"Look.","policy":"by-model"}`},
			calls("m1", "bare", [3]string{"a", "Read", `{"file_path":"/src/main.go"}`}), answer("r1", "bare", "a", "    12→func main() {}"),
			calls("m2", "bare", [3]string{"b", "Bash", `{"command":"make"}`}), [2]string{"message.edited.bare", `{"message_id":"m2","deleted":true}`},
			answer("r2", "bare", "b", "welcome"))
	})
	if got, want := slices.Sorted(slices.Values(w.tools("bare"))), []string{"r1 Read", "r2 "}; !slices.Equal(got, want) {
		t.Fatalf("tools: got %q, want %q", got, want)
	}
	w.proved()
}
