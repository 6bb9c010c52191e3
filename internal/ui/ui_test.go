package ui_test

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"precis/internal/broker"
	"precis/internal/config"
	"precis/summarize"
)

func freePort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

// Each page shows what it is for.
func TestPages(t *testing.T) {
	w := begin(t, options{contents: true})
	w.wants(200, "/ui/", "No threads yet", "all are applied", "No model was called")
	w.wants(200, "/ui/threads", "No threads yet")
	w.wants(200, "/ui/rejections", "Nothing was rejected")
	w.sample("t")
	w.eventually(func() error { // what the page before was made from serves for two seconds
		if a := w.do("/ui/", nil); !strings.Contains(a.text, "8 events in 24 hours") {
			return errors.New("the overview shows no events")
		}
		return nil
	})
	w.wants(200, "/ui/", ">builder</a>", ">default</a>", "Events per hour", "3 made, 1 stale", "<svg")
	w.wants(200, "/ui/threads", `href="/ui/threads/t"`, "builder", "1 thread")
	w.wants(200, "/ui/threads?q=T&sort=cost&order=up&agent=builder&policy=default", "1 of 1 thread", `aria-sort="ascending"`)
	w.wants(200, "/ui/threads?q=none", "No thread is like that")
	w.wants(400, "/ui/threads?sort=name", "Sort must be")
	w.wants(200, "/ui/threads/t", "zanzibar", "source_edited by r1", "No discrepancies", "rejected: message_conflict", "replaced", "step 0 of r2")
	w.wants(200, "/ui/threads/t?at=3", "zanzibar", "up to event 3")
	w.wants(200, "/ui/threads/t?find=ZANZIBAR", "1 entry has")
	w.wants(200, "/ui/threads/t?find=quagga", "Nothing in the thread has")
	w.wants(404, "/ui/threads/t?at=2001-01-01", "No event of the thread had come by then")
	w.wants(400, "/ui/threads/t?at=soon", "A moment is")
	w.wants(404, "/ui/threads/none", "No thread")
	w.wants(404, "/ui/threads/%FF")
	w.wants(200, "/ui/threads/t/prompt", "What the agent gets", "zanzibar", "stands for 1 message", "tokens", "starts at 100,000 tokens or 70 % of the window")
	w.wants(200, "/ui/threads/t/prompt?at=3", "Prompt then", "I will.", "make", "starts at 100,000 tokens")
	w.wants(200, "/ui/threads/t/prompt?max_tokens=1&format=anthropic", "over the limit")
	w.wants(400, "/ui/threads/t/prompt?format=xml", "no such format")
	w.wants(400, "/ui/threads/t/prompt?max_tokens=-1", "number of tokens")
	w.wants(200, "/ui/threads/t/compare", "Choose a policy")
	w.wants(200, "/ui/threads/t/compare?policy=default&turns=0", "As it would be:")
	w.wants(400, "/ui/threads/t/compare?policy=default&turns=x", "give a number of")
	w.wants(200, "/ui/rejections", "message_conflict", "invalid_json", "careless", "2 events were rejected", "something else")
	w.wants(200, "/ui/rejections?thread=t", "Rejections of t", "message_conflict")
	w.wants(200, "/ui/rejections?thread=other", "No event of this thread was rejected")
	w.wants(200, "/ui/partitions", "EVENTS", "strays", "all events are applied")
	w.wants(200, "/ui/configuration", "over_chars: 1500", "The first configuration on record")
	w.wants(404, "/ui/nothing", "There is no such page")
	w.put([2]string{"thread.message.=2F", say("m1", "user", "A thread named like a path.", "")})
	w.eventually(func() error {
		if a := w.do("/ui/threads/%2F", nil); a.status != 200 || !strings.Contains(a.text, "A thread named like a path.") {
			return fmt.Errorf("the page of the thread / is %d", a.status)
		}
		return nil
	})
	w.wants(200, "/ui/threads", `href="/ui/threads/%2F"`)
	w.wants(200, "/ui/threads/%2F/prompt", "What the agent gets")
	if a := w.do("/", nil); a.at.Path != "/ui/" {
		t.Errorf("/ leads to %s", a.at)
	}
	id := regexp.MustCompile(`id="s-(sum_[0-9a-f]+)"`).FindStringSubmatch(w.do("/ui/threads/t", nil).text)
	if a := w.do("/ui/summaries/"+id[1], nil); a.at.Path != "/ui/threads/t" || a.at.Fragment != "s-"+id[1] {
		t.Errorf("a summary leads to %s", a.at)
	}
	w.wants(404, "/ui/summaries/sum_0", "No summary")
}

