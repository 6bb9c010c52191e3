package prompt

import (
	"errors"
	"reflect"
	"slices"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"precis/events"
)

// Whatever the format: each message of a prompt has its source, every message of the thread that is neither given up nor
// waits stands in one, the summaries are those that the prompt names, and tokens add up to the prompt's.
func TestSources(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := requests().Draw(t, "request")
		p, err := Build(r)
		if err != nil {
			t.Fatal(err)
		}
		sourced(t, r, p)
	})
}

// A prompt of summaries alone is the whole one, with null for each message of the thread that stands without a summary.
func TestOnlySummaries(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := requests().Draw(t, "request")
		whole, err := Build(r)
		if err != nil {
			t.Fatal(err)
		}
		r.OnlySummaries = true
		short, err := Build(r)
		if err != nil {
			t.Fatal(err)
		}
		var want, got []jsontext.Value
		if err := errors.Join(json.Unmarshal(whole.Messages, &want), json.Unmarshal(short.Messages, &got)); err != nil {
			t.Fatal(err)
		}
		for i, s := range whole.Sources {
			if len(s.SummaryIDs) == 0 && len(s.MessageIDs) > 0 {
				want[i] = jsontext.Value("null")
			}
		}
		if !slices.EqualFunc(want, got, func(a, b jsontext.Value) bool { return string(a) == string(b) }) {
			t.Fatalf("%s, want %s", got, want)
		}
		short.Messages = whole.Messages
		if !reflect.DeepEqual(short, whole) {
			t.Fatalf("%+v, want %+v", short, whole)
		}
	})
}

// sourced checks a prompt's sources against it.
func sourced(t *rapid.T, r Request, p Prompt) {
	var list []jsontext.Value
	if err := json.Unmarshal(p.Messages, &list); err != nil {
		t.Fatal(err)
	}
	tokens, summaries, there := p.SystemSource.Tokens, slices.Clone(p.SystemSource.SummaryIDs), map[string]bool{}
	for _, id := range p.SystemSource.MessageIDs {
		there[id] = true
	}
	for _, s := range p.Sources {
		tokens += s.Tokens
		summaries = append(summaries, s.SummaryIDs...)
		for _, id := range s.MessageIDs {
			there[id] = true
		}
	}
	outputs := map[string]bool{}
	for _, m := range r.Messages {
		outputs[m.MessageID] = m.Role == events.RoleTool || len(m.Results()) > 0
	}
	for i, s := range p.Sources {
		if i > 0 && s.Tokens == 0 && len(s.MessageIDs)+len(s.SummaryIDs) == 0 {
			t.Fatalf("nothing is in message %d of %s", i, p.Messages)
		}
		var m struct{ Role, Type string }
		if err := json.Unmarshal(list[i], &m, json.MatchCaseInsensitiveNames(true)); err != nil {
			t.Fatal(err)
		}
		assistant := m.Role == events.RoleAssistant || m.Role == roleModel || m.Type == "function_call"
		if assistant && slices.ContainsFunc(s.MessageIDs, func(id string) bool { return outputs[id] }) {
			t.Fatalf("%s of the assistant is made of outputs: %+v", list[i], s)
		}
	}
	if len(p.Sources) != len(list) {
		t.Fatalf("%d sources of %d messages", len(p.Sources), len(list))
	}
	slices.Sort(summaries)
	if want := slices.Sorted(slices.Values(p.SummaryIDs)); !slices.Equal(slices.Compact(summaries), slices.Compact(want)) {
		t.Fatalf("summaries %v, want %v", summaries, want)
	}
	for _, m := range r.Messages {
		gone := slices.Contains(p.DroppedMessageIDs, m.MessageID) || slices.Contains(p.WaitingMessageIDs, m.MessageID)
		if !there[m.MessageID] && !gone {
			t.Fatalf("%s stands nowhere", m.MessageID)
		}
	}
	parts := p.Parts
	if sum := parts.System + parts.Compaction + parts.Messages + parts.Outputs + parts.Summaries + parts.Frame; sum != p.TokenCount || parts.Messages < 0 {
		t.Fatalf("%+v is %d of %d tokens", parts, sum, p.TokenCount)
	}
	if tokens+parts.Frame != p.TokenCount {
		t.Fatalf("the sources take %d, the frame %d of %d tokens", tokens, parts.Frame, p.TokenCount)
	}
}

// In the thread's own shape each message names itself: its source names the same.
func TestSourcesNameTheirMessages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := requests().Draw(t, "request")
		r.Format = FormatMessages
		p, err := Build(r)
		if err != nil {
			t.Fatal(err)
		}
		var list []plainMessage
		if err := json.Unmarshal(p.Messages, &list); err != nil {
			t.Fatal(err)
		}
		for i, m := range list {
			s := p.Sources[i]
			if m.MessageID != "" && !slices.Equal(s.MessageIDs, []string{m.MessageID}) || m.SummaryID != "" && !slices.Equal(s.SummaryIDs, []string{m.SummaryID}) {
				t.Fatalf("message %d is %+v, its source %+v", i, m, s)
			}
		}
	})
}

// The results of a message that stands as its summary are messages of their own in chat completions: each names the summary, the first
// that has it and those that refer to that.
func TestSourcesOfSharedSummaries(t *testing.T) {
	messages := thread(t, `{"role":"user","content":"Go."}`,
		`{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"a","input":{}},{"type":"tool_use","id":"t2","name":"a","input":{}}]}`,
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"x"},{"type":"tool_result","tool_use_id":"t2","content":"y"}]}`)
	messages[2].Summary = &Summary{ID: "sum_1", Content: "x and y"}
	for _, format := range Formats() {
		p := builtOf(t, format, messages)
		of := 0
		for _, s := range p.Sources {
			if slices.Contains(s.MessageIDs, messages[2].MessageID) {
				of++
				if !slices.Equal(s.SummaryIDs, []string{"sum_1"}) {
					t.Errorf("%s: %+v\n%s", format, p.Sources, p.Messages)
				}
			}
		}
		if of == 0 || of > 2 {
			t.Errorf("%s: %+v\n%s", format, p.Sources, p.Messages)
		}
	}
}
