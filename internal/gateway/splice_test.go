package gateway

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	client "precis/api"
)

// reply is the prompt of five messages whose second and third a compaction stands for, and whose fourth stands as its summary.
func reply() *client.ContextReply {
	return &client.ContextReply{
		Messages: jsontext.Value(`[{"s":"m0"},{"s":"compaction"},{"s":"summary of m3"},{"s":"m4"}]`),
		Sources: []client.Source{
			{MessageIDs: []string{"m0"}}, {SummaryIDs: []string{"sum_c"}}, {MessageIDs: []string{"m3"}, SummaryIDs: []string{"sum_t"}}, {MessageIDs: []string{"m4"}},
		},
		Explain: &client.Explanation{Summaries: []client.ExplainedSummary{
			{ID: "sum_c", MessageIDs: []string{"m1", "m2"}}, {ID: "sum_t", MessageIDs: []string{"m3"}},
		}},
	}
}

// A prompt takes the request's place only if it accounts for each of its messages, in their order. Others of the thread are
// left out.
func TestSpliced(t *testing.T) {
	var messages []*message
	for i := range 5 {
		messages = append(messages, &message{role: []string{"user", "assistant"}[i%2], id: fmt.Sprintf("m%d", i), raw: []jsontext.Value{jsontext.Value(fmt.Sprintf(`{"client's":%d}`, i))}})
	}
	messages[3].raw[0] = jsontext.Value(`{"client's":3, "output":"` + strings.Repeat("x", 100) + `"}`)
	s, err := spliced(messages, reply(), nil)
	if err != nil {
		t.Fatal(err)
	}
	list := s.list
	if got, want := string(asList(list)), `[{"client's":0},{"s":"compaction"},{"s":"summary of m3"},{"client's":4}]`; got != want || s.others || s.newer != 0 {
		t.Fatalf("%s, want\n%s", got, want)
	}
	cleared := slices.Clone(messages)
	cleared[3] = &message{role: "assistant", id: "m3", raw: []jsontext.Value{jsontext.Value(`{"cleared":""}`)}}
	own, err := spliced(cleared, reply(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(asList(own.list)), `[{"client's":0},{"s":"compaction"},{"cleared":""},{"client's":4}]`; got != want {
		t.Errorf("%s, want\n%s", got, want)
	}
	for name, change := range map[string]func(p *client.ContextReply){
		"one that stands whole": func(p *client.ContextReply) {
			p.Sources = append(p.Sources, client.Source{MessageIDs: []string{"x"}})
			p.Messages = jsontext.Value(`[{"s":"m0"},{"s":"compaction"},{"s":"summary of m3"},{"s":"m4"},{"s":"x"}]`)
		},
		"one joined with its neighbour": func(p *client.ContextReply) { p.Sources[3].MessageIDs = []string{"x", "m4", "y"} },
		"one that stands as a summary joined with its neighbour": func(p *client.ContextReply) {
			p.Explain.Summaries = append(p.Explain.Summaries, client.ExplainedSummary{ID: "sum_x", MessageIDs: []string{"x"}})
			p.Sources[3].SummaryIDs = []string{"sum_x"}
		},
		"one that waits for its result": func(p *client.ContextReply) {
			p.WaitingMessageIDs, p.Explain.LeftOut = []string{"x"}, []client.LeftOut{{ID: "x", Reason: waitsForResult}}
		},
		"one that stands as its summary": func(p *client.ContextReply) {
			p.Explain.Summaries = append(p.Explain.Summaries, client.ExplainedSummary{ID: "sum_x", MessageIDs: []string{"x"}})
			p.Sources = append(p.Sources, client.Source{MessageIDs: []string{"x"}, SummaryIDs: []string{"sum_x"}})
			p.Messages = jsontext.Value(`[{"s":"m0"},{"s":"compaction"},{"s":"summary of m3"},{"s":"m4"},{"s":"summary of x"}]`)
		},
	} {
		p := reply()
		change(p)
		if more, err := spliced(messages, p, nil); err != nil || !more.others || string(asList(more.list)) != string(asList(list)) {
			t.Errorf("%s: %v, %+v", name, err, more)
		}
	}
	for name, change := range map[string]func(p *client.ContextReply){
		"a summary of others joined with one of its own": func(p *client.ContextReply) {
			p.Explain.Summaries = append(p.Explain.Summaries, client.ExplainedSummary{ID: "sum_x", MessageIDs: []string{"x"}})
			p.Sources[2].SummaryIDs = []string{"sum_t", "sum_x"}
		},
		"a message that nothing stands for": func(p *client.ContextReply) { p.Explain.Summaries[0].MessageIDs = []string{"m1"} },
		"a summary of another message": func(p *client.ContextReply) {
			p.Explain.Summaries[0].MessageIDs = []string{"m1", "m2", "of another branch"}
		},
		"a summary of more than is named": func(p *client.ContextReply) { p.Explain.Summaries[0].MessageIDs = nil },
		"another message in a summary":    func(p *client.ContextReply) { p.Sources[2].MessageIDs = []string{"m3", "m5"} },
		"a summary of what is not read": func(p *client.ContextReply) {
			p.Sources[0].MessageIDs = []string{"m0", "of another branch"}
			p.Explain.Summaries = append(p.Explain.Summaries, client.ExplainedSummary{ID: "sum_l", MessageIDs: []string{"m4"}})
			p.Sources[3].SummaryIDs = []string{"sum_l"}
		},
		"another order": func(p *client.ContextReply) {
			p.Sources[0].MessageIDs, p.Sources[3].MessageIDs = []string{"m4"}, []string{"m0"}
		},
		"the last message left out":             func(p *client.ContextReply) { p.Sources, p.Messages = p.Sources[:3], jsontext.Value(`[1,2,3]`) },
		"a text of precis's own in the middle":  func(p *client.ContextReply) { p.Sources[2] = client.Source{} },
		"more messages than sources":            func(p *client.ContextReply) { p.Messages = jsontext.Value(`[1,2,3,4,5]`) },
		"messages without room":                 func(p *client.ContextReply) { p.DroppedCount = 1 },
		"a message that waits for its result":   func(p *client.ContextReply) { p.WaitingMessageIDs = []string{"m4"} },
		"a message left out for another reason": func(p *client.ContextReply) { p.Explain.LeftOut = []client.LeftOut{{ID: "m1"}} },
		"no explanation":                        func(p *client.ContextReply) { p.Explain = nil },
		"a summary among the instructions":      func(p *client.ContextReply) { p.SystemSource = &client.Source{SummaryIDs: []string{"sum_s"}} },
		"a summary beside what stands whole":    func(p *client.ContextReply) { p.Sources[2].MessageIDs = []string{"m0"} },
		"a part that is left out of what stands": func(p *client.ContextReply) {
			p.Sources[0].SummaryIDs, p.OmittedParts = []string{"x"}, []client.OmittedPart{{MessageID: "m0"}}
		},
	} {
		p := reply()
		change(p)
		if s, err := spliced(messages, p, nil); err == nil && s.newer == 0 || err != nil && !strings.Contains(err.Error(), asDiverged) {
			t.Errorf("%s: %v, %+v", name, err, s)
		}
	}
}