// Savings are computed when they are asked for, and kept.
func TestSavings(t *testing.T) {
	w := begin(t, options{})
	w.wants(200, "/ui/savings", "Not computed yet")
	w.sample("t")
	w.put([2]string{"thread.message.t", say("a3", "assistant", "Done.", `,"model":"gpt-4.1"`)}, [2]string{"thread.message.t", say("u3", "user", "Again.", "")}, [2]string{"thread.message.t", say("a4", "assistant", "Done.", `,"model":"gpt-4.1"`)})
	for by, name := range map[string]string{"agent": "builder", "model": "gpt-4.1", "policy": "default", "day": time.Now().UTC().Format(time.DateOnly)} {
		a := w.do("/ui/savings?by="+by, url.Values{}, "Origin", w.url)
		if a.status != 200 || !strings.Contains(a.text, `<span class="id">`+name+`</span>`) || !strings.Contains(a.text, `<span>`+name+`</span>`) {
			t.Errorf("%s: %d %.3000s", by, a.status, a.text)
		}
		w.wants(200, "/ui/savings?by="+by, name, "Compute again", "$0.0")
	}
}

// A page says why records can't be stored, and what to do, until they can again.
func TestTrouble(t *testing.T) {
	w := begin(t, options{tokens: tokensFile})
	w.do("/ui/login", url.Values{"token": {"operator-operator-operator"}, "to": {"/ui/"}}, "Origin", w.url)
	shows := func(state, text string) {
		w.eventually(func() error { // a look at the streams serves for a second
			if a := w.do("/ui/partitions", nil); !strings.Contains(a.text, ">"+state+"</span>") || !strings.Contains(a.text, text) {
				return fmt.Errorf("the page is not %s: %q", state, text)
			}
			return nil
		})
	}
	shows("running", "all events are applied")
	js := w.broker.JetStream()
	stream, err := js.Stream(within(t), broker.StreamSummaries)
	if err != nil {
		t.Fatal(err)
	}
	c := stream.CachedInfo().Config
	as := c
	c.MaxMsgs = 1_000_000
	if _, err := js.UpdateStream(within(t), c); err != nil {
		t.Fatal(err)
	}
	shows("not ready", "max_msgs is 1000000")
	shows("not ready", "processor streams --apply")
	w.do("/ui/logout", url.Values{}, "Origin", w.url)
	w.do("/ui/login", url.Values{"token": {"team-team-team-team-team"}, "to": {"/ui/"}}, "Origin", w.url)
	if a := w.do("/ui/threads", nil); a.status != 200 || !strings.Contains(a.text, ">not ready</span>") || strings.Contains(a.text, "max_msgs") {
		t.Errorf("a token of some threads sees %d", a.status)
	}
	w.do("/ui/logout", url.Values{}, "Origin", w.url)
	w.do("/ui/login", url.Values{"token": {"operator-operator-operator"}, "to": {"/ui/"}}, "Origin", w.url)
	if _, err := js.UpdateStream(within(t), as); err != nil {
		t.Fatal(err)
	}
	shows("running", "all events are applied")
}

