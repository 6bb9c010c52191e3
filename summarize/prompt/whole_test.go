package prompt

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"precis/events"
	"precis/summarize"
)

// An output that is kept whole is whole, or is named as shortened and its summary as standing, or is given up with the
// rest; without a limit it is whole. Of those that don't fit the largest give way.
func TestKeptOutputs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := requests().Draw(t, "request")
		r.Format = FormatMessages
		r.Context.KeepOutputs.Turns = rapid.IntRange(0, 3).Draw(t, "turns")
		p, err := Build(r)
		if err != nil {
			t.Fatal(err)
		}
		var list []plainMessage
		if err := json.Unmarshal(p.Messages, &list); err != nil {
			t.Fatal(err)
		}
		largestWhole, smallestShort := 0, 1<<30
		for i := range r.Messages {
			m := &r.Messages[i]
			at := slices.IndexFunc(list, func(q plainMessage) bool { return q.MessageID == m.MessageID })
			short := slices.Contains(p.ShortenedMessageIDs, m.MessageID)
			dropped := slices.Contains(p.DroppedMessageIDs, m.MessageID)
			switch {
			case m.Spare == nil || slices.Contains(p.WaitingMessageIDs, m.MessageID) || dropped:
				if short {
					t.Fatalf("%s is shortened, and dropped %t or not kept", m.MessageID, dropped)
				}
			case short:
				smallestShort = min(smallestShort, m.Tokens)
				if r.MaxTokens == 0 || list[at].SummaryID != m.Spare.ID || !slices.Contains(p.SummaryIDs, m.Spare.ID) {
					t.Fatalf("%s is shortened: %+v, summaries %v", m.MessageID, list[at], p.SummaryIDs)
				}
			default:
				largestWhole = max(largestWhole, m.Tokens)
				if list[at].SummaryID != "" || string(list[at].Content) != string(encoded(m.Content)) {
					t.Fatalf("%s is not whole: %+v", m.MessageID, list[at])
				}
			}
		}
		if largestWhole > smallestShort {
			t.Fatalf("one of %d tokens gives way to one of %d", smallestShort, largestWhole)
		}
		if r.MaxTokens > 0 && p.TokenCount > r.MaxTokens && p.WithinBudget {
			t.Fatal("over the limit")
		}
	})
}

// loop is an agent's thread at one of its turns: each turn reads something of a size, and of all but the newest output a
// summary stands.
func loop(sizes []int) []Message {
	list := []Message{{Ordinal: 1, Message: &events.Message{MessageID: "u", Role: events.RoleUser, Content: events.TextContent("Go on.")}}}
	for i, size := range sizes {
		id := fmt.Sprintf("c%d", i)
		call := &events.Message{MessageID: fmt.Sprintf("a%d", i), Role: events.RoleAssistant, Content: events.TextContent("I read on."), ToolCalls: []events.ToolCall{{ID: id, Name: "Read"}}}
		text := strings.TrimSpace(strings.Repeat("word ", size))
		result := &events.Message{MessageID: fmt.Sprintf("r%d", i), Role: events.RoleTool, ToolCallID: id, ToolName: "Read", Content: events.TextContent(text)}
		out := Message{Ordinal: uint64(2*i + 3), Message: result, Tokens: words(text)}
		if sum := (&Summary{ID: "s" + id, Content: "[a file]"}); i == len(sizes)-1 {
			out.Spare = sum
		} else {
			out.Summary = sum
		}
		list = append(list, Message{Ordinal: uint64(2*i + 2), Message: call}, out)
	}
	return list
}

