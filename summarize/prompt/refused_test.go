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
