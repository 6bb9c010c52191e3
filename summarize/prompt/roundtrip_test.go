package prompt

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"precis/events"
	"precis/internal/race"
	"precis/summarize/tokens"
)

// What the smallest media of each kind are: a PNG's header of 300 x 200, and a PDF of one page.
const (
	png300 = "iVBORw0KGgoAAAANSUhEUgAAASwAAADICAYAAABS39xVAAAAAElEQVR42mNk"
	pdf1   = "JVBERi0xLjQKMSAwIG9iago8PC9UeXBlL1BhZ2U+PgplbmRvYmoK"
)

// dialect makes the messages of one provider: what its API returns and what its clients send, as JSON.
type dialect struct {
	format string
	// user, says and calls are members of one message; results are the messages with the results of calls.
	user    func(g *grammar) string
	says    func(g *grammar) string
	calls   func(g *grammar, ids []string) string
	results func(g *grammar, ids []string) []string
	// sent is what of the published messages a request holds.
	sent func(published []jsontext.Value) []jsontext.Value
}

// grammar draws threads: a user speaks, the assistant answers or calls tools, whose results follow.
type grammar struct {
	*rapid.T
	n           int
	breakpoints int // of Anthropic's cache
}

// cached is a breakpoint, as many times as a prompt keeps them.
func (g *grammar) cached() string {
	if g.breakpoints++; g.breakpoints > messageBreakpoints {
		return ""
	}
	return `,"cache_control":{"type":"ephemeral"}`
}

func (g *grammar) coin(label string) bool { return rapid.Bool().Draw(g.T, label) }

func (g *grammar) text() string {
	g.n++
	return rapid.SampledFrom([]string{"Look at it.", "größer \\u0001 <b>", strings.Repeat("word ", 30) + "end"}).Draw(g.T, "text") + fmt.Sprint(g.n)
}

func (g *grammar) one(of ...string) string { return rapid.SampledFrom(of).Draw(g.T, "one") }