// The page of the configuration says why a reload was refused, until one succeeds, and what of the file waits for a restart.
func TestReloads(t *testing.T) {
	reload := make(chan os.Signal)
	var file atomic.Pointer[func() (*config.Config, error)]
	w := begin(t, options{tokens: tokensFile, reload: reload, load: func() (*config.Config, error) { return (*file.Load())() }})
	login := func(token string) {
		w.do("/ui/login", url.Values{"token": {token}, "to": {"/ui/threads"}}, "Origin", w.url)
	}
	login("operator-operator-operator")
	again := func(load func() (*config.Config, error)) {
		file.Store(&load)
		for range 3 { // the one before may be under way yet, and the last is taken once the second is through
			reload <- os.Interrupt
		}
	}
	lacks := func(texts ...string) {
		t.Helper()
		page := w.wants(200, "/ui/configuration").text
		for _, text := range texts {
			if strings.Contains(page, text) {
				t.Errorf("the page has %q", text)
			}
		}
	}
	const refused, waits = "a reload was refused", "waits for a restart"
	lacks(refused, waits)
	again(func() (*config.Config, error) { return nil, errors.New("precis.yaml:7: polices: no such <key>") })
	w.wants(200, "/ui/configuration", refused, "precis.yaml:7: polices: no such &lt;key&gt;", "<time datetime=", "processor config", "SIGHUP")
	w.do("/ui/logout", url.Values{}, "Origin", w.url)
	login("team-team-team-team-team")
	if a := w.wants(403, "/ui/configuration"); strings.Contains(a.text, "polices") {
		t.Error("a token of some threads sees why")
	}
	w.do("/ui/logout", url.Values{}, "Origin", w.url)
	login("operator-operator-operator")
	again(func() (*config.Config, error) {
		next := *w.config
		next.UI.Contents, next.Gateway.Mode = !next.UI.Contents, "compact"
		return &next, nil
	})
	w.wants(200, "/ui/configuration", waits, "<code>ui.contents</code>, <code>gateway.mode</code>")
	lacks(refused)
}

// The prompt says what starts the thread's next compaction, however deep the tree of conditions is.
func TestNextCompaction(t *testing.T) {
	deep := summarize.Condition{All: []summarize.Condition{{Any: []summarize.Condition{{Messages: 40}, {Fraction: 0.55}}}, {Idle: 10 * time.Minute}}}
	for says, c := range map[string]summarize.Condition{"starts on request alone": {}, "starts at (40 messages or 55 % of the window) and 10m0s without an event": deep} {
		w := begin(t, options{policies: func(cfg *config.Config) { cfg.Policies[0].Compaction.Trigger = c }})
		w.sample("t")
		w.wants(200, "/ui/threads/t/prompt", says)
	}
}

// The comparison shows what the settings lead to.
func TestCompare(t *testing.T) {
	w := begin(t, options{contents: true})
	w.sample("t")
	tokens := func(query string) string {
		m := regexp.MustCompile(`As it would be: ([0-9,]+) tokens`).FindStringSubmatch(w.do("/ui/threads/t/compare?policy=default&"+query, nil).text)
		if m == nil {
			t.Fatalf("no comparison with %s", query)
		}
		return m[1]
	}
	if whole, short := tokens("over_chars=0"), tokens("turns=0"); len(whole) <= len(short) && whole <= short {
		t.Errorf("without summaries %s tokens, with them %s", whole, short)
	}
}

// What was said is not shown without ui.contents; ids and numbers are.
func TestContents(t *testing.T) {
	w := begin(t, options{})
	w.sample("t")
	for _, path := range []string{"/ui/", "/ui/threads", "/ui/threads/t", "/ui/threads/t?find=zanzibar", "/ui/threads/t/prompt", "/ui/threads/t/prompt?at=3", "/ui/threads/t/compare?policy=default&turns=0", "/ui/rejections", "/ui/rejections?thread=t"} {
		a := w.wants(200, path, "texts of messages are not shown")
		text := strings.ReplaceAll(a.text, `value="zanzibar"`, "")
		text = strings.ReplaceAll(text, "“zanzibar”", "")
		for _, said := range []string{"zanzibar", "compiled", "another line", "something else", "It is built", `&#34;make&#34;`} {
			if strings.Contains(text, said) {
				t.Errorf("%s shows %q", path, said)
			}
		}
	}
	w.wants(200, "/ui/threads/t", "r1", "bash", "source_edited by r1")
	w.wants(200, "/ui/threads/t?find=zanzibar", "Nothing in the thread has")
}

