package prompt

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"precis/events"
	"precis/summarize"
	"precis/summarize/prompt/valid"
)

var formats = Formats()

// words counts a token for every four bytes, rounded up.
func words(s string) int { return (len(s) + 3) / 4 }

func request(messages []Message, format string) Request {
	return Request{Messages: messages, Context: summarize.Default().Context, Format: format, Count: words}
}

// validity says what a provider would have against a prompt.
func validity(p Prompt, format string) error {
	switch format {
	case FormatOpenAI:
		return valid.OpenAI(p.Messages)
	case FormatResponses:
		return valid.Responses(p.Messages)
	case FormatAnthropic:
		return valid.Anthropic(p.System, p.Messages)
	case FormatGemini:
		return valid.Gemini(p.System, p.Messages)
	}
	return valid.Plain(p.Messages)
}

func TestFormatUnknown(t *testing.T) {
	if _, err := Build(request(nil, "cohere")); !errors.Is(err, ErrFormat) {
		t.Fatalf("got %v, want %v", err, ErrFormat)
	}
}

// Anthropic's user has to begin: what stands there in the user's name says that something was left out only where it was.
func TestAnthropicOpening(t *testing.T) {
	said := func(n int, role string) Message {
		m := events.Message{MessageID: fmt.Sprintf("m%d", n), Role: role, Content: events.TextContent(strings.Repeat("x", 400))}
		return Message{Ordinal: uint64(n), Message: &m}
	}
	whole := []Message{said(1, events.RoleAssistant), said(2, events.RoleUser)}
	cut := append([]Message{said(3, events.RoleUser)}, said(4, events.RoleAssistant), said(5, events.RoleAssistant), said(6, events.RoleUser))
	for _, test := range []struct {
		name     string
		messages []Message
		most     int
		want     string
	}{
		{"nothing before", whole, 0, noneSeen},
		{"nothing at all", nil, 0, noneSeen},
		{"something left out", cut, 340, unseen},
	} {
		r := request(test.messages, FormatAnthropic)
		r.MaxTokens = test.most
		p, err := Build(r)
		if err != nil {
			t.Fatal(err)
		}
		if (len(p.DroppedMessageIDs) > 0) != (test.want == unseen) || !strings.Contains(string(p.Messages), test.want) {
			t.Errorf("%s: dropped %v: %s", test.name, p.DroppedMessageIDs, p.Messages)
		}
	}
}

// threads generates live messages of all kinds, some with summaries, some trimmed.
func threads() *rapid.Generator[[]Message] {
	return rapid.Custom(func(t *rapid.T) []Message {
		var list []Message
		var waiting []string
		for i := range rapid.IntRange(0, 60).Draw(t, "messages") {
			m := events.Message{MessageID: fmt.Sprintf("m%d", i)}
			size := rapid.SampledFrom([]int{0, 3, 40, 400, 2000}).Draw(t, "size")
			m.Content = events.TextContent(fmt.Sprintf("%0*d \n", size, i)[:size+rapid.IntRange(0, 2).Draw(t, "blanks")])
			m.Pinned = rapid.IntRange(0, 19).Draw(t, "pinned") == 0
			next := Message{Ordinal: uint64(i + 1), Message: &m}
			switch k := rapid.IntRange(0, 9).Draw(t, "kind"); {
			case len(waiting) > 0 && k < 6:
				n := rapid.IntRange(0, len(waiting)-1).Draw(t, "which")
				m.Role, m.ToolCallID, m.ToolName = events.RoleTool, waiting[n], "read file"
				waiting = slices.Delete(waiting, n, n+1)
				next.Tokens = words(m.Content.Text())
				if rapid.Bool().Draw(t, "summarized") {
					next.Summary = &Summary{ID: "sum_" + m.MessageID, Content: "[✓ summary]"}
				} else if !m.Pinned && rapid.Bool().Draw(t, "kept") {
					next.Spare = &Summary{ID: "sum_" + m.MessageID, Content: "[✓ summary]"}
				} else if rapid.IntRange(0, 4).Draw(t, "trimmed") == 0 {
					next.TrimmedAt = next.Ordinal + 4
				}
			case k == 0:
				m.Role, m.ToolCallID = events.RoleTool, rapid.SampledFrom([]string{"", "lost", "with space"}).Draw(t, "orphan")
			case k == 1:
				m.Role = rapid.SampledFrom([]string{events.RoleSystem, events.RoleDeveloper}).Draw(t, "role")
			case k < 4:
				m.Role = events.RoleUser
			default:
				m.Role = events.RoleAssistant
				for n := range rapid.IntRange(0, 3).Draw(t, "calls") {
					id := rapid.SampledFrom([]string{fmt.Sprintf("c%d.%d", i, n), fmt.Sprintf("c%d", i*9+n), "again"}).Draw(t, "id")
					args := jsontext.Value(rapid.SampledFrom([]string{`{"a": 1}`, `"{\"b\":2}"`, `"rm -rf"`, `""`, ``}).Draw(t, "arguments"))
					m.ToolCalls = append(m.ToolCalls, events.ToolCall{ID: id, Name: "bash", Arguments: args})
					if rapid.IntRange(0, 9).Draw(t, "answered") > 0 {
						waiting = append(waiting, id)
					}
				}
			}
			list = append(list, next)
		}
		return list
	})
}

