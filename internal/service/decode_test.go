package service

import (
	"testing"

	"precis/api"
)

func TestDecode(t *testing.T) {
	const biggest = 1<<64 - 1
	for _, c := range []struct {
		body, want string
		tokens     int
		seq        uint64
	}{
		{body: ``}, {body: `{}`}, {body: `null`},
		{body: `{"max_tokens":160000,"min_event_seq":18446744073709551615}`, tokens: 160000, seq: biggest},
		{body: `{"max_tokens":160000.0,"min_event_seq":2e3}`, tokens: 160000, seq: 2000},
		{body: `{"max_tokens":null,"min_event_seq":null,"format":null}`},
		{body: `{"max_tokens":-0.0}`},
		{body: `{"max_tokens":-5e0}`, tokens: -5},
		{body: `{"max_tokens":1.5}`, want: "400: max_tokens must be an integer"},
		{body: `{"max_tokens":1e300}`, want: "400: max_tokens must be an integer"},
		{body: `{"max_tokens":"5"}`, want: "400: max_tokens must be an integer"},
		{body: `{"min_event_seq":-1}`, want: "400: min_event_seq must be an integer of at least 0"},
		{body: `{"min_event_seq":-1.0}`, want: "400: min_event_seq must be an integer of at least 0"},
		{body: `{"min_event_seq":{}}`, want: "400: min_event_seq must be an integer of at least 0"},
		{body: `{"format":1}`, want: "400: format must be a string"},
		{body: `{"max_token":3}`, want: `400: unknown member "max_token": did you mean "max_tokens"?`},
		{body: `{"maxTokens":3}`, want: `400: unknown member "maxTokens": did you mean "max_tokens"?`},
		{body: `{"budget":3}`, want: `400: unknown member "budget"; allowed: max_tokens, format, min_event_seq, explain, children, only_summaries`},
		{body: `{"a/b~":3}`, want: `400: unknown member "a/b~"; allowed: max_tokens, format, min_event_seq, explain, children, only_summaries`},
		{body: `{"":3}`, want: `400: unknown member ""; allowed: max_tokens, format, min_event_seq, explain, children, only_summaries`},
		{body: `[]`, want: "400: request must be an object"},
		{body: `"x"`, want: "400: request must be an object"},
		{body: `{`, want: "400: request is not valid JSON: unexpected EOF after offset 1"},
		{body: `{"format":"a","format":"b"}`, want: `400: request is not valid JSON: duplicate object member name "format"`},
	} {
		var req api.ContextRequest
		got := ""
		if err := decode([]byte(c.body), &req); err != nil {
			got = err.Error()
		}
		if got != c.want || c.want == "" && (req.MaxTokens != c.tokens || req.MinEventSeq != c.seq) {
			t.Errorf("%s: %q, %+v, want %q, %d, %d", c.body, got, req, c.want, c.tokens, c.seq)
		}
	}
	for body, want := range map[string]string{
		`{"revision":-1}`: "400: revision must be an integer of at least 0", `{"lines":5}`: "400: lines must be a list",
		`{"lines":[1,"2"]}`: "400: lines/1 must be an integer", `{"lines":[1.0,2],"revision":0.0}`: "",
	} {
		var req api.MessageRequest
		got := ""
		if err := decode([]byte(body), &req); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}