var dialects = []dialect{
	{
		FormatOpenAI,
		func(g *grammar) string {
			return `"role":"user","content":` + g.one(`"`+g.text()+`"`, `[{"type":"text","text":"`+g.text()+`"},{"type":"image_url","image_url":{"url":"data:image/png;base64,`+png300+`","detail":"low"}},
				{"type":"input_audio","input_audio":{"data":"AAAA","format":"wav"}},{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,`+pdf1+`"}}]`,
				`[{"type":"image_url","image_url":{"url":"https://example.com/20MB.png"}}]`) + g.one(``, `,"name":"ann"`, `,"cache_control":{"type":"ephemeral"}`)
		},
		func(g *grammar) string {
			return `"role":"assistant",` + g.one(`"content":"`+g.text()+`"`, `"content":"`+g.text()+`","refusal":null,"annotations":[]`, `"content":null,"refusal":"No."`,
				`"content":null,"audio":{"id":"audio_1"}`, `"refusal":"No."`, `"content":"`+g.text()+`","tool_calls":null,"function_call":null,"audio":null`,
				`"content":"`+g.text()+`","reasoning":"hm","reasoning_details":[{"type":"reasoning.text","text":"hm"}],"images":[]`, `"content":"`+g.text()+`","thinking_blocks":[{"type":"thinking","thinking":"hm","signature":"c2ln"}],"reasoning_content":"hm","provider_specific_fields":{"a":1}`,
				`"content":null,"audio":{"id":"audio_2","data":"AAAA","expires_at":1,"transcript":"`+g.text()+`"},"annotations":[{"type":"url_citation","url_citation":{"url":"https://example.com"}}]`, `"content":[{"type":"text","text":"`+g.text()+`"},{"type":"refusal","refusal":"No."}]`)
		},
		func(g *grammar, ids []string) string {
			var calls []string
			for _, id := range ids {
				calls = append(calls, g.one(`{"id":"`+id+`","type":"function","function":{"name":"ls","arguments":"{ \"path\": \".\"}"}}`, `{"id":"`+id+`","type":"custom","custom":{"name":"sh","input":"ls"}}`))
			}
			return `"role":"assistant"` + g.one(`,"content":null`, `,"content":null,"function_call":null,"refusal":null`, `,"content":"`+g.text()+`"`, `,"content":""`, ``, `,"reasoning_content":"hm"`) + `,"tool_calls":[` + strings.Join(calls, ",") + `]`
		},
		func(g *grammar, ids []string) (list []string) {
			for _, id := range ids {
				list = append(list, `"role":"tool","tool_call_id":"`+id+`","content":`+g.one(`"`+g.text()+`"`, `[{"type":"text","text":"`+g.text()+`"}]`)+g.one(``, `,"name":"ls"`))
			}
			return list
		},
		func(list []jsontext.Value) []jsontext.Value { return list },
	},
	{
		FormatResponses,
		func(g *grammar) string {
			return `"role":"user","content":` + g.one(`[{"type":"message","role":"user","content":[{"type":"input_text","text":"`+g.text()+`"},{"type":"input_image","image_url":"data:image/png;base64,`+png300+`","detail":"auto"},{"type":"input_file","file_id":"file_1"}]}]`,
				`"`+g.text()+`"`, `"`+g.text()+`","type":"message"`, `[{"type":"input_text","text":"`+g.text()+`"}],"type":"message","status":"completed"`, `[{"type":"input_text","text":"`+g.text()+`"}]`)
		},
		func(g *grammar) string {
			if g.coin("alone") {
				return `"role":"assistant","content":` + g.one(`"`+g.text()+`"`, `"`+g.text()+`","phase":"commentary"`,
					`[{"type":"output_text","text":"`+g.text()+`","annotations":[]}],"type":"message","id":"msg_2","status":"completed"`, `[{"type":"refusal","refusal":"No."}],"type":"message","id":"msg_3","status":"incomplete","phase":null`)
			}
			return `"role":"assistant","content":[` + g.one(``, `{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"gAAA"},`) +
				g.one(``, `{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"q"}},`) +
				`{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"` + g.text() + `","annotations":[]}]}]`
		},
		func(g *grammar, ids []string) string {
			items := []string{`{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA"}`}
			for _, id := range ids {
				items = append(items, g.one(`{"type":"function_call","id":"fc_1","call_id":"`+id+`","name":"ls","arguments":"{\"path\":\".\"}","status":"completed"}`,
					`{"type":"custom_tool_call","call_id":"`+id+`","name":"sh","input":"ls"}`, `{"type":"local_shell_call","id":"lsh_1","call_id":"`+id+`","action":{"type":"exec","command":["ls"]},"status":"completed"}`))
			}
			return `"role":"assistant","content":[` + strings.Join(items, ",") + `]`
		},
		nil, // by the calls' types: outputs
		func(list []jsontext.Value) (items []jsontext.Value) {
			for _, m := range list {
				var o struct {
					Content []jsontext.Value `json:"content"`
				}
				var first struct{ Type string }
				if json.Unmarshal(m, &o) == nil && len(o.Content) > 0 {
					_ = json.Unmarshal(o.Content[0], &first, json.MatchCaseInsensitiveNames(true))
				}
				if len(o.Content) == 0 || slices.Contains([]string{"input_text", "output_text", "refusal"}, first.Type) {
					items = append(items, m) // an item itself
					continue
				}
				items = append(items, o.Content...)
			}
			return items
		},
	},
	{
		FormatAnthropic,
		func(g *grammar) string {
			return `"role":"user","content":` + g.one(`"`+g.text()+`"`, `[{"type":"text","text":"`+g.text()+`"`+g.cached()+`},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"`+png300+`"}},
				{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"`+pdf1+`"},"title":"a"}]`, `[{"type":"image","source":{"type":"file","file_id":"file_1"}}]`)
		},
		func(g *grammar) string {
			return `"role":"assistant","content":[` + g.one(``, `{"type":"thinking","thinking":"hm","signature":"c2ln"},`, `{"type":"redacted_thinking","data":"ZGF0YQ=="},`) +
				g.one(``, `{"type":"server_tool_use","id":"srvtoolu_`+fmt.Sprint(g.n)+`","name":"web_search","input":{"query":"q"}},{"type":"web_search_tool_result","tool_use_id":"srvtoolu_`+fmt.Sprint(g.n)+`","content":[]},`) +
				`{"type":"text","text":"` + g.text() + `"}]`
		},
		func(g *grammar, ids []string) string {
			blocks := []string{`{"type":"thinking","thinking":"hm","signature":"c2ln"}`}
			if g.coin("says") {
				blocks = append(blocks, `{"type":"text","text":"`+g.text()+`"}`)
			}
			for _, id := range ids {
				blocks = append(blocks, `{"type":"tool_use","id":"`+id+`","name":"ls","input":{"path":"."}}`)
			}
			return `"role":"assistant","content":[` + strings.Join(blocks, ",") + `]`
		},
		func(g *grammar, ids []string) []string {
			var blocks []string
			for _, id := range ids {
				blocks = append(blocks, `{"type":"tool_result","tool_use_id":"`+id+`","content":`+g.one(`"`+g.text()+`"`, `[{"type":"text","text":"`+g.text()+`"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"`+png300+`"}}]`)+g.one(``, `,"is_error":true`)+`}`)
			}
			if g.coin("turned") {
				blocks[0], blocks[len(blocks)-1] = blocks[len(blocks)-1], blocks[0]
			}
			if g.coin("besides") {
				blocks = append(blocks, `{"type":"text","text":"`+g.text()+`"}`)
			}
			return []string{`"role":"user","content":[` + strings.Join(blocks, ",") + `]`}
		},
		func(list []jsontext.Value) []jsontext.Value { return list },
	},
	{
		FormatGemini,
		func(g *grammar) string {
			return `"role":"user","parts":[{"text":"` + g.text() + `"}` + g.one(``, `,{"inlineData":{"mimeType":"image/png","data":"`+png300+`"}}`, `,{"fileData":{"mimeType":"video/mp4","fileUri":"https://example.com/v"}}`) + `]`
		},
		func(g *grammar) string {
			return `"role":"model","parts":[` + g.one(``, `{"text":"hm","thought":true},`) + `{"text":"` + g.text() + `","thoughtSignature":"c2ln"}]`
		},
		func(g *grammar, ids []string) string {
			var parts []string
			for range ids {
				parts = append(parts, `{"functionCall":{"name":"ls","args":{"path":"."}},"thoughtSignature":"c2ln"}`)
			}
			return `"role":"model","parts":[` + strings.Join(parts, ",") + `]`
		},
		func(g *grammar, ids []string) []string {
			var parts []string
			for range ids {
				parts = append(parts, `{"functionResponse":{"name":"ls","response":`+g.one(`{"output":"`+g.text()+`"}`, `{"files":["a"],"n":1}`, `{"error":"no"}`)+`}}`)
			}
			return []string{`"role":"user","parts":[` + strings.Join(parts, ",") + `]`}
		},
		func(list []jsontext.Value) []jsontext.Value { return list },
	},
	{
		FormatMessages, // the AI SDK's
		func(g *grammar) string {
			return `"role":"user","content":` + g.one(`"`+g.text()+`"`, `[{"type":"text","text":"`+g.text()+`"},{"type":"image","image":"`+png300+`","mediaType":"image/png"},{"type":"file","data":"`+pdf1+`","mediaType":"application/pdf","filename":"a.pdf"}]`) + g.one(``, `,"providerOptions":{"anthropic":{"cacheControl":{"type":"ephemeral"}}}`)
		},
		func(g *grammar) string {
			return `"role":"assistant","content":` + g.one(`"`+g.text()+`"`, `[{"type":"reasoning","text":"hm","providerOptions":{"anthropic":{"signature":"c2ln"}}},{"type":"text","text":"`+g.text()+`"}]`) + g.one(``, `,"providerOptions":{"a":{}}`)
		},
		func(g *grammar, ids []string) string {
			var parts []string
			for _, id := range ids {
				parts = append(parts, `{"type":"tool-call","toolCallId":"`+id+`","toolName":"ls","input":{"path":"."}}`)
			}
			return `"role":"assistant","content":[` + strings.Join(parts, ",") + `]`
		},
		func(g *grammar, ids []string) []string {
			var parts []string
			for _, id := range ids {
				parts = append(parts, `{"type":"tool-result","toolCallId":"`+id+`","toolName":"ls","output":`+g.one(`{"type":"text","value":"`+g.text()+`"}`, `{"type":"json","value":{"a":1}}`, `{"type":"error-text","value":"no"}`)+`}`)
			}
			return []string{`"role":"tool","content":[` + strings.Join(parts, ",") + `]` + g.one(``, `,"providerOptions":{"a":{"b":1}}`)}
		},
		func(list []jsontext.Value) []jsontext.Value { return list },
	},
}

