package prompt

import (
	"regexp"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"precis/events"
	"precis/internal/race"
	"precis/summarize/tokens"
)

// What may be written without a count: ids, types and flags, by message and by part of one; see tokens.Unread. Beyond that each token
// stands for eight bytes at most: four as it is counted, and twice that where JSON escapes a text.
const (
	bytesOfToken = 8
	bytesOfFrame = 300
)

// withoutMedia is how many bytes of a text are none of the media's data, nor base64 right before that of an image.
func withoutMedia(text string) int {
	n := len(text) - len(pdf1)*strings.Count(text, pdf1)
	for {
		before, after, ok := strings.Cut(text, png300)
		if !ok {
			return n
		}
		n -= len(png300) + len(before) - len(strings.TrimRight(before, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"))
		text = after
	}
}

// least is what a prompt of such messages has to count at least.
func least(p Prompt, parts int) int {
	written := withoutMedia(string(p.Messages)) + withoutMedia(string(p.System))
	return (written - parts*bytesOfFrame) / bytesOfToken
}

func partsOf(messages []Message) (n int) {
	for _, m := range messages {
		n += 2 + 2*len(m.ToolCalls)
		for _, p := range m.Content.Parts() {
			if n += 2; p.Item != nil {
				n += len(p.Item.Parts)
			}
			if p.Result != nil {
				n += len(p.Result.Parts)
			}
		}
	}
	return n
}

// A prompt counts all that it holds, in every format: each member of a message or of a part in turn is so large that a count
// without it would be too small.
func TestWhatIsWrittenCounts(t *testing.T) {
	race.Slow(t)
	for _, d := range dialects {
		t.Run(d.format, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				list := d.thread(&grammar{T: t})
				at := rapid.IntRange(0, len(list)-1).Draw(t, "at")
				list[at] = grown(t, list[at])
				messages := published(t, list)
				for _, format := range formats {
					p, err := Build(request(messages, format))
					if err != nil {
						t.Fatal(err)
					}
					if want := least(p, partsOf(messages)); p.TokenCount < want {
						t.Fatalf("%s counts %d tokens, want %d of\n%.3000s", format, p.TokenCount, want, p.Messages)
					}
				}
			})
		})
	}
}

// large are members that only grow: no part's type, role, id or name, and nothing that a call is found by.
var large = regexp.MustCompile(`"(signature|thoughtSignature|encrypted_content|text|thinking|data|refusal|content|arguments|query|value|title|path)":"`)

// grown is a message with one of these members grown by 100 kB, unless those are media.
func grown(t *rapid.T, message jsontext.Value) jsontext.Value {
	s := string(message)
	found := large.FindAllStringIndex(s, -1)
	if len(found) == 0 {
		return message
	}
	at := rapid.SampledFrom(found).Draw(t, "member")[1]
	for _, data := range []string{png300, pdf1, "AAAA", "{", "data:"} {
		if strings.HasPrefix(s[at:], data) {
			return message
		}
	}
	return jsontext.Value(s[:at] + strings.Repeat("QUJD", 25_000) + s[at:])
}

