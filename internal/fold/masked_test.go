package fold_test

import (
	"cmp"
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"precis/events"
	"precis/internal/fold"
	"precis/internal/secrets"
	"precis/internal/secrets/samples"
	"precis/summarize/ledger"
	"precis/summarize/llm"
	"precis/summarize/rules"
)

var draws = flag.Int("draws", 1, "how often each kind of secret is drawn; 200 before a release")

var drawSeed = flag.Uint64("draws.seed", 0, "what the secrets are drawn by; 0: the clock")

// leastLeak is the length from which a piece of a secret counts as one.
const leastLeak = 8

// Whatever of a text a summary keeps, and wherever it cuts, no piece of a secret is in it.
func TestNoSummaryHoldsAPieceOfASecret(t *testing.T) {
	masker, err := secrets.Load()
	if err != nil {
		t.Fatal(err)
	}
	seed := cmp.Or(*drawSeed, uint64(time.Now().UnixNano()))
	t.Logf("-draws.seed %d", seed)
	r, leaks, texts := samples.New(seed), 0, 0
	for _, k := range samples.Kinds() {
		told := false
		for range *draws {
			s := k.Draw(r)
			for way, text := range summaries(t, r, s, masker.Mask) {
				texts++
				if piece := s.Leaks(text, leastLeak); piece != "" {
					if leaks++; !told {
						told = true
						t.Errorf("%s: %q of %q is in what %s makes: %s", k.Name, piece, s.Text(), way, around(text, piece))
					}
				}
				if again := masker.Mask(text); again != text {
					t.Errorf("%s: what %s makes is masked again: %q became %q", k.Name, way, text, again)
				}
			}
		}
	}
	t.Logf("%d draws of each kind, %d texts: %d leaks", *draws, texts, leaks)
}

func around(text, piece string) string {
	i := strings.Index(text, piece)
	return text[max(0, i-80):min(len(text), i+len(piece)+80)]
}

// summaries are all texts that are made from a tool output, from its call and from what was said, masked as the fold
// masks them.
func summaries(t *testing.T, r *samples.Random, s samples.Sample, mask func(string) string) map[string]string {
	content := filler(r, r.IntN(30)) + s.Text() + filler(r, r.IntN(30))
	if r.IntN(4) == 0 { // a line that is clipped
		content = filler(r, 2) + strings.Repeat("and so on ", r.IntN(40)) + s.Text() + strings.Repeat(" and so on", r.IntN(40)) + "\n" + filler(r, 8)
	}
	limit := 60 + r.IntN(1400)
	in := rules.Input{
		MessageID: "m1", ToolName: r.One("bash", "read_file", "grep", "web_fetch", "write_file", "query", "list"),
		Arguments: arguments(t, r, s.Text()), Content: content, MaxChars: limit, PreserveErrors: r.IntN(2) == 0, IncludeMetadata: true,
	}
	if r.IntN(3) == 0 {
		failed, code := true, 1
		in.IsError, in.ExitCode = &failed, &code
	}
	masked := fold.MaskedInput(in, mask)
	out := rules.ToolOutput(masked)
	tool, err := json.Marshal(out.Tool)
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{
		"rules": mask(out.Text), "facts": mask(string(tool)), "truncation": mask(rules.HeadTail(masked.Content, rules.CommandOutput, limit, rules.Original("", "m1"))),
		"a model's facts": strings.Join(llm.Facts(out.Text), "\n"),
	}
	list := thread(t, r, s, content, mask)
	l := ledger.Collect(list)
	for _, chars := range []int{200, limit, 4000} {
		texts[fmt.Sprintf("a compaction of %d", chars)] = mask(l.Trim().Text(chars))
		data, err := l.Trim().MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		var stored ledger.Ledger
		if err := stored.UnmarshalBinary(data); err != nil {
			t.Fatal(err)
		}
		texts[fmt.Sprintf("a compaction of compactions of %d", chars)] = mask(ledger.Join([]ledger.Ledger{stored}).Text(chars))
	}
	var turns []llm.Turn
	for _, m := range list {
		turn := llm.Turn{MessageID: m.MessageID, Role: m.Role, Text: m.Content.Text(), Tool: m.ToolName}
		for _, call := range m.ToolCalls {
			turn.Calls = append(turn.Calls, call.Name+" "+call.ArgumentsText())
		}
		turns = append(turns, turn)
	}
	texts["what a model reads"] = mask(llm.Transcript(turns))
	return texts
}

func arguments(t *testing.T, r *samples.Random, text string) jsontext.Value {
	name := r.One("command", "path", "query", "content", "url")
	v, err := json.Marshal(map[string]any{name: text, "options": []string{"-v", text}})
	if err != nil {
		t.Fatal(err)
	}
	if r.IntN(2) == 0 { // as OpenAI has them
		if v, err = json.Marshal(string(v)); err != nil {
			t.Fatal(err)
		}
	}
	return v
}

func thread(t *testing.T, r *samples.Random, s samples.Sample, content string, mask func(string) string) (list []ledger.Message) {
	said := []*events.Message{
		{MessageID: "m1", Role: events.RoleUser, Content: events.TextContent("Please deploy this: " + s.Text() + " and tell me when it is done. " + strings.Repeat("It matters. ", r.IntN(60)))},
		{MessageID: "m2", Role: events.RoleAssistant, Content: events.TextContent("I decided to use " + s.Text() + " for it."), ToolCalls: []events.ToolCall{{ID: "c1", Name: "bash", Arguments: arguments(t, r, s.Text())}}},
		{MessageID: "m3", Role: events.RoleTool, ToolCallID: "c1", ToolName: "bash", Content: events.TextContent(content)},
		{MessageID: "m4", Role: events.RoleTool, ToolName: "bash", Content: events.TextContent("error: " + s.Text() + ": permission denied\nTODO: rotate " + s.Text())},
		{MessageID: "m5", Role: events.RoleUser, Content: events.TextContent("Never use " + s.Text() + " again!")},
	}
	for i, m := range said {
		ev := secrets.MaskEvent(&events.Event{Message: m}, mask)
		list = append(list, ledger.Message{Ordinal: uint64(i + 1), Message: ev.Message})
	}
	return list
}

func filler(r *samples.Random, lines int) string {
	var b strings.Builder
	for i := range lines {
		fmt.Fprintf(&b, "%s of the service in region %d took %d ms, see src/app/mod%d.go:%d\n", r.One("start", "stop", "check", "build"), i, r.IntN(900), r.IntN(40), i)
	}
	return b.String()
}
