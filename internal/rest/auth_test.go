package rest_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"precis/internal/rest"
)

const (
	agentWord    = "agent-0123456789abcdef0123456789"
	auditorWord  = "auditor-0123456789abcdef01234567"
	operatorWord = "operator-0123456789abcdef0123456"
	expiredWord  = "expired-0123456789abcdef01234567"
)

func tokensText() string {
	entry := func(name, word, rest string) string {
		return fmt.Sprintf("  - {name: %s, sha256: \"%x\", %s}\n", name, sha256.Sum256([]byte(word)), rest)
	}
	return "tokens:\n" + entry("team", agentWord, "role: agent, threads: team/") + entry("audit", auditorWord, "role: auditor, threads: team/") +
		entry("ops", operatorWord, "role: operator") + entry("old", expiredWord, "role: operator, expires: 2026-01-01T00:00:00Z")
}

// Who may do what, with which token, on which thread.
func TestTokens(t *testing.T) {
	w := begin(t, options{tokens: tokensText()})
	bearer := func(word string) []string { return []string{"Authorization", "Bearer " + word} }
	const ours, theirs = "/v1/threads/team%2Fa", "/v1/threads/other"
	w.put(ours, message("m", "x"), bearer(agentWord)...)
	seq := w.put(theirs, `{"type":"tool.result","message_id":"r","tool_name":"bash","content":"`+output()+`"}`, bearer(operatorWord)...)
	fork := `{"type":"thread.forked","parent_thread_id":"other"}`
	child := `{"type":"thread.message","message_id":"c","role":"user","content":"x","parent_thread_id":"other"}`
	var theirSum string
	w.eventually(func() error {
		var r struct {
			IDs []string `json:"summary_ids"`
		}
		w.put(theirs, `{"type":"thread.message","message_id":"a","role":"assistant","content":"x"}`, bearer(operatorWord)...)
		w.wants(200, "POST", theirs+"/context", fmt.Sprintf(`{"min_event_seq":%d}`, seq+1), bearer(operatorWord)...).json(t, &r)
		if len(r.IDs) == 0 {
			return errors.New("no summary")
		}
		theirSum = "/v1/summaries/" + r.IDs[0]
		return nil
	})
	for i, c := range []struct {
		status             int
		word               string
		method, path, body string
	}{
		{200, agentWord, "GET", ours, ""}, {200, agentWord, "POST", ours + "/context", ""}, {200, agentWord, "POST", ours + "/summarize", ""},
		{403, agentWord, "GET", theirs, ""}, {403, agentWord, "POST", theirs + "/events", message("x", "x")}, {403, agentWord, "POST", theirs + "/context", ""},
		{403, agentWord, "GET", theirs + "/messages/r", ""}, {403, agentWord, "GET", theirs + "/records", ""}, {403, agentWord, "GET", theirs + "/rejections", ""},
		{403, agentWord, "GET", "/v1/threads/team", ""}, {403, agentWord, "GET", "/v1/threads/Team%2Fa", ""},
		{403, agentWord, "POST", "/v1/threads/team%2Ffork/events", fork}, {403, agentWord, "POST", "/v1/threads/team%2Fchild/events", "[" + message("y", "x") + "," + child + "]"},
		{404, agentWord, "GET", theirSum, ""}, {200, operatorWord, "GET", theirSum, ""}, {404, auditorWord, "GET", theirSum, ""},
		{200, auditorWord, "GET", ours, ""}, {200, auditorWord, "GET", ours + "/messages/m", ""}, {200, auditorWord, "GET", ours + "/rejections", ""},
		{403, auditorWord, "POST", ours + "/events", message("x", "x")}, {403, auditorWord, "POST", ours + "/context", ""}, {403, auditorWord, "POST", ours + "/summarize", ""},
		{403, auditorWord, "GET", theirs, ""},
		{401, expiredWord, "GET", ours, ""}, {401, "wrong", "GET", ours, ""}, {401, "", "GET", ours, ""}, {401, agentWord + "x", "GET", ours, ""}, {401, agentWord[1:], "GET", ours, ""},
		{200, "", "GET", "/v1/openapi.json", ""}, {404, agentWord, "GET", "/v1/threads/team%2Ffork", ""}, {404, agentWord, "GET", "/v1/threads/team%2Fchild", ""},
	} {
		a := w.wants(c.status, c.method, c.path, c.body, bearer(c.word)...)
		if c.status == 401 && a.header.Get("WWW-Authenticate") == "" {
			t.Errorf("%d: no WWW-Authenticate", i)
		}
		if strings.Contains(string(a.body), c.word) && c.word != "" && c.status != 200 {
			t.Errorf("%d: the answer repeats the token: %s", i, a.body)
		}
	}
	for _, header := range []string{"Basic " + agentWord, "bearer", agentWord, "Bearer"} {
		w.wants(401, "GET", ours, "", "Authorization", header)
	}
	w.wants(200, "GET", ours, "", "Authorization", "bearer  "+agentWord)
	w.wants(200, "GET", ours, "", "Authorization", "Bearer "+agentWord, "Host", "api.example.com") // behind a proxy
}