const tokensFile = `tokens:
  - {name: ops, token: operator-operator-operator, role: operator}
  - {name: team, token: team-team-team-team-team, role: agent, threads: team/}
  - {name: audit, token: auditor-auditor-auditor, role: auditor}
`

// A token opens a session, which sees what the token may.
func TestSessions(t *testing.T) {
	w := begin(t, options{tokens: tokensFile, contents: true})
	w.sample("team=2Fa")
	w.sample("other")
	for _, path := range []string{"/ui/", "/ui/threads", "/ui/threads/other", "/ui/configuration", "/ui/live", "/ui/nothing"} {
		if a := w.do(path, nil); a.status != 401 || strings.Contains(a.text, "zanzibar") || strings.Contains(a.text, "builder") {
			t.Errorf("%s without a token: %d", path, a.status)
		}
	}
	login := func(token, to string) answer {
		return w.do("/ui/login", url.Values{"token": {token}, "to": {to}}, "Origin", w.url)
	}
	if a := login("wrong", "/ui/"); a.status != 401 || !strings.Contains(a.text, "not known") || strings.Contains(a.text, "wrong\"") {
		t.Errorf("%d %s", a.status, a.text)
	}
	for _, to := range []string{"https://example.com/", "//example.com/ui/", "/v1/threads", "/ui/logout", "javascript:alert(1)", "/ui/../v1"} {
		if a := login("operator-operator-operator", to); a.at.Host != strings.TrimPrefix(w.url, "http://") || !strings.HasPrefix(a.at.Path, "/ui/") || a.at.Path == "/ui/logout" {
			t.Errorf("%s leads to %s", to, a.at)
		}
	}
	if a := login("team-team-team-team-team", "/ui/threads?q=a"); a.status != 200 || a.at.RawQuery != "q=a" || !strings.Contains(a.text, "team (agent)") {
		t.Errorf("%d %s", a.status, a.at)
	}
	w.wants(200, "/ui/", "team/a") // leads to the threads
	if a := w.wants(200, "/ui/threads", "team/a"); strings.Contains(a.text, "other") {
		t.Error("a token sees another's thread")
	}
	w.wants(403, "/ui/threads/other")
	w.wants(403, "/ui/threads/other/prompt")
	w.wants(403, "/ui/threads/other/compare?policy=default")
	w.wants(403, "/ui/rejections?thread=other")
	w.wants(403, "/ui/partitions")
	w.wants(403, "/ui/configuration")
	if a := w.wants(200, "/ui/rejections", "team/a"); strings.Contains(a.text, ">other<") {
		t.Error("a token sees another's rejection")
	}
	other := regexp.MustCompile(`id="s-(sum_[0-9a-f]+)"`).FindStringSubmatch(w.do("/ui/threads/other", nil, "Authorization", "Bearer operator-operator-operator").text)
	w.wants(404, "/ui/summaries/"+other[1], "There is no such summary")
	if a := w.do("/ui/rejections/1/retry", url.Values{}, "Origin", w.url); a.status != 403 {
		t.Errorf("a token of some threads retries: %d", a.status)
	}
	for _, c := range w.client.Jar.Cookies(mustParse(w.url + "/ui/")) {
		if strings.Contains(c.Value, "team") {
			t.Error("the cookie has the token")
		}
	}
	w.do("/ui/logout", url.Values{}, "Origin", w.url)
	w.wants(401, "/ui/threads")
	login("auditor-auditor-auditor", "/ui/")
	w.wants(200, "/ui/configuration")
	if a := w.wants(200, "/ui/rejections", "other"); strings.Contains(a.text, "/retry") {
		t.Error("an auditor is offered to retry")
	}
	if a := w.do("/ui/rejections/1/retry", url.Values{}, "Origin", w.url); a.status != 403 {
		t.Errorf("an auditor retries: %d", a.status)
	}
}

