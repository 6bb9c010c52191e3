package prompt

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Anthropic refuses a fifth breakpoint: the newest two of the messages stay and the last of the system, so that one is left for the tools.
func TestNewestCacheBreakpointsStay(t *testing.T) {
	const mark = `,"cache_control":{"type":"ephemeral"}`
	list := []string{
		`{"role":"system","content":[{"type":"text","text":"s0"` + mark + `},{"type":"text","text":"s1"` + mark + `}]}`,
	}
	for i := range 6 {
		list = append(list, fmt.Sprintf(`{"role":"user","content":[{"type":"text","text":"q%d"%s},{"type":"text","text":"more"}]}`, i, mark), `{"role":"assistant","content":"a"}`)
	}
	p := built(t, FormatAnthropic, list...)
	if got := string(p.System); got != `[{"text":"s0","type":"text"},{"type":"text","text":"s1","cache_control":{"type":"ephemeral"}}]` {
		t.Errorf("system %s", got)
	}
	if got := string(p.Messages); strings.Count(got, "cache_control") != 2 || !strings.Contains(got, `"q4"`+mark) || !strings.Contains(got, `"q5"`+mark) {
		t.Errorf("%s", got)
	}
	list = append(list, `{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"a","input":{}`+mark+`}]}`,
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"r0"`+mark+`},{"type":"text","text":"r1"`+mark+`}]`+mark+`}]}`)
	if got := string(built(t, FormatAnthropic, list...).Messages); strings.Count(got, "cache_control") != 2 || !strings.Contains(got, `{"cache_control":{"type":"ephemeral"},"text":"r1","type":"text"}`) &&
		!strings.Contains(got, `"r1"`+mark) || strings.Contains(got, `"q5"`+mark) {
		t.Errorf("in a result: %s", got)
	}
}

// Reasoning stands only before what the model made, not before what a user says or an item of which only the name is known; and where
// nothing is left, the prompt is not empty.
func TestReasoningBeforeNothingOfTheModels(t *testing.T) {
	const reasoning = `{"type":"reasoning","id":"rs","summary":[],"encrypted_content":"x"}`
	user := `{"role":"user","content":"Go."}`
	for name, list := range map[string][]string{
		"a user's item": {user, `{"role":"assistant","content":[` + reasoning + `]}`, `{"role":"user","content":[{"type":"message","role":"user","content":[{"type":"input_text","text":"x"}]}]}`},
		"a reference":   {user, `{"role":"assistant","content":[` + reasoning + `,{"type":"item_reference","id":"abc"}]}`, user},
		"nothing":       {`{"role":"assistant","content":[` + reasoning + `,` + reasoning + `]}`},
	} {
		p := built(t, FormatResponses, list...)
		if strings.Contains(string(p.Messages), "rs") || len(p.OmittedParts) == 0 || p.OmittedParts[0].Reason != reasonReasoning {
			t.Errorf("%s: omitted %v: %s", name, p.OmittedParts, p.Messages)
		}
		tokens := p.Parts.Frame
		for _, s := range p.Sources {
			tokens += s.Tokens
		}
		if tokens != p.TokenCount {
			t.Errorf("%s: sources of %d tokens, the prompt has %d", name, tokens, p.TokenCount)
		}
	}
	p := built(t, FormatResponses, user, `{"role":"assistant","content":[`+reasoning+`,{"type":"web_search_call","id":"ws","status":"completed","action":{"type":"search"}}]}`)
	if len(p.OmittedParts) > 0 {
		t.Errorf("omitted %v: %s", p.OmittedParts, p.Messages)
	}
}

// Thinking that Anthropic can't verify is refused; a signature of Gemini's stands, though its text is empty.
func TestSignatures(t *testing.T) {
	for _, thinking := range []string{`{"type":"thinking","thinking":"x","signature":""}`, `{"type":"thinking","thinking":"x"}`, `{"type":"redacted_thinking"}`} {
		p := built(t, FormatAnthropic, `{"role":"user","content":"Go."}`, `{"role":"assistant","content":[`+thinking+`,{"type":"text","text":"y"}]}`)
		if strings.Contains(string(p.Messages), "thinking") || len(p.OmittedParts) != 1 || p.OmittedParts[0].Reason != reasonReasoning {
			t.Errorf("%s: omitted %v: %s", thinking, p.OmittedParts, p.Messages)
		}
	}
	list := []string{`{"role":"user","parts":[{"text":"Go."}]}`, `{"role":"model","parts":[{"text":"done"},{"text":"","thoughtSignature":"abc"},{"text":""}]}`}
	p := built(t, FormatGemini, list...)
	if !strings.Contains(string(p.Messages), `[{"text":"done"},{"text":"","thoughtSignature":"abc"}]`) || len(p.OmittedParts) != 1 {
		t.Errorf("omitted %v: %s", p.OmittedParts, p.Messages)
	}
	if p = built(t, FormatAnthropic, list...); len(p.OmittedParts) != 2 {
		t.Errorf("omitted %v: %s", p.OmittedParts, p.Messages)
	}
}

// A part of the format's own shape is not copied into a message of a role that the provider refuses it in.
func TestOwnPartsInRolesThatRefuseThem(t *testing.T) {
	const user = `{"role":"user","content":"Go."}`
	const call = `{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"shot","arguments":"{}"}}]}`
	const image = `{"type":"image_url","image_url":{"url":"https://example.com/a.png"}}`
	const source = `{"type":"image","source":{"type":"url","url":"https://example.com/a.png"}}`
	const data = `{"inlineData":{"mimeType":"image/png","data":"AAAA"}}`
	result := func(parts string) []string {
		return []string{user, call, `{"role":"tool","tool_call_id":"c1","content":[` + parts + `]}`}
	}
	for _, test := range []struct {
		format   string
		list     []string
		omitted  string
		contains string
	}{
		{FormatOpenAI, result(image), reasonUnsupported, `[image`},
		{FormatOpenAI, []string{user, `{"role":"assistant","content":[` + image + `]}`}, reasonUnsupported, `[image`},
		{FormatOpenAI, []string{`{"role":"system","content":[` + image + `]}`, user}, reasonUnsupported, `[image`},
		{FormatResponses, result(`{"type":"output_text","text":"x"}`), "", `{"type":"input_text","text":"x"}`},
		{FormatResponses, result(`{"type":"message","role":"system","content":"x"},{"type":"input_text","text":"y"}`), "", `{"type":"input_text","text":"x"}`},
		{FormatResponses, result(`{"type":"reasoning","id":"r","summary":[]},{"type":"input_text","text":"y"}`), reasonReasoning, `"y"`},
		{FormatResponses, []string{`{"role":"user","content":[{"type":"output_text","text":"x","annotations":[]}]}`}, "", `{"type":"input_text","text":"x"}`},
		{FormatResponses, []string{user, `{"role":"assistant","content":[{"type":"input_text","text":"x"}]}`}, "", `"content":"x"`},
		{FormatResponses, []string{user, `{"role":"assistant","content":[{"type":"input_image","image_url":"https://example.com/a.png"}]}`}, reasonUnsupported, `[input_image part]`},
		{FormatAnthropic, result(`{"type":"thinking","thinking":"x","signature":"s"},{"type":"text","text":"y"}`), reasonReasoning, `"y"`},
		{FormatAnthropic, []string{`{"role":"user","content":[{"type":"thinking","thinking":"x","signature":"s"},{"type":"text","text":"y"}]}`}, reasonReasoning, `"y"`},
		{FormatAnthropic, []string{`{"role":"system","content":[` + source + `]}`, user}, reasonUnsupported, ``},
		{FormatAnthropic, []string{user, `{"role":"assistant","content":[` + source + `]}`}, reasonUnsupported, `[image`},
		{FormatGemini, []string{`{"role":"system","content":[` + data + `]}`, user}, reasonUnsupported, ``},
	} {
		p := built(t, test.format, test.list...)
		var reasons []string
		for _, o := range p.OmittedParts {
			reasons = append(reasons, o.Reason)
		}
		if strings.Join(reasons, " ") != test.omitted || !strings.Contains(string(p.Messages), test.contains) {
			t.Errorf("%s, %s:\nomitted %v: %s", test.format, test.list, reasons, p.Messages)
		}
	}
}

// A result in the provider's own shape stands without the parts that the provider refuses in it, and these are listed.
func TestRefusedPartsOfResults(t *testing.T) {
	for _, test := range []struct{ format, call, result, want, reason string }{
		{
			FormatAnthropic, `{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"a","input":{}}]}`,
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","cache_control":{"type":"ephemeral"},"content":[{"type":"text","text":"r0"},{"type":"thinking","thinking":"hm","signature":"c2ln"}]}]}`,
			`{"type":"tool_result","tool_use_id":"t1","cache_control":{"type":"ephemeral"},"content":[{"type":"text","text":"r0"}]}`, reasonReasoning,
		},
		{
			FormatAnthropic, `{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"a","input":{}}]}`,
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"input_audio","input_audio":{"data":"AAAA","format":"wav"}}]}]}`,
			`{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"[audio: audio/wav, 3 bytes]"}]}`, reasonUnsupported,
		},
		{
			FormatResponses, `{"role":"assistant","content":[{"type":"function_call","call_id":"t1","name":"a","arguments":"{}"}]}`,
			`{"role":"user","content":[{"type":"function_call_output","call_id":"t1","status":"completed","output":[{"type":"input_text","text":"r0"},{"type":"input_image","image_url":"https://example.com/a.png","detail":"low"},{"type":"web_search_call","id":"w"}]}]}`,
			`{"type":"function_call_output","call_id":"t1","status":"completed","output":[{"type":"input_text","text":"r0"},{"type":"input_image","image_url":"https://example.com/a.png","detail":"low"},{"type":"input_text","text":"[web_search_call part]"}]}`, reasonUnsupported,
		},
	} {
		p := built(t, test.format, `{"role":"user","content":"Go."}`, test.call, test.result)
		var list []jsontext.Value
		if err := json.Unmarshal(p.Messages, &list); err != nil {
			t.Fatal(err)
		}
		last := list[len(list)-1]
		if test.format == FormatAnthropic {
			var blocks []jsontext.Value
			if err := json.Unmarshal(membersOf(last)["content"], &blocks); err != nil {
				t.Fatal(err)
			}
			last = blocks[0]
		}
		if !alikeJSON(string(last), test.want) || len(p.OmittedParts) != 1 || p.OmittedParts[0].Reason != test.reason {
			t.Errorf("%s: omitted %v\n%s\nwant\n%s", test.format, p.OmittedParts, last, test.want)
		}
	}
}

// A call, a result or an item that lacks what its type needs is refused by its own provider too: a mark stands for it.
func TestBrokenPartsOfTheOwnShape(t *testing.T) {
	for format, messages := range map[string][]string{
		FormatAnthropic: {`{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"tool_use","name":"ls","input":{}}]}`, `{"role":"user","content":[{"type":"text","text":"a"},{"type":"tool_result","content":"b"}]}`},
		FormatResponses: {`{"role":"assistant","content":[{"type":"function_call","name":"ls","arguments":"{}"}]}`, `{"role":"user","content":[{"type":"function_call_output","output":"b"}]}`, `{"role":"user","content":[{"type":"message","content":"b"}]}`},
		FormatGemini:    {`{"role":"model","parts":[{"text":"a"},{"functionCall":{"args":{}}}]}`, `{"role":"user","parts":[{"functionResponse":{"response":{}}}]}`},
	} {
		for _, m := range messages {
			p := built(t, format, `{"role":"user","content":"Go."}`, m, `{"role":"user","content":"On."}`)
			if len(p.OmittedParts) != 1 || p.OmittedParts[0].Reason != reasonData {
				t.Errorf("%s: omitted %v\n%s", format, p.OmittedParts, p.Messages)
			}
		}
	}
}

// So are media without data or a place, and those of which the provider does not take what they say of themselves. In a message of any role
// and in results a mark stands for them, and they are listed.
func TestBrokenMediaOfTheOwnShape(t *testing.T) {
	calls := map[string]string{
		FormatOpenAI:    `{"role":"assistant","content":null,"tool_calls":[{"id":"t1","type":"function","function":{"name":"a","arguments":"{}"}}]}`,
		FormatResponses: `{"role":"assistant","content":[{"type":"function_call","call_id":"t1","name":"a","arguments":"{}"}]}`,
		FormatAnthropic: `{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"a","input":{}}]}`,
		FormatGemini:    `{"role":"model","parts":[{"functionCall":{"name":"a","args":{}},"thoughtSignature":"c2ln"}]}`,
	}
	results := map[string]string{
		FormatOpenAI:    `{"role":"tool","tool_call_id":"t1","content":[%s]}`,
		FormatResponses: `{"role":"user","content":[{"type":"function_call_output","call_id":"t1","output":[%s]}]}`,
		FormatAnthropic: `{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[%s]}]}`,
		FormatGemini:    `{"role":"user","parts":[{"functionResponse":{"name":"a","response":{"output":"x"},"parts":[%s]}}]}`,
	}
	for format, parts := range map[string][]string{
		FormatOpenAI: {
			`{"type":"input_audio","data":"AA"}`, `{"type":"input_audio","input_audio":{"data":"AAAA"}}`, `{"type":"image_url","data":"AAAA","url":"https://example.com/a.png"}`,
			`{"type":"image_url","image_url":{"detail":"low"}}`, `{"type":"image_url","image_url":{"url":"data:image/png;base64,?"}}`, `{"type":"file","file":{"filename":"a.pdf"}}`,
		},
		FormatResponses: {
			`{"type":"input_image","detail":"auto"}`, `{"type":"input_image","image_url":{"url":"https://example.com/a.png"}}`, `{"type":"input_file","filename":"a.pdf"}`,
			`{"type":"input_image","image_url":"data:image/png;base64,?"}`,
		},
		FormatAnthropic: {
			`{"type":"image","source":{"type":"base64","media_type":"image/png"}}`, `{"type":"image","source":{"type":"base64","data":"AAAA"}}`, `{"type":"image","source":{"type":"url"}}`,
			`{"type":"image","source":{"type":"url","url":"a.png"}}`, `{"type":"image","source":{"media_type":"image/png","data":"AAAA"}}`, `{"type":"document","source":{"type":"content"}}`,
			`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"?"}}`, `{"type":"image","source":{"type":"base64","media_type":"application/pdf","data":"AAAA"}}`,
			`{"type":"document","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}`, `{"type":"image","source":{"type":"text","media_type":"text/plain","data":"x"}}`,
			`{"type":"file","source":{"type":"url","url":"https://example.com/a.pdf"}}`,
		},
		FormatGemini: {
			`{"inlineData":{"data":"AAAA"}}`, `{"inline_data":{"mime_type":"image/png"}}`, `{"fileData":{"mimeType":"image/png"}}`, `{"file_data":{}}`, `{"inlineData":{"mimeType":"image/png","data":"?"}}`,
		},
	} {
		member := "content"
		text := `{"type":"text","text":"See:"}`
		if format == FormatGemini {
			member, text = "parts", `{"text":"See:"}`
		}
		for _, part := range parts {
			said := func(role string) string {
				return `{"role":"` + role + `","` + member + `":[` + text + `,` + part + `]}`
			}
			user := `{"role":"user","content":"Go."}`
			for _, list := range [][]string{
				{said("user")}, {user, said("assistant"), user}, {user, calls[format], fmt.Sprintf(results[format], part)},
			} {
				p := built(t, format, list...)
				if len(p.OmittedParts) != 1 || strings.Contains(string(p.Messages), strings.Trim(part, "{}")) || !strings.Contains(string(p.Messages), " part]") && !strings.Contains(string(p.Messages), "bytes]") {
					t.Errorf("%s: %s: omitted %v\n%s", format, list, p.OmittedParts, p.Messages)
				}
			}
		}
	}
}