// thread draws a thread: what is published, without message ids.
func (d dialect) thread(g *grammar) (list []jsontext.Value) {
	add := func(members string) { list = append(list, jsontext.Value("{"+members+"}")) }
	for turns := rapid.IntRange(1, 4).Draw(g.T, "turns"); turns > 0; turns-- {
		if len(list) == 0 || !strings.Contains(string(list[len(list)-1]), `"role":"user"`) {
			add(d.user(g))
		}
		for calls := rapid.IntRange(0, 3).Draw(g.T, "calls"); calls > 0; calls-- {
			var ids []string
			for n := rapid.IntRange(1, 3).Draw(g.T, "parallel"); n > 0; n-- {
				g.n++
				ids = append(ids, fmt.Sprintf("call_%d", g.n))
			}
			add(d.calls(g, ids))
			if d.results == nil {
				add(outputs(g, list[len(list)-1]))
				continue
			}
			for _, m := range d.results(g, ids) {
				add(m)
			}
		}
		add(d.says(g))
	}
	return list
}

// outputs are the items that answer the calls of a message of the Responses API.
func outputs(g *grammar, message jsontext.Value) string {
	var m struct {
		Content []struct {
			Type   string `json:"type"`
			CallID string `json:"call_id"`
		} `json:"content"`
	}
	_ = json.Unmarshal(message, &m)
	var items []string
	for _, c := range m.Content {
		if c.CallID != "" {
			items = append(items, `{"type":"`+c.Type+`_output","call_id":"`+c.CallID+`","output":`+g.one(`"`+g.text()+`"`, `[{"type":"input_text","text":"`+g.text()+`"}]`)+`}`)
		}
	}
	return `"role":"user","content":[` + strings.Join(items, ",") + `]`
}