// What only one format writes counts there, and with the counters of the thread.
func TestMembersCount(t *testing.T) {
	blob := strings.Repeat("QUJD", 100_000)
	for name, test := range map[string]struct{ format, message, rest string }{
		"a provider's tool":    {FormatAnthropic, `{"role":"assistant","content":[{"type":"server_tool_use","id":"s","name":"web_search","input":{}},{"type":"web_search_tool_result","tool_use_id":"s","content":[{"type":"web_search_result","encrypted_content":"$"}]}]}`, ``},
		"signature of a call":  {FormatGemini, `{"role":"model","parts":[{"functionCall":{"name":"a","args":{}},"thoughtSignature":"$"}]}`, `{"role":"user","parts":[{"functionResponse":{"name":"a","response":{}}}]}`},
		"signature of a text":  {FormatGemini, `{"role":"model","parts":[{"text":"a","thoughtSignature":"$"}]}`, ``},
		"signature of thought": {FormatAnthropic, `{"role":"assistant","content":[{"type":"thinking","thinking":"a","signature":"$"},{"type":"text","text":"b"}]}`, ``},
		"extra content":        {FormatOpenAI, `{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"a","arguments":"{}"},"extra_content":{"google":{"thought_signature":"$"}}}]}`, `{"role":"tool","tool_call_id":"a","content":"b"}`},
		"reasoning content":    {FormatOpenAI, `{"role":"assistant","content":"a","reasoning_content":"$"}`, ``},
		"recording":            {FormatOpenAI, `{"role":"assistant","content":null,"audio":{"id":"a","data":"$"}}`, ``},
		"annotations":          {FormatResponses, `{"role":"assistant","content":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a","annotations":[{"url":"$"}]}]}]}`, ``},
		"own tool of the SDK":  {FormatMessages, `{"role":"assistant","content":[{"type":"tool-call","toolCallId":"a","toolName":"a","input":{"q":"$"}},{"type":"tool-result","toolCallId":"a","toolName":"a","output":{"type":"text","value":"b"}}]}`, ``},
	} {
		t.Run(name, func(t *testing.T) {
			list := []jsontext.Value{jsontext.Value(`{"role":"user","content":"Go."}`), jsontext.Value(strings.Replace(test.message, "$", blob, 1))}
			if test.rest != "" {
				list = append(list, jsontext.Value(test.rest))
			}
			messages, want := published(t, list), 50_000
			if name == "recording" {
				want = 100 // seconds, of 10 tokens each
			}
			r := request(messages, test.format)
			r.MaxTokens = want
			p, err := Build(r)
			if err != nil {
				t.Fatal(err)
			}
			if p.WithinBudget && strings.Contains(string(p.Messages), blob) {
				t.Errorf("%d tokens are counted for %d bytes", p.TokenCount, len(p.Messages))
			}
			m := messages[1]
			held := tokens.Unread(m.Role, m.Content) + tokens.Members(m.Native)
			for _, c := range m.ToolCalls {
				held += tokens.CallBeside(c)
			}
			if held < want {
				t.Errorf("the thread counts %d", held)
			}
		})
	}
}

// Parts of an item are mapped as those of a content are, under its role.
func TestPartsOfItems(t *testing.T) {
	item := jsontext.Value(`{"role":"user","content":[{"type":"message","role":"system","content":"Be brief."},{"type":"message","role":"user","content":[
		{"type":"input_text","text":"Look."},{"type":"input_image","image_url":"data:image/png;base64,` + png300 + `"},{"type":"input_file","file_id":"f"}]}]}`)
	messages := published(t, []jsontext.Value{item})
	if n := tokens.Unread(events.RoleUser, messages[0].Content); n < 85 {
		t.Errorf("%d tokens for an image", n)
	}
	for format, want := range map[string]string{
		FormatOpenAI:    `[{"role":"user","content":[{"type":"text","text":"[system message]"},{"type":"text","text":"Be brief."},{"type":"text","text":"Look."},{"type":"image_url","image_url":{"url":"data:image/png;base64,` + png300 + `"}},{"type":"text","text":"[input_file part]"}]}]`,
		FormatAnthropic: `[{"role":"user","content":[{"type":"text","text":"[system message]"},{"type":"text","text":"Be brief."},{"type":"text","text":"Look."},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + png300 + `"}},{"type":"text","text":"[input_file part]"}]}]`,
		FormatGemini:    `[{"role":"user","parts":[{"text":"[system message]"},{"text":"Be brief."},{"text":"Look."},{"inlineData":{"mimeType":"image/png","data":"` + png300 + `"}},{"text":"[input_file part]"}]}]`,
	} {
		p, err := Build(request(messages, format))
		if err != nil {
			t.Fatal(err)
		}
		if !alikeJSON(string(p.Messages), want) {
			t.Errorf("%s:\n%s\nwant\n%s", format, p.Messages, want)
		}
		omitted := OmittedPart{MessageID: "m0", Index: 1, Type: "input_file", Reason: reasonReference}
		if len(p.OmittedParts) != 1 || p.OmittedParts[0] != omitted {
			t.Errorf("%s: omitted %+v", format, p.OmittedParts)
		}
		if p.TokenCount < 85 {
			t.Errorf("%s: %d tokens", format, p.TokenCount)
		}
	}
}

func alikeJSON(got, want string) bool {
	a, b := jsontext.Value(got), jsontext.Value(want)
	return a.Canonicalize() == nil && b.Canonicalize() == nil && string(a) == string(b)
}