func requests() *rapid.Generator[Request] {
	return rapid.Custom(func(t *rapid.T) Request {
		r := request(threads().Draw(t, "thread"), rapid.SampledFrom(formats).Draw(t, "format"))
		r.MaxTokens = rapid.SampledFrom([]int{0, 50, 300, 1000, 4000}).Draw(t, "limit")
		r.Context.SummaryRole = rapid.SampledFrom([]string{"user", "assistant", "system", "developer", ""}).Draw(t, "role")
		if rapid.Bool().Draw(t, "compacted") {
			r.Compaction = &Summary{ID: "sum_current", Content: strings.Repeat("what happened. ", 30)}
		}
		return r
	})
}

// Every prompt is one that the provider takes, within its limit, and says what became of each message.
func TestPromptsAreValid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := requests().Draw(t, "request")
		p, err := Build(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := validity(p, r.Format); err != nil {
			t.Fatalf("%v\n%s", err, p.Messages)
		}
		if r.MaxTokens > 0 && p.WithinBudget != (p.TokenCount <= r.MaxTokens) {
			t.Fatalf("%d of %d tokens, within budget %v", p.TokenCount, r.MaxTokens, p.WithinBudget)
		}
		verbatim(t, r, p)
		accounted(t, r, p)
	})
}

// verbatim: system, pinned and newest user messages stand in the prompt whatever the limit is.
func verbatim(t *rapid.T, r Request, p Prompt) {
	all := texts(t, p)
	user := -1
	for i, m := range r.Messages {
		if m.Role == events.RoleUser {
			user = i
		}
	}
	for i, m := range r.Messages {
		text := strings.TrimRight(m.Content.Text(), " \n")
		must := i == user || isSystem(m.Role) || m.Pinned && m.Summary == nil && m.TrimmedAt == 0
		if must && text != "" && !slices.ContainsFunc(all, func(s string) bool { return strings.TrimRight(strings.TrimPrefix(s, systemMark), " \n") == text }) {
			t.Fatalf("message %d (%s) is not there\n%s", i, m.Role, p.Messages)
		}
	}
}

// accounted: without a limit nothing is dropped but what a policy has trimmed; with one, what is missing is named.
func accounted(t *rapid.T, r Request, p Prompt) {
	if r.MaxTokens == 0 {
		for _, m := range r.Messages {
			if dropped := slices.Contains(p.DroppedMessageIDs, m.MessageID); dropped != (m.TrimmedAt > 0 && m.Summary == nil) && !slices.Contains(p.WaitingMessageIDs, m.MessageID) {
				t.Fatalf("%s dropped without a limit: %v", m.MessageID, dropped)
			}
		}
	}
	if r.Format != FormatMessages {
		return
	}
	var list []plainMessage
	if err := json.Unmarshal(p.Messages, &list); err != nil {
		t.Fatal(err)
	}
	for _, m := range r.Messages {
		there := slices.ContainsFunc(list, func(q plainMessage) bool { return q.MessageID == m.MessageID })
		named := slices.Contains(p.DroppedMessageIDs, m.MessageID) || slices.Contains(p.WaitingMessageIDs, m.MessageID)
		if !there && !named {
			t.Fatalf("%s is neither in the prompt nor named", m.MessageID)
		}
	}
}