// What a provider takes stays as it is, though no other has a name for it.
func TestOwnMediaThatStand(t *testing.T) {
	for format, parts := range map[string][]string{
		FormatOpenAI:    {`{"type":"file","file":{"file_id":"file-1"}}`, `{"type":"input_audio","input_audio":{"data":"AAAA","format":"mp3"}}`, `{"type":"image_url","image_url":{"url":"gs://bucket/a.png"}}`},
		FormatResponses: {`{"type":"input_image","file_id":"file-1"}`, `{"type":"input_file","file_id":"file-1"}`},
		FormatAnthropic: {
			`{"type":"image","source":{"type":"file","file_id":"file_1"}}`, `{"type":"document","source":{"type":"content","content":"x"}}`,
			`{"type":"document","source":{"type":"content","content":[{"type":"text","text":"x"}]}}`,
		},
		FormatGemini: {`{"inlineData":{"mimeType":"image/png","data":"AAAA"}}`, `{"fileData":{"fileUri":"gs://bucket/a.mp4","mimeType":"video/mp4"}}`},
	} {
		for _, part := range parts {
			p := built(t, format, `{"role":"user","content":[`+part+`]}`)
			if len(p.OmittedParts) > 0 || !strings.Contains(string(p.Messages), part) {
				t.Errorf("%s: %s: omitted %v\n%s", format, part, p.OmittedParts, p.Messages)
			}
		}
	}
}