// Who sends a form when the session is over signs in, and is back on the page with the form: the form's own address may have no GET.
func TestSignInAgain(t *testing.T) {
	w := begin(t, options{tokens: tokensFile})
	for _, c := range []struct{ post, from, to string }{
		{"/ui/rejections/1/retry", w.url + "/ui/rejections?thread=t", "/ui/rejections?thread=t"},
		{"/ui/rejections/1/retry", w.url + "/ui/rejections/1/retry", "/ui/"}, // the answer to a form
		{"/ui/rejections/1/retry", "", "/ui/"},
		{"/ui/rejections/1/retry", "https://example.com/ui/rejections", "/ui/"},
		{"/ui/rejections/1/retry", w.url + "/v1/threads/t", "/ui/"},
		{"/ui/savings?by=model", w.url + "/ui/savings?by=model", "/ui/savings?by=model"},
		{"/ui/savings?by=model", w.url + "/ui/logout", "/ui/"},
	} {
		a := w.do(c.post, url.Values{}, "Origin", w.url, "Referer", c.from)
		to := regexp.MustCompile(`name="to" value="([^"]*)"`).FindStringSubmatch(a.text)
		if a.status != 401 || to == nil || to[1] != c.to {
			t.Errorf("%s from %q: %d, back to %q, want %s", c.post, c.from, a.status, to, c.to)
			continue
		}
		w.do("/ui/logout", url.Values{}, "Origin", w.url)
		if a := w.do("/ui/login", url.Values{"token": {"operator-operator-operator"}, "to": {to[1]}}, "Origin", w.url); a.status != 200 || a.at.RequestURI() != c.to {
			t.Errorf("%d at %s, want %s", a.status, a.at, c.to)
		}
		w.do("/ui/logout", url.Values{}, "Origin", w.url)
	}
}