// Images of a function's response and of a screenshot stand in results where the format has them, and are listed where it does not.
func TestImagesOfResults(t *testing.T) {
	gemini := []string{`{"role":"model","parts":[{"functionCall":{"name":"shot","args":{}},"thoughtSignature":"c2ln"}]}`,
		`{"role":"user","parts":[{"functionResponse":{"name":"shot","response":{"output":"Done."},"parts":[{"inlineData":{"mimeType":"image/png","data":"` + png300 + `"}}]}}]}`}
	computer := []string{`{"role":"assistant","content":[{"type":"computer_call","id":"c","call_id":"a","action":{"type":"screenshot"},"status":"completed"}]}`,
		`{"role":"user","content":[{"type":"computer_call_output","call_id":"a","output":{"type":"computer_screenshot","image_url":"data:image/png;base64,` + png300 + `"}}]}`}
	for _, test := range []struct {
		name     string
		messages []string
		text     string
		format   string
		want     string // part of the prompt
		omitted  bool
	}{
		{"function response", gemini, "Done.\n[image: image/png, 300x200, 45 bytes]", FormatAnthropic, png300, false},
		{"function response", gemini, "Done.\n[image: image/png, 300x200, 45 bytes]", FormatResponses, `data:image/png;base64,` + png300, false},
		{"function response", gemini, "Done.\n[image: image/png, 300x200, 45 bytes]", FormatOpenAI, `[image: image/png, 300x200, 45 bytes]`, true},
		{"function response", gemini, "Done.\n[image: image/png, 300x200, 45 bytes]", FormatGemini, png300, false},
		{"screenshot", computer, "[image: image/png, 300x200, 45 bytes]", FormatAnthropic, png300, false},
		{"screenshot", computer, "[image: image/png, 300x200, 45 bytes]", FormatResponses, `"computer_screenshot"`, false},
		{"screenshot", computer, "[image: image/png, 300x200, 45 bytes]", FormatGemini, `[image: image/png, 300x200, 45 bytes]`, true},
	} {
		t.Run(test.name+" in "+test.format, func(t *testing.T) {
			list := []jsontext.Value{jsontext.Value(`{"role":"user","content":"Go."}`)}
			for _, m := range test.messages {
				list = append(list, jsontext.Value(m))
			}
			messages := published(t, list)
			if got := messages[2].Content.Text(); got != test.text {
				t.Errorf("the text is %q", got)
			}
			p, err := Build(request(messages, test.format))
			if err != nil {
				t.Fatal(err)
			}
			if err := validity(p, test.format); err != nil {
				t.Error(err)
			}
			if !strings.Contains(string(p.Messages), test.want) || (len(p.OmittedParts) > 0) != test.omitted || !test.omitted && p.TokenCount < 85 {
				t.Errorf("%d tokens, omitted %v\n%s", p.TokenCount, p.OmittedParts, p.Messages)
			}
		})
	}
}

// Files of Google's storage are not URLs for others; and a text has Anthropic's members alone there.
func TestForeignMembers(t *testing.T) {
	file := `{"role":"user","parts":[{"text":"a"},{"fileData":{"mimeType":"image/png","fileUri":"$"}}]}`
	for _, url := range []string{"gs://b/a.png", "https://generativelanguage.googleapis.com/v1beta/files/abc"} {
		messages := published(t, []jsontext.Value{jsontext.Value(strings.Replace(file, "$", url, 1))})
		for _, format := range []string{FormatOpenAI, FormatResponses, FormatAnthropic} {
			p, err := Build(request(messages, format))
			if err != nil {
				t.Fatal(err)
			}
			if len(p.OmittedParts) != 1 || p.OmittedParts[0].Reason != reasonReference || strings.Contains(string(p.Messages), url) {
				t.Errorf("%s: omitted %v\n%s", format, p.OmittedParts, p.Messages)
			}
		}
	}
	messages := published(t, []jsontext.Value{jsontext.Value(`{"role":"user","content":[{"type":"text","text":"a","providerOptions":{},"annotations":[],"index":0,"cache_control":{"type":"ephemeral"}}]}`)})
	p, err := Build(request(messages, FormatAnthropic))
	if want := `[{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}]}]`; err != nil || !alikeJSON(string(p.Messages), want) {
		t.Errorf("%v\n%s", err, p.Messages)
	}
}
