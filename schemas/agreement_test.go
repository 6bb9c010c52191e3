package schemas_test

import (
	"bufio"
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"precis/events"
)

var incoming = []events.Type{events.ThreadMessage, events.ToolResult, events.MessageEdited, events.ThreadForked}

// agree holds the decoder's verdict on a body against the schema's. Bodies that are no JSON, or that the
// decoder refuses for a reason no schema can give, say nothing.
func agree(s *jsonschema.Schema, typ events.Type, body []byte) (disagreement string) {
	_, rej := events.Decode(events.Raw{Subject: string(typ) + ".t", Body: body}, events.Limits{})
	if rej != nil && (rej.Code != events.CodeSchema || beyondSchemas(rej)) {
		return ""
	}
	err := validate(s, body)
	switch {
	case rej == nil && err != nil:
		return "accepted, but the schema says " + err.Error()
	case rej != nil && err == nil:
		return "the schema accepts it, but: " + rej.Error()
	}
	return ""
}

// beyondSchemas are the rules that JSON Schema has no words for.
func beyondSchemas(rej *events.RejectError) bool {
	return rej.Field == "parent_thread_id" && strings.HasPrefix(rej.Message, "must be another") ||
		rej.Field == "relevant_range" && strings.HasPrefix(rej.Message, "ends before") ||
		rej.Field == "message_id" && strings.HasPrefix(rej.Message, "must be 1 to")
}

// The bodies of the decoder's own script.
func TestAgreementOnTheScript(t *testing.T) {
	file, err := os.Open("../events/testdata/decode.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	n := 0
	for _, typ := range incoming {
		s := compile(t, string(typ))
		_, _ = file.Seek(0, 0)
		for lines := bufio.NewScanner(file); lines.Scan(); {
			body, ok := strings.CutPrefix(lines.Text(), "body ")
			if !ok {
				continue
			}
			n++
			if wrong := agree(s, typ, []byte(body)); wrong != "" {
				t.Errorf("%s %s\n%s", typ, body, wrong)
			}
		}
	}
	if n < 200 {
		t.Errorf("only %d bodies in the script", n)
	}
}

// pool are values that some member takes and others don't.
var pool = []string{
	`null`, `true`, `false`, `0`, `1`, `-1`, `1.5`, `1.0`, `10e-1`, `2e3`, `-0`, `-0.0`, `9007199254740991`, `9007199254740992`,
	`9007199254740991.0`, `9007199254740991.3`, `1e15`, `123456789012345678901234567890`,
	`""`, `"x"`, `"user"`, `"tool"`, `"assistant"`, `"function"`, `"model"`, `"message"`, `"User"`, `"thread.message"`, `"tool.result"`, `"message.edited"`, `"t"`,
	`"2026-01-02T03:04:05Z"`, `"2026-01-02t03:04:05.5z"`, `"2026-02-30T03:04:05Z"`, `"2026-01-02T24:00:00Z"`, `"2026-01-02T03:04:05"`,
	`"2016-12-31T23:59:60Z"`, `"2016-12-31T22:59:60Z"`, `"2017-01-01T00:59:60+01:00"`, `"2026-01-02 03:04:05Z"`, `"2026-01-02T03:04:05,5Z"`,
	`"2026-01-02T3:04:05Z"`, `"2026-01-02T03:04:05+24:00"`, `"2026-01-02T03:04:05-23:59"`, `"2026-01-02T03:04:05.Z"`, `"0000-01-01T00:00:00Z"`,
	`"2026-01-02T03:04:05.1234567890123Z"`, `"2026-01-02T03:04:05.5"`,
	`[]`, `[null]`, `["x"]`, `[{}]`, `[{"type":"text"}]`, `[{"type":"text","text":"a"}]`, `[{"type":"text","text":null}]`, `[{"type":"b","text":1}]`, `[{"type":1}]`,
	`[{"id":"a","name":"b"}]`, `[{"id":"a","name":"b","arguments":{}}]`, `[{"id":"a","name":"b","arguments":"x"}]`, `[{"id":"a","name":"b","arguments":null}]`,
	`[{"id":"a","name":"b","arguments":1}]`, `[{"id":"a"}]`, `[{"id":1,"name":"b"}]`, `[{"id":"a","name":"b"},[]]`,
	`{}`, `{"a":1}`, `{"input_tokens":1}`, `{"input_tokens":1,"output_tokens":2}`, `{"input_tokens":null}`, `{"input_tokens":-1}`, `{"input_tokens":"1"}`,
	`{"output_tokens":1.5}`, `{"start":1,"end":2}`, `{"start":0,"end":2}`, `{"start":2}`, `{"start":1,"end":null}`, `{"start":1.0,"end":1e1}`, `{"start":"1","end":2}`,
}

var memberNames = []string{
	"type", "thread_id", "message_id", "role", "content", "tool_calls", "tool_call_id", "tool_name", "arguments", "is_error", "exit_code",
	"relevant_range", "pinned", "agent_id", "policy", "parent_thread_id", "usage", "created_at", "metadata", "deleted", "rewind", "edit_id", "at_message_id", "fork_id", "zzz",
	"parts", "function_call", "refusal", "audio", "reasoning_content", "thinking_blocks", "name",
}

// Any body made of such members is accepted by both or by neither.
func TestAgreement(t *testing.T) {
	for _, typ := range incoming {
		s := compile(t, string(typ))
		t.Run(string(typ), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				body := drawBody(t)
				if wrong := agree(s, typ, body); wrong != "" {
					t.Fatalf("%s\n%s", body, wrong)
				}
			})
		})
	}
}