// texts are all strings in a prompt's contents.
func texts(t *rapid.T, p Prompt) []string {
	var all []string
	for _, v := range []jsontext.Value{p.System, p.Messages} {
		if v == nil {
			continue
		}
		var list any
		if err := json.Unmarshal(v, &list); err != nil {
			t.Fatal(err)
		}
		all = collect(list, all)
	}
	return all
}

func collect(v any, all []string) []string {
	switch v := v.(type) {
	case string:
		return append(all, v)
	case []any:
		for _, e := range v {
			all = collect(e, all)
		}
	case map[string]any:
		for _, e := range v {
			all = collect(e, all)
		}
	}
	return all
}

// The same request gives the same bytes, and a thread that grows by whole rounds leaves them as they are.
func TestPrefixStands(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var list []Message
		n := 0
		add := func(m events.Message) {
			n++
			m.MessageID = fmt.Sprintf("m%d", n)
			list = append(list, Message{Ordinal: uint64(n), Message: &m})
		}
		format := rapid.SampledFrom([]string{FormatOpenAI, FormatMessages}).Draw(t, "format")
		limit := rapid.SampledFrom([]int{0, 2000}).Draw(t, "limit")
		var before Prompt
		changed := 0
		add(events.Message{Role: events.RoleSystem, Content: events.TextContent("rules")})
		rounds := rapid.IntRange(1, 40).Draw(t, "rounds")
		for range rounds {
			round(t, add)
			r := request(list, format)
			r.MaxTokens = limit
			p, err := Build(r)
			if err != nil {
				t.Fatal(err)
			}
			if again, _ := Build(r); !bytes.Equal(again.Messages, p.Messages) {
				t.Fatal("not the same bytes")
			}
			if before.Messages != nil && !bytes.HasPrefix(p.Messages, bytes.TrimSuffix(before.Messages, []byte("]"))) {
				changed++
			}
			before = p
		}
		if limit == 0 && changed > 0 || changed > rounds/2 {
			t.Fatalf("the prefix changed %d times in %d rounds", changed, rounds)
		}
	})
}

func round(t *rapid.T, add func(events.Message)) {
	size := rapid.IntRange(1, 400).Draw(t, "size")
	text := events.TextContent(strings.Repeat("x", size))
	if rapid.IntRange(0, 5).Draw(t, "user") == 0 {
		add(events.Message{Role: events.RoleUser, Content: text})
		return
	}
	id := fmt.Sprintf("c%d", rapid.IntRange(0, 1<<30).Draw(t, "id"))
	add(events.Message{Role: events.RoleAssistant, ToolCalls: []events.ToolCall{{ID: id, Name: "ls"}}})
	add(events.Message{Role: events.RoleTool, ToolCallID: id, ToolName: "ls", Content: text})
}

// What the log no longer holds makes no difference to a prompt, nor to what it takes, and is named.
func TestGoneMessages(t *testing.T) {
	said := func(n int, role string, gone bool) Message {
		m := events.Message{MessageID: fmt.Sprintf("m%d", n), Role: role}
		if !gone {
			m.Content = events.TextContent("still here")
		}
		return Message{Ordinal: uint64(n), Message: &m, Gone: gone}
	}
	gone := []Message{
		said(1, events.RoleSystem, true), said(2, events.RoleUser, true), said(3, events.RoleAssistant, true), said(4, events.RoleTool, true),
	}
	left := []Message{said(5, events.RoleUser, false), said(6, events.RoleAssistant, false)}
	for _, format := range formats {
		want, err := Build(request(left, format))
		if err != nil {
			t.Fatal(err)
		}
		got, err := Build(request(append(slices.Clone(gone), left...), format))
		if err != nil {
			t.Fatal(err)
		}
		if string(got.Messages) != string(want.Messages) || got.TokenCount != want.TokenCount {
			t.Errorf("%s: %d tokens %s, want %d %s", format, got.TokenCount, got.Messages, want.TokenCount, want.Messages)
		}
		if ids := []string{"m1", "m2", "m3", "m4"}; !slices.Equal(got.DroppedMessageIDs, ids) {
			t.Errorf("%s: dropped %q", format, got.DroppedMessageIDs)
		}
	}
}