// Some take the alphabet for URLs, line breaks and no padding, so that data with these is theirs to judge.
func TestBase64Like(t *testing.T) {
	for data, want := range map[string]bool{"AAAA": true, "-_8=": true, "AA": true, "AA\r\n+/": true, "?": false, "": false, "é": false} {
		if base64Like([]byte(data)) != want {
			t.Errorf("%q", data)
		}
	}
}

// An image's URL that is no object is one to other servers with OpenAI's API.
func TestImageURLThatIsAString(t *testing.T) {
	p := built(t, FormatOpenAI, `{"role":"user","content":[{"type":"image_url","image_url":"https://example.com/a.png"}]}`)
	if len(p.OmittedParts) > 0 || !strings.Contains(string(p.Messages), `"image_url":{"url":"https://example.com/a.png"}`) {
		t.Errorf("omitted %v\n%s", p.OmittedParts, p.Messages)
	}
}

// The parts of a document may have cache breakpoints, too.
func TestCacheBreakpointsOfDocuments(t *testing.T) {
	const mark = `,"cache_control":{"type":"ephemeral"}`
	document := `{"type":"document","source":{"type":"content","content":[{"type":"text","text":"d0"` + mark + `},{"type":"text","text":"d1"` + mark + `}]}}`
	p := built(t, FormatAnthropic, `{"role":"user","content":[`+document+`,`+document+`,{"type":"text","text":"q"`+mark+`}]}`)
	if got := string(p.Messages); strings.Count(got, "cache_control") != messageBreakpoints {
		t.Error(got)
	}
}

