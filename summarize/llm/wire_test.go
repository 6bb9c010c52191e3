package llm

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

func TestKindOf(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		want   Kind
	}{
		{400, `{"error":{"message":"This model's maximum context length is 8192 tokens","type":"invalid_request_error","code":"context_length_exceeded"}}`, KindContextTooLong},
		{400, `{"object":"error","message":"This model's maximum context length is 4096 tokens.","type":"BadRequestError","code":400}`, KindContextTooLong},
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`, KindContextTooLong},
		{413, `{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`, KindContextTooLong},
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"max_tokens: must be positive"}}`, KindBadRequest},
		{404, `{"error":"model 'llama9' not found"}`, KindBadRequest},
		{401, `{"error":{"message":"Incorrect API key","type":"invalid_request_error","code":"invalid_api_key"}}`, KindAuth},
		{403, ``, KindAuth},
		{402, ``, KindQuota},
		{429, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`, KindQuota},
		{429, `{"error":{"message":"Rate limit reached","type":"requests","code":"rate_limit_exceeded"}}`, KindRateLimited},
		{429, `{"error":{"message":"tokens per min","type":"tokens","code":429}}`, KindRateLimited},
		{503, `upstream is starting`, KindOverloaded},
		{529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, KindOverloaded},
		{500, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, KindOverloaded},
		{504, ``, KindTimeout}, {408, ``, KindTimeout}, {502, `<html>`, KindServer}, {409, ``, KindServer}, {500, `[]`, KindServer},
	} {
		if got := kindOf(c.status, sayingOf([]byte(c.body))); got != c.want {
			t.Errorf("%d %s: %s, want %s", c.status, c.body, got, c.want)
		}
	}
}

// A provider that echoes the request does not put it into our logs.
func TestErrorsAreShort(t *testing.T) {
	said := sayingOf([]byte(`{"error":{"type":"t","message":"` + strings.Repeat("you sent:\\n ", 1000) + `"}}`))
	if text := said.text(400); len(text) > maxMessageChars+10 || strings.Contains(text, "\n") {
		t.Fatalf("%d characters: %q", len(text), text)
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		header, value string
		want          time.Duration
	}{
		{"Retry-After", "7", 7 * time.Second}, {"Retry-After", " 0.5 ", 500 * time.Millisecond}, {"Retry-After-Ms", "1500", 1500 * time.Millisecond},
		{"Retry-After", "Fri, 20 Nov 2026 12:00:30 GMT", 30 * time.Second}, {"Retry-After", "Friday, 20-Nov-26 12:00:30 GMT", 30 * time.Second},
		{"Retry-After", "Fri, 20 Nov 2026 11:00:00 GMT", 0}, {"Retry-After", "-5", 0}, {"Retry-After", "soon", 0}, {"Retry-After", "", 0},
		{"Retry-After", "NaN", 0}, {"Retry-After", "Inf", 24 * time.Hour}, {"Retry-After", "1e300", 24 * time.Hour},
	} {
		if got := retryAfter(http.Header{c.header: {c.value}}, now); got != c.want {
			t.Errorf("%s: %q is %s, want %s", c.header, c.value, got, c.want)
		}
	}
}

// Over a real network: a reset in the middle of an answer, and nobody who listens.
func TestRealConnections(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, buf, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		_, _ = buf.WriteString("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n{\"id\":")
		_ = buf.Flush()
		_ = conn.(*net.TCPConn).SetLinger(0) // close with a reset
		_ = conn.Close()
	}))
	defer server.Close()
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	for _, kind := range []string{OpenAI, Anthropic} {
		for _, c := range []struct {
			name, url string
			sent      bool
		}{{"reset", server.URL, true}, {"refused", closed.URL, false}} {
			t.Run(kind+"/"+c.name, func(t *testing.T) {
				p, err := NewProvider(ProviderConfig{Kind: kind, BaseURL: c.url, Model: "m", APIKey: "k"}, time.Now)
				if err != nil {
					t.Fatal(err)
				}
				defer p.Close()
				_, err = p.Complete(context.Background(), Request{Model: "m", User: "x", MaxTokens: 10})
				var e *Error
				if !errors.As(err, &e) || e.Kind != KindConnection || e.Sent != c.sent || e.lost() != c.sent || !e.transient() {
					t.Fatalf("%#v", err)
				}
			})
		}
	}
}

// The environment that the SDKs read by themselves has no say.
func TestEnvironmentIsIgnored(t *testing.T) {
	for name, value := range map[string]string{
		"ANTHROPIC_BASE_URL": "http://elsewhere.test", "ANTHROPIC_API_KEY": "else", "ANTHROPIC_AUTH_TOKEN": "else",
		"OPENAI_BASE_URL": "http://elsewhere.test", "OPENAI_API_KEY": "else",
	} {
		t.Setenv(name, value)
	}
	for kind, host := range map[string]string{OpenAI: "api.openai.com", Anthropic: "api.anthropic.com"} {
		p, err := NewProvider(ProviderConfig{Kind: kind, Model: "m", APIKey: "mine"}, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		got := requestOf(p)
		if got == nil || got.URL.Host != host || strings.Contains(strings.Join(got.Header["Authorization"], "")+got.Header.Get("X-Api-Key"), "else") {
			t.Errorf("%s: asked %v", kind, got)
		}
		p.Close()
	}
}

// requestOf is the request that a provider would send: the choice of a proxy sees it, and ends it.
func requestOf(p Provider) *http.Request {
	var got *http.Request
	transportOf(p).base.Proxy = func(r *http.Request) (*url.URL, error) { got = r; return nil, errors.New("no network here") }
	_, _ = p.Complete(context.Background(), Request{Model: "my-gpt", User: "x", MaxTokens: 10})
	return got
}

func TestAzure(t *testing.T) {
	for _, c := range []struct{ base, path, query, header string }{
		{"https://res.openai.azure.com", "/openai/deployments/my-gpt/chat/completions", "api-version=" + azureAPIVersion, "Api-Key"},
		{"https://res.openai.azure.com/?api-version=2025-01-01", "/openai/deployments/my-gpt/chat/completions", "api-version=2025-01-01", "Api-Key"},
		{"https://res.openai.azure.com/openai/v1/", "/openai/v1/chat/completions", "", "Authorization"},
	} {
		p := newOpenAI(ProviderConfig{BaseURL: c.base, Model: "my-gpt", APIKey: "k"}, time.Now)
		got := requestOf(p)
		if got == nil || got.URL.Path != c.path || got.URL.RawQuery != c.query || got.Header.Get(c.header) == "" {
			t.Errorf("%s: asked %v", c.base, got)
		}
		p.Close()
	}
}