// Under a limit an output of up to half of it stands whole in the prompt that follows it, and a larger one as its summary.
// What had to go to make room for it does not come back when its summary has taken its place: the prompts of a loop begin
// as the one before, but for the output.
func TestRoomForOutputs(t *testing.T) {
	var sizes []int
	var before Prompt
	whole, shortened, moved := 0, 0, 0
	for i := range 120 {
		sizes = append(sizes, []int{20, 200, 700, 50}[i%4])
		r := request(loop(sizes), FormatMessages)
		r.MaxTokens, r.Context.KeepOutputs = 1000, summarize.KeepOutputs{Turns: 1}
		p, err := Build(r)
		if err != nil {
			t.Fatal(err)
		}
		if !p.WithinBudget {
			t.Fatalf("turn %d: %d tokens", i, p.TokenCount)
		}
		switch short := len(p.ShortenedMessageIDs) > 0; {
		case i < 20: // there is room
		case short != (sizes[i] > 500):
			t.Fatalf("turn %d: an output of %d is shortened: %t", i, sizes[i], short)
		case short:
			shortened++
		default:
			whole++
		}
		for _, id := range before.DroppedMessageIDs {
			if !slices.Contains(p.DroppedMessageIDs, id) {
				t.Fatalf("turn %d: %s has come back", i, id)
			}
		}
		if len(p.DroppedMessageIDs) > len(before.DroppedMessageIDs) {
			moved++
		}
		before = p
	}
	if whole != 75 || shortened != 25 || moved > 30 {
		t.Errorf("%d whole, %d shortened, messages were given up at %d of 120 turns", whole, shortened, moved)
	}
}

// The newest turn does not make room for its own outputs: where they can't be whole, its summaries stand.
func TestNewestTurnKeepsItsSummaries(t *testing.T) {
	for _, said := range []int{1, 2500, 4000, 5000} {
		for _, size := range []int{500, 1400, 2900, 7000} {
			list := loop([]int{size})
			list[0].Message.Content = events.TextContent(strings.TrimSpace(strings.Repeat("word ", said)))
			r := request(list, FormatMessages)
			r.MaxTokens, r.Context.KeepOutputs = 8000, summarize.KeepOutputs{Turns: 1}
			p, err := Build(r)
			if err != nil {
				t.Fatal(err)
			}
			stands := strings.Count(string(p.Messages), "word ") >= said+size-2
			if strings.Contains(string(p.Messages), "truncated") || len(p.DroppedMessageIDs) > 0 || len(p.SummaryIDs) == 1 == stands ||
				len(p.ShortenedMessageIDs) == 1 == stands {
				t.Errorf("%d said, an output of %d: %.200s… shortened %v, dropped %v", said, size, p.Messages, p.ShortenedMessageIDs, p.DroppedMessageIDs)
			}
		}
	}
}