// An open stream takes nothing of its token's rate, and goes on while other requests use that up.
func TestLiveTakesNoRate(t *testing.T) {
	w := begin(t, options{tokens: tokensFile, policies: func(c *config.Config) { c.API.RequestsPerSecond = 1 }})
	req, err := http.NewRequestWithContext(within(t), http.MethodGet, w.url+"/ui/live?path=/ui/", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer operator-operator-operator")
	res, err := (&http.Client{}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	if !lines.Scan() || !strings.HasPrefix(lines.Text(), "retry:") {
		t.Fatalf("%d %q", res.StatusCode, lines.Text())
	}
	done, busy := make(chan struct{}), make(chan int, 1)
	go func() {
		refused := 0
		defer func() { busy <- refused }()
		often := time.NewTicker(20 * time.Millisecond)
		defer often.Stop()
		for {
			select {
			case <-done:
				return
			case <-often.C:
				if a := w.do("/ui/nothing", nil, "Authorization", "Bearer operator-operator-operator"); a.status == http.StatusTooManyRequests {
					refused++
				}
			}
		}
	}()
	w.put([2]string{"thread.message.t", say("m", "user", "more", "")})
	for lines.Scan() && lines.Text() != "event: changed" {
	}
	close(done)
	if refused := <-busy; lines.Text() != "event: changed" || refused == 0 {
		t.Errorf("%q, %v, %d requests refused", lines.Text(), lines.Err(), refused)
	}
}

func mustParse(text string) *url.URL {
	u, err := url.Parse(text)
	if err != nil {
		panic(err)
	}
	return u
}

// Other sites' pages reach nothing here, and every answer says what its page may do.
func TestOtherSites(t *testing.T) {
	w := begin(t, options{})
	w.sample("t")
	for _, c := range []struct {
		status  int
		form    url.Values
		headers []string
	}{
		{200, nil, []string{"Sec-Fetch-Site", "same-origin"}},
		{200, nil, []string{"Sec-Fetch-Site", "none"}},
		{200, nil, []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}}, // a link
		{403, nil, []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe"}},
		{403, nil, []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors"}},
		{403, nil, []string{"Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "cors"}},
		{403, nil, []string{"Origin", "https://example.com"}},
		{403, nil, []string{"Origin", "null"}},
		{403, url.Values{}, []string{"Origin", "https://example.com"}},
		{403, url.Values{}, []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}},
		{421, nil, []string{"Host", "attacker.example"}}, // a name that resolves to this machine
	} {
		path := "/ui/rejections"
		if c.form != nil {
			path += "/1/retry"
		}
		a := w.do(path, c.form, c.headers...)
		if a.status != c.status {
			t.Errorf("%v: %d, want %d", c.headers, a.status, c.status)
		}
		if policy := a.header.Get("Content-Security-Policy"); a.status < 400 && (!strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe")) {
			t.Errorf("policy %q", policy)
		}
	}
	if a := w.do("/v1/threads/t", nil, "Sec-Fetch-Site", "same-origin"); a.status != 403 {
		t.Errorf("a page reaches the API: %d", a.status)
	}
}

// A rejected event is published again, and shows where it went.
func TestRetry(t *testing.T) {
	w := begin(t, options{})
	w.sample("t")
	a := w.do("/ui/rejections/2/retry", url.Values{}, "Origin", w.url)
	if a.status != 200 || !strings.Contains(a.text, "Published again, as event 9") {
		t.Errorf("%d %s", a.status, a.text)
	}
	w.put()
	w.wants(200, "/ui/rejections", "3 events were rejected")
	for path, status := range map[string]int{"/ui/rejections/99/retry": 404, "/ui/rejections/x/retry": 400, "/ui/rejections/0/retry": 400} {
		if a := w.do(path, url.Values{}); a.status != status {
			t.Errorf("%s: %d", path, a.status)
		}
	}
}

// A stream says that a page has changed.
func TestLive(t *testing.T) {
	w := begin(t, options{})
	w.sample("t")
	for _, path := range []string{"/ui/", "/ui/threads/t"} {
		req, err := http.NewRequestWithContext(within(t), http.MethodGet, w.url+"/ui/live?path="+url.QueryEscape(path), nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := (&http.Client{}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(res.Body)
		if !lines.Scan() || !strings.HasPrefix(lines.Text(), "retry:") {
			t.Fatalf("%s: %q", path, lines.Text())
		}
		w.put([2]string{"thread.message.t", say("more"+fmt.Sprint(len(path)), "user", "more", "")})
		for lines.Scan() && lines.Text() != "event: changed" {
		}
		if lines.Text() != "event: changed" {
			t.Errorf("%s: %v", path, lines.Err())
		}
		res.Body.Close()
	}
}

// Without NATS, pages say so, soon.
func TestNATSAway(t *testing.T) {
	w := begin(t, options{contents: true, server: true})
	w.sample("t")
	w.wants(200, "/ui/")
	w.down()
	for _, path := range []string{"/ui/rejections", "/ui/partitions", "/ui/configuration", "/ui/threads/t?at=2", "/ui/threads/t/compare?policy=default&turns=0"} {
		began := time.Now()
		w.wants(503, path, "NATS", "tries again")
		if took := time.Since(began); took > 25*time.Second {
			t.Errorf("%s answers after %v", path, took)
		}
	}
	w.wants(200, "/ui/threads", "NATS is away", `href="/ui/threads/t"`)
}

// down takes the server away. The processor goes on: it would end if its connection were closed, and then its pages are gone too.
func (w *world) down() {
	w.t.Helper()
	w.server.Shutdown()
	w.server.WaitForShutdown()
}