// published are the messages as the processor reads them from events.
func published(t interface{ Fatalf(string, ...any) }, list []jsontext.Value) (messages []Message) {
	for i, m := range list {
		body := fmt.Sprintf(`{"message_id":"m%d",%s`, i, m[1:])
		ev, why := events.Decode(events.Raw{Subject: "0.thread.message.t", Body: []byte(body)}, events.Limits{})
		if why != nil {
			t.Fatalf("%v: %s", why, body)
		}
		messages = append(messages, Message{Ordinal: uint64(i + 1), Message: ev.Message})
	}
	return messages
}

// What comes back in a thread's own format is what was published, byte for byte in RFC 8785 form; in every format and for every
// budget, at each of its messages, the prompt is one that the provider takes.
func TestRoundTrip(t *testing.T) {
	race.Slow(t)
	for _, d := range dialects {
		t.Run(d.format, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				list := d.thread(&grammar{T: t})
				messages := published(t, list)
				p, err := Build(request(messages, d.format))
				if err != nil {
					t.Fatal(err)
				}
				same(t, d, p, list)
				if len(p.OmittedParts) > 0 {
					t.Fatalf("omitted %v", p.OmittedParts)
				}
				outputs := kept(t, messages)
				for _, format := range formats {
					alike(t, messages, outputs, format)
				}
				outputs = summarized(t, outputs)
				limits := []int{0, 30, 150, 400, 2000}
				for n := range outputs {
					for i, format := range formats { // two limits of each, others at the next message
						held(t, outputs[:n+1], format, limits[(n+i)%len(limits)])
						held(t, outputs[:n+1], format, limits[(n+i+2)%len(limits)])
					}
				}
			})
		})
	}
}