// drawBody starts from a body that is accepted, so that one wrong member decides.
func drawBody(t *rapid.T) []byte {
	members := map[string]jsontext.Value{"message_id": jsontext.Value(`"m"`), "role": jsontext.Value(`"tool"`), "content": jsontext.Value(`"x"`), "parent_thread_id": jsontext.Value(`"p"`)}
	for range rapid.IntRange(0, 4).Draw(t, "changes") {
		name := rapid.SampledFrom(memberNames).Draw(t, "member")
		if rapid.IntRange(0, 9).Draw(t, "drop") == 0 {
			delete(members, name)
			continue
		}
		members[name] = jsontext.Value(rapid.SampledFrom(pool).Draw(t, "value"))
	}
	body, err := json.Marshal(members, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// Every member with every value of the pool, one at a time, on its own.
func TestAgreementOneByOne(t *testing.T) {
	for _, typ := range incoming {
		s := compile(t, string(typ))
		for _, role := range []string{"user", "tool"} {
			for _, name := range memberNames {
				for _, value := range pool {
					members := map[string]jsontext.Value{"message_id": jsontext.Value(`"m"`), "role": jsontext.Value(`"` + role + `"`), "content": jsontext.Value(`"x"`), "parent_thread_id": jsontext.Value(`"p"`)}
					members[name] = jsontext.Value(value)
					body, _ := json.Marshal(members)
					if wrong := agree(s, typ, body); wrong != "" {
						t.Errorf("%s %s\n%s", typ, body, wrong)
					}
				}
			}
		}
	}
}

func FuzzAgreement(f *testing.F) {
	var compiled []*jsonschema.Schema
	for _, typ := range incoming {
		compiled = append(compiled, compile(f, string(typ)))
	}
	for _, value := range pool {
		f.Add([]byte(`{"message_id":"m","role":"tool","content":` + value + `,"exit_code":` + value + `}`))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if bytes.ContainsAny(body, "eE") && len(body) > 4096 {
			t.Skip("the validator computes numbers with any exponent")
		}
		for i, typ := range incoming {
			if wrong := agree(compiled[i], typ, body); wrong != "" {
				t.Fatalf("%s %s\n%s", typ, body, wrong)
			}
		}
	})
}
