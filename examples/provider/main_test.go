package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

const output = `ok\n--- FAIL: TestTotal\n`

// What users say makes it call the tool that runs commands, and outputs are answered with a text, in each API's form.
func TestScript(t *testing.T) {
	for name, c := range map[string]struct{ path, body, want string }{
		"chat, a call": {"/v1/chat/completions", `{"messages":[{"role":"user","content":"Which fails? Run go test ./...."}],"tools":[{"type":"function","function":{"name":"bash"}}]}`,
			`"arguments":"{\"command\":\"go test ./...\"}","name":"bash"`},
		"chat, an output":         {"/v1/chat/completions", `{"messages":[{"role":"tool","content":"` + output + `"}],"tools":[{"function":{"name":"bash"}}]}`, `"content":"It ends with: --- FAIL: TestTotal"`},
		"chat, no tools":          {"/v1/chat/completions", `{"messages":[{"role":"user","content":"Run it."}]}`, `was asked: Run it.`},
		"Responses, a call":       {"/v1/responses", `{"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"Run ls."}]}],"tools":[{"name":"bash"}]}`, `"type":"function_call"`},
		"Responses, an output":    {"/v1/responses", `{"input":[{"type":"function_call_output","output":"` + output + `"}]}`, `"text":"It ends with: --- FAIL: TestTotal"`},
		"Responses, a text":       {"/v1/responses", `{"input":"Hello"}`, `was asked: Hello`},
		"messages, a call":        {"/v1/messages", `{"messages":[{"role":"user","content":[{"type":"text","text":"Run it all."},{"type":"text","text":"Run seq 9."}]}],"tools":[{"name":"Read"},{"name":"Bash"}]}`, `"input":{"command":"seq 9"},"name":"Bash"`},
		"messages, two calls":     {"/v1/messages", `{"messages":[{"role":"user","content":"Run a. Run b."},{"role":"system","content":"Run x."},{"role":"assistant","content":"Run y."},{"role":"user","content":[{"type":"tool_result","content":"1"}]},{"role":"system","content":"z"}],"tools":[{"name":"Bash"}]}`, `"input":{"command":"b"}`},
		"messages, an output":     {"/v1/messages", `{"messages":[{"role":"user","content":[{"type":"tool_result","content":[{"type":"text","text":"` + output + `"}]},{"type":"text","text":"Run ls."}]}]}`, `It ends with: --- FAIL: TestTotal`},
		"a path it has not":       {"/v1/models", `{}`, `not_found_error`},
		"a body that it can't":    {"/v1/messages", `{`, `unexpected end`},
		"nothing was said at all": {"/v1/messages", `{}`, `I am a script`},
	} {
		t.Run(name, func(t *testing.T) {
			var printed strings.Builder
			reply := httptest.NewRecorder()
			(&provider{out: &printed}).ServeHTTP(reply, httptest.NewRequest(http.MethodPost, c.path, strings.NewReader(c.body)))
			if !strings.Contains(reply.Body.String(), c.want) {
				t.Errorf("%s\nprinted %s", reply.Body, &printed)
			}
		})
	}
}

// A stream is made of events that can be read, and says the same as the whole answer.
func TestStreams(t *testing.T) {
	for path, end := range map[string]string{"/v1/chat/completions": "data: [DONE]\n\n", "/v1/responses": "data: [DONE]\n\n", "/v1/messages": "message_stop\"}\n\n"} {
		reply := httptest.NewRecorder()
		(&provider{out: &strings.Builder{}}).ServeHTTP(reply, httptest.NewRequest(http.MethodPost, path, strings.NewReader(`{"stream":true,"messages":[{"role":"user","content":"Hello"}]}`)))
		text := reply.Body.String()
		if !strings.HasSuffix(text, end) || !strings.Contains(text, "was asked: Hello") {
			t.Errorf("%s: %s", path, text)
		}
		for line := range strings.Lines(text) {
			if data, is := strings.CutPrefix(line, "data: {"); is && !json.Valid([]byte("{"+data)) {
				t.Errorf("%s: %s", path, line)
			}
		}
	}
}