// kept are the messages, of some of which with results a spare summary is there.
func kept(t *rapid.T, messages []Message) []Message {
	list := slices.Clone(messages)
	for i := range list {
		m := &list[i]
		if (m.Role == events.RoleTool || len(m.Results()) > 0) && rapid.Bool().Draw(t, "kept") {
			m.Spare = &Summary{ID: "sum_" + m.MessageID, Content: "[✓ summary]"}
			m.Tokens = words(m.Content.Text()) + tokens.Unread(m.Role, m.Content)
		}
	}
	return list
}

// summarized are the messages, of which some of the spare summaries stand.
func summarized(t *rapid.T, messages []Message) []Message {
	list := slices.Clone(messages)
	for i := range list {
		if m := &list[i]; m.Spare != nil && rapid.Bool().Draw(t, "summarized") {
			m.Summary, m.Spare = m.Spare, nil
		}
	}
	return list
}

// alike: without a limit the outputs that are kept whole stand as if they had no summary, and the prompt takes as much.
func alike(t *rapid.T, messages, outputs []Message, format string) {
	want, err := Build(request(messages, format))
	if err != nil {
		t.Fatal(err)
	}
	got, err := Build(request(outputs, format))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%s, with spare summaries:\n%s\n%+v\nwant\n%s\n%+v", format, got.Messages, got, want.Messages, want)
	}
}

func held(t *rapid.T, messages []Message, format string, limit int) {
	r := request(messages, format)
	r.MaxTokens = limit
	p, err := Build(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := validity(p, format); err != nil {
		t.Fatalf("%s, limit %d: %v\n%s", format, limit, err, p.Messages)
	}
	sourced(t, r, p)
}

// ours are the members that the format messages adds to each message.
var ours = []string{"message_id", "tool_call_id", "tool_call_ids", "tool_name"}

// same compares the prompt with what was published, member by member.
func same(t interface {
	Fatal(...any)
	Fatalf(string, ...any)
}, d dialect, p Prompt, list []jsontext.Value) {
	var got []jsontext.Value
	if err := json.Unmarshal(p.Messages, &got); err != nil {
		t.Fatal(err)
	}
	if d.format == FormatMessages {
		for i := range got {
			for _, name := range ours {
				got[i] = without(got[i], name)
			}
		}
	}
	want := d.sent(list)
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) {
			t.Fatalf("%d messages, want %d:\n%s\nwant\n%s", len(got), len(want), got, want)
		}
		a, b := got[i].Clone(), want[i].Clone()
		if a.Canonicalize() != nil || b.Canonicalize() != nil || string(a) != string(b) {
			t.Fatalf("message %d:\n%s\nwant\n%s", i, a, b)
		}
	}
}

// Parts that are broken or of an unknown type are kept in their own format, unless their own provider refuses them, and named in the
// others.
func TestBadParts(t *testing.T) {
	for _, test := range []struct{ name, format, message, other, reason string }{
		{"base64 without padding", FormatAnthropic, `{"role":"user","content":[{"type":"text","text":"a"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"abc"}}]}`, FormatOpenAI, reasonData},
		{"base64 without padding, Gemini", FormatGemini, `{"role":"user","parts":[{"text":"a"},{"inlineData":{"mimeType":"image/png","data":"abc"}}]}`, FormatAnthropic, reasonData},
		{"a file of a provider", FormatAnthropic, `{"role":"user","content":[{"type":"text","text":"a"},{"type":"document","source":{"type":"file","file_id":"f"}}]}`, FormatResponses, reasonReference},
		{"an image by URL, where none is fetched", FormatOpenAI, `{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"https://example.com/20MB.png"}}]}`, FormatGemini, reasonReference},
		{"audio, where there is none", FormatOpenAI, `{"role":"user","content":[{"type":"text","text":"a"},{"type":"input_audio","input_audio":{"data":"AAAA","format":"wav"}}]}`, FormatAnthropic, reasonUnsupported},
		{"an unknown type", FormatAnthropic, `{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}},{"type":"hologram","size":3}]}`, FormatOpenAI, reasonUnsupported},
		{"an unknown part without a type", FormatGemini, `{"role":"user","parts":[{"text":"a"},{"hologram":{"size":3}}]}`, FormatResponses, reasonUnsupported},
		{"reasoning", FormatAnthropic, `{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"text","text":"b"}]}`, FormatOpenAI, reasonReasoning},
		{"a provider's tool", FormatAnthropic, `{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"server_tool_use","id":"s","name":"web_search","input":{}},{"type":"text","text":"b"}]}`, FormatGemini, reasonUnsupported},
	} {
		t.Run(test.name, func(t *testing.T) {
			messages := published(t, []jsontext.Value{jsontext.Value(`{"role":"user","content":"Go."}`), jsontext.Value(test.message)})
			p, err := Build(request(messages, test.format))
			if err != nil {
				t.Fatal(err)
			}
			for _, part := range messages[1].Content.Parts() {
				if !strings.Contains(string(p.Messages), string(part.Raw)) || len(p.OmittedParts) > 0 {
					t.Errorf("%s is not in %s, omitted %v", part.Raw, p.Messages, p.OmittedParts)
				}
			}
			if p, err = Build(request(messages, test.other)); err != nil {
				t.Fatal(err)
			}
			if err := validity(p, test.other); err != nil {
				t.Error(err)
			}
			want := OmittedPart{MessageID: "m1", Index: 1, Type: messages[1].Content.Parts()[1].Type, Reason: test.reason}
			if len(p.OmittedParts) != 1 || p.OmittedParts[0] != want {
				t.Errorf("%+v, want %+v\n%s", p.OmittedParts, want, p.Messages)
			}
		})
	}
}