// A signature at the end of a stream counts, though its text is empty.
func TestSignatureOfAnEmptyTextCounts(t *testing.T) {
	part := func(signature string) Prompt {
		return built(t, FormatGemini, `{"role":"user","parts":[{"text":"Go."}]}`, `{"role":"model","parts":[{"text":"a"},{"text":"","thoughtSignature":"`+signature+`"}]}`)
	}
	if more := part(strings.Repeat("c2ln", 40)).TokenCount - part("c2ln").TokenCount; more < 30 {
		t.Errorf("160 bytes count %d tokens", more)
	}
}

// Anthropic refuses an id with other characters than letters, digits, _ and -, its own too: the call and its result have another one, the
// same in every prompt. A long one stands.
func TestOwnCallIDsThatAnthropicRefuses(t *testing.T) {
	list := func(id string) []string {
		return []string{
			`{"role":"user","content":"Go."}`,
			`{"role":"assistant","content":[{"type":"tool_use","id":"` + id + `","name":"ls","input":{}}]}`,
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"` + id + `","content":"a.txt"}]}`,
		}
	}
	got := string(built(t, FormatAnthropic, list("call:1.é")...).Messages)
	if renamed := derived("call:1.é", 2, 0); strings.Contains(got, "call:1") || strings.Count(got, `"`+renamed+`"`) != 2 {
		t.Errorf("not %s: %s", renamed, got)
	}
	long := "toolu_" + strings.Repeat("a", 60)
	p, err := Build(request(thread(t, list(long)...), FormatAnthropic))
	if got := string(p.Messages); err != nil || strings.Count(got, `"`+long+`"`) != 2 {
		t.Errorf("not %s: %s, %v", long, got, err)
	}
}