// turned is a user's message with the results of two calls, in another order, and with what the user says besides.
const turned = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"c2","content":[{"type":"text","text":"a word of the second, and more of it, and more"}]},
	{"type":"tool_result","tool_use_id":"c1","content":"the first, which goes on for a while, and on","is_error":true},{"type":"text","text":"said beside them"}]}`

// One summary stands for a message with several results, with what it says besides, or none of it does.
func TestKeptOutputOfSeveralCalls(t *testing.T) {
	messages := published(t, []jsontext.Value{
		jsontext.Value(`{"role":"user","content":"Go."}`),
		jsontext.Value(`{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"ls","input":{}},{"type":"tool_use","id":"c2","name":"ls","input":{}}]}`),
		jsontext.Value(turned),
	})
	sum := &Summary{ID: "s", Content: "[both]"}
	for _, format := range formats {
		tokens := 0
		build := func(limit int, spare, stands *Summary) Prompt {
			list := slices.Clone(messages)
			list[2].Spare, list[2].Summary, list[2].Tokens = spare, stands, tokens
			r := request(list, format)
			r.MaxTokens = limit
			p, err := Build(r)
			if err != nil {
				t.Fatal(err)
			}
			if err := validity(p, format); err != nil {
				t.Fatalf("%s: %v", format, err)
			}
			return p
		}
		whole, short := build(0, nil, nil), build(0, nil, sum)
		tokens = whole.TokenCount - short.TokenCount + words(sum.Content) + words(sharedResult)
		room := whole.TokenCount + openingCost(request(nil, format)) // which is kept free until it shows that none is needed
		if got := build(room, sum, nil); string(got.Messages) != string(whole.Messages) || len(got.ShortenedMessageIDs) > 0 || len(got.SummaryIDs) > 0 {
			t.Errorf("%s: with room %s, shortened %v, summaries %v", format, got.Messages, got.ShortenedMessageIDs, got.SummaryIDs)
		}
		tokens = 0 // so that nothing has to go for it
		got := build(room-1, sum, nil)
		if string(got.Messages) != string(short.Messages) || got.TokenCount != short.TokenCount || !slices.Equal(got.SummaryIDs, []string{"s"}) {
			t.Errorf("%s: without room %d tokens, summaries %v\n%s\nwant %d\n%s", format, got.TokenCount, got.SummaryIDs, got.Messages, short.TokenCount, short.Messages)
		}
		if !slices.Equal(got.ShortenedMessageIDs, []string{"m2"}) {
			t.Errorf("%s: shortened %v", format, got.ShortenedMessageIDs)
		}
	}
}

// What a message says beside results stands where a mark is in their place.
func TestBesideCutResults(t *testing.T) {
	long := strings.Repeat("word ", 200)
	messages := published(t, []jsontext.Value{
		jsontext.Value(`{"role":"user","content":"Go."}`),
		jsontext.Value(`{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"ls","input":{}}]}`),
		jsontext.Value(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"` + long + `"},{"type":"text","text":"said beside it"}]}`),
		jsontext.Value(`{"role":"assistant","content":"Well."}`),
		jsontext.Value(`{"role":"user","content":"On."}`),
	})
	for _, format := range formats {
		r := request(messages, format)
		r.MaxTokens = 200
		p, err := Build(r)
		if err != nil {
			t.Fatal(err)
		}
		if text := string(p.Messages); strings.Contains(text, long) || !strings.Contains(text, "said beside it") || !p.WithinBudget {
			t.Errorf("%s: %d tokens %s", format, p.TokenCount, text)
		}
		beside := published(t, []jsontext.Value{jsontext.Value(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"a"},{"type":"text","text":"` + long + `"}]}`)})
		if p, err = Build(request(append(slices.Clone(messages[:2]), beside...), format)); err != nil || p.TokenCount < words(long) || p.TokenCount > words(long)+100 {
			t.Errorf("%s: %d tokens, of which %d beside a result, %v", format, p.TokenCount, words(long), err)
		}
	}
}

// What a message says beside results is not the newest of the user's while its summary stands for it: what the user said before stays.
func TestSpareSummaryIsNotTheUsers(t *testing.T) {
	messages := published(t, []jsontext.Value{
		jsontext.Value(`{"role":"user","content":"The goal. ` + strings.Repeat("word ", 60) + `"}`),
		jsontext.Value(`{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"ls","input":{}}]}`),
		jsontext.Value(`{"role":"tool","content":[{"type":"tool_result","tool_use_id":"c1","content":"` + strings.Repeat("line ", 400) + `"},{"type":"text","text":"said beside it"}]}`),
		jsontext.Value(`{"role":"assistant","content":"` + strings.Repeat("Well. ", 60) + `"}`),
	})
	messages[2].Spare, messages[2].Tokens = &Summary{ID: "s", Content: strings.Repeat("short ", 30)}, 500
	for _, format := range formats {
		for limit := 130; limit < 400; limit += 10 {
			r := request(messages, format)
			r.MaxTokens = limit
			p, err := Build(r)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(p.Messages), "The goal.") {
				t.Fatalf("%s, limit %d: dropped %v\n%s", format, limit, p.DroppedMessageIDs, p.Messages)
			}
		}
	}
}
