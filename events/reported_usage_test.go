package events

import "testing"

// What a message's usage says, in our form and in those of the providers' interfaces (the objects that their documents show).
func TestUsageAsProvidersReportIt(t *testing.T) {
	for name, test := range map[string]struct {
		usage string
		want  TokenUsage
		field string // of the rejection
	}{
		"ours":                     {`{"input_tokens":900,"output_tokens":7,"cached_input_tokens":600,"cache_creation_input_tokens":200}`, TokenUsage{900, 7, 600, 200}, ""},
		"nothing":                  {`{}`, TokenUsage{}, ""},
		"nulls":                    {`{"input_tokens":null,"cached_input_tokens":null,"cache_read_input_tokens":null}`, TokenUsage{}, ""},
		"Responses":                {`{"input_tokens":36,"input_tokens_details":{"cached_tokens":30},"output_tokens":87,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":123}`, TokenUsage{36, 87, 30, 0}, ""},
		"chat completions":         {`{"prompt_tokens":2006,"completion_tokens":300,"total_tokens":2306,"prompt_tokens_details":{"cached_tokens":1920},"completion_tokens_details":{"reasoning_tokens":0}}`, TokenUsage{2006, 300, 1920, 0}, ""},
		"Anthropic":                {`{"input_tokens":50,"cache_creation_input_tokens":248,"cache_read_input_tokens":100000,"output_tokens":503}`, TokenUsage{100298, 503, 100000, 248}, ""},
		"Anthropic, another order": {`{"cache_read_input_tokens":1800,"output_tokens":9,"cache_creation_input_tokens":null,"input_tokens":21}`, TokenUsage{1821, 9, 1800, 0}, ""},
		"Gemini":                   {`{"promptTokenCount":1000,"cachedContentTokenCount":400,"candidatesTokenCount":30,"thoughtsTokenCount":50,"totalTokenCount":1080}`, TokenUsage{1000, 80, 400, 0}, ""},
		"details of another kind":  {`{"prompt_tokens":5,"prompt_tokens_details":"none","completion_tokens":"many"}`, TokenUsage{InputTokens: 5}, ""},
		"a negative count":         {`{"input_tokens":5,"cached_input_tokens":-1}`, TokenUsage{}, "usage.cached_input_tokens"},
		"a text":                   {`{"input_tokens":"5"}`, TokenUsage{}, "usage.input_tokens"},
	} {
		t.Run(name, func(t *testing.T) {
			ev, rej := Decode(Raw{Subject: "thread.message.t", Body: []byte(`{"message_id":"a","role":"assistant","content":"x","model":"m-1","usage":` + test.usage + `}`)}, Limits{})
			if test.field != "" {
				if rej == nil || rej.Field != test.field {
					t.Errorf("rejected: %v, want field %s", rej, test.field)
				}
				return
			}
			if rej != nil {
				t.Fatal(rej)
			}
			if got := *ev.Message.Usage; got != test.want || ev.Message.Model != "m-1" {
				t.Errorf("%+v by %q, want %+v", got, ev.Message.Model, test.want)
			}
		})
	}
}