// A file that can't be used is refused with what to do, and a reload of it changes nothing.
func TestTokensFiles(t *testing.T) {
	digest := strings.Repeat("ab", 32)
	file := filepath.Join(t.TempDir(), "tokens.yaml")
	for text, says := range map[string]string{
		"":            "no tokens",
		"tokens: []":  "no tokens",
		"tokens: 7":   "",
		"token: [{}]": "",
		"tokens: [{name: a, role: agent, key: b}]":                                                                   "",
		"tokens: [{name: a, role: root, sha256: " + digest + "}]":                                                    "role",
		"tokens: [{role: agent, sha256: " + digest + "}]":                                                            "number 1",
		"tokens: [{name: a, role: agent}]":                                                                           "either",
		"tokens: [{name: a, role: agent, token: short}]":                                                             "at least 20",
		"tokens: [{name: a, role: agent, sha256: abc}]":                                                              "64 hex",
		"tokens: [{name: a, role: agent, sha256: " + digest + digest + "}]":                                          "64 hex",
		"tokens: [{name: a, role: agent, sha256: " + digest + ", token: " + agentWord + "}]":                         "either",
		"tokens: [{name: a, role: agent, sha256: " + digest + "}, {name: b, role: agent, sha256: " + digest + "}]":   "same",
		"tokens: [{name: a, role: agent, sha256: " + digest + "}, {name: a, role: agent, token: " + agentWord + "}]": "name",
		"tokens: [{name: a, role: agent, sha256: " + digest + ", expires: soon}]":                                    "such as 2027",
		"# " + strings.Repeat("x", 1<<20):                                                                            "larger",
	} {
		writeFile(t, file, text)
		if _, err := rest.LoadTokens(file, logger(t)); !errors.Is(err, rest.ErrTokens) || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), agentWord) {
			t.Errorf("%.60s: %v, want %q", text, err, says)
		}
	}
	writeFile(t, file, `{"tokens":[{"name":"a","role":"agent","token":"`+agentWord+`"}]}`) // JSON, and plain
	tokens, err := rest.LoadTokens(file, logger(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(file, 0o604); err != nil {
		t.Fatal(err)
	}
	if err := tokens.Reload(); err == nil || !strings.Contains(err.Error(), "chmod") {
		t.Errorf("a file that everyone reads: %v", err)
	}
	if _, err := rest.LoadTokens(filepath.Join(t.TempDir(), "none"), logger(t)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// A token that is taken out of the file, or expires, opens nothing more, and its streams end.
func TestTokensEnd(t *testing.T) {
	var now atomic.Pointer[time.Time]
	at := time.Date(2025, 6, 1, 0, 0, 0, 0, time.UTC)
	now.Store(&at)
	w := begin(t, options{tokens: tokensText(), Options: rest.Options{Heartbeat: 20 * time.Millisecond, Now: func() time.Time { return *now.Load() }}})
	s := w.follow("/v1/threads/t/records", "Authorization", "Bearer "+expiredWord)
	ops := w.follow("/v1/threads/t/records", "Authorization", "Bearer "+operatorWord)
	later := at.AddDate(1, 0, 0)
	now.Store(&later)
	s.ends()
	w.wants(401, "GET", "/v1/threads/t", "", "Authorization", "Bearer "+expiredWord)
	w.wants(404, "GET", "/v1/threads/t", "", "Authorization", "Bearer "+operatorWord)
	writeFile(t, w.tokens, fmt.Sprintf("tokens: [{name: new, role: agent, sha256: %x}]", sha256.Sum256([]byte(agentWord))))
	if err := w.server.Reload(); err != nil {
		t.Fatal(err)
	}
	ops.ends()
	w.wants(401, "GET", "/v1/threads/t", "", "Authorization", "Bearer "+operatorWord)
	w.wants(404, "GET", "/v1/threads/t", "", "Authorization", "Bearer "+agentWord)
	writeFile(t, w.tokens, "tokens: []")
	if err := w.server.Reload(); err == nil {
		t.Error("a file without tokens is taken")
	}
	w.wants(404, "GET", "/v1/threads/t", "", "Authorization", "Bearer "+agentWord)
}

// A page in a browser reaches nothing, by whatever name.
func TestBrowsers(t *testing.T) {
	w := begin(t, options{})
	stored := w.put("/v1/threads/t", message("m", "x"))
	w.wants(200, "GET", fmt.Sprintf("/v1/threads/t?min_event_seq=%d", stored), "") // it is there
	for _, c := range []struct {
		status  int
		headers []string
	}{
		{200, nil}, {200, []string{"Host", "localhost:8088"}}, {200, []string{"Host", "LOCALHOST"}}, {200, []string{"Host", "[::1]:8088"}}, {200, []string{"Host", "127.0.0.2"}},
		{421, []string{"Host", "evil.example"}}, {421, []string{"Host", "127.0.0.1.evil.example:80"}}, {421, []string{"Host", "localhost.evil.example"}}, {421, []string{"Host", "10.0.0.1"}},
		{403, []string{"Origin", "https://evil.example"}}, {403, []string{"Origin", "null"}}, {403, []string{"Origin", w.url}},
		{403, []string{"Sec-Fetch-Site", "cross-site"}}, {403, []string{"Sec-Fetch-Site", "same-site"}}, {200, []string{"Sec-Fetch-Site", "none"}},
	} {
		a := w.wants(c.status, "GET", "/v1/threads/t", "", c.headers...)
		if a.header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%v: CORS", c.headers)
		}
	}
	// MCP wants the server's own origin taken, and no other. A GET that is let in has no session to follow.
	for _, c := range []struct {
		status  int
		headers []string
	}{
		{405, nil}, {405, []string{"Origin", w.url}}, {405, []string{"Origin", "http://localhost:1", "Host", "localhost:1"}}, {405, []string{"Origin", w.url, "Sec-Fetch-Site", "same-origin"}},
		{403, []string{"Origin", "https://evil.example"}}, {403, []string{"Origin", "http://localhost:1"}}, {403, []string{"Origin", "null"}}, {403, []string{"Origin", w.url, "Sec-Fetch-Site", "cross-site"}},
		{403, []string{"Sec-Fetch-Site", "same-origin"}}, {421, []string{"Origin", "http://evil.example", "Host", "evil.example"}},
	} {
		w.wants(c.status, "GET", "/mcp", "", c.headers...)
	}
	w.wants(403, "OPTIONS", "/v1/threads/t", "", "Origin", "https://evil.example", "Access-Control-Request-Method", "POST")
	w.wants(415, "POST", "/v1/threads/t/events", message("n", "x"), "Content-Type", "text/plain") // needs no leave of the server in a browser
}

// A token has so many requests a second, and no more; another one has its own.
func TestRates(t *testing.T) {
	w := begin(t, options{tokens: tokensText(), Options: rest.Options{PerSecond: 3}})
	ask := func(word string) answer {
		return w.do("GET", "/v1/threads/team%2Fa", "", "Authorization", "Bearer "+word)
	}
	w.eventually(func() error {
		if a := ask(agentWord); a.status != 429 || a.header.Get("Retry-After") == "" {
			return fmt.Errorf("%d", a.status)
		}
		return nil
	})
	if a := ask(operatorWord); a.status != 404 {
		t.Errorf("another token: %d %s", a.status, a.body)
	}
}