// A result that stays without its call, which a compaction replaces, is not taken for the result of a later call with the same id.
func TestResultBeforeTheEdge(t *testing.T) {
	call := `{"role":"model","parts":[{"functionCall":{"name":"ls","args":{}}}]}`
	messages := published(t, []jsontext.Value{
		jsontext.Value(`{"role":"user","parts":[{"functionResponse":{"name":"ls","response":{"output":"old"}}},{"text":"Now the new one."}]}`), jsontext.Value(call),
		jsontext.Value(`{"role":"user","parts":[{"functionResponse":{"name":"ls","response":{"output":"new"}}}]}`),
	})
	for edge, want := range []string{`["m1","m0","m2"]`, `["m0","m1","m2"]`} {
		r := request(messages, FormatMessages)
		r.Edge = uint64(edge)
		p, err := Build(r)
		if err != nil {
			t.Fatal(err)
		}
		var order []string
		for _, s := range p.Sources {
			for _, id := range s.MessageIDs {
				if !slices.Contains(order, id) {
					order = append(order, id)
				}
			}
		}
		if got, _ := json.Marshal(order); string(got) != want {
			t.Errorf("edge %d: %s, want %s", edge, got, want)
		}
	}
}

// Reasoning whose call or text is not there is left out whole.
func TestReasoningAlone(t *testing.T) {
	for format, message := range map[string]string{
		FormatResponses: `{"role":"assistant","content":[{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"x"}]}`,
		FormatAnthropic: `{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"c2ln"}]}`,
	} {
		messages := published(t, []jsontext.Value{jsontext.Value(`{"role":"user","content":"Go."}`), jsontext.Value(message), jsontext.Value(`{"role":"user","content":"On."}`)})
		p, err := Build(request(messages, format))
		if err != nil {
			t.Fatal(err)
		}
		if err := validity(p, format); err != nil || len(p.OmittedParts) != 1 || p.OmittedParts[0].Reason != reasonReasoning {
			t.Errorf("%s: %v, omitted %v\n%s", format, err, p.OmittedParts, p.Messages)
		}
		var list []jsontext.Value
		if err := json.Unmarshal(p.Messages, &list); err != nil {
			t.Fatal(err)
		}
		tokens := p.Parts.Frame
		for _, s := range p.Sources {
			tokens += s.Tokens
		}
		if newest := p.Sources[len(p.Sources)-1].MessageIDs; len(p.Sources) != len(list) || tokens != p.TokenCount || !slices.Contains(newest, "m2") {
			t.Errorf("%s: %+v, of %d tokens, are the sources of %s", format, p.Sources, p.TokenCount, p.Messages)
		}
	}
}
