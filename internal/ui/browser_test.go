package ui_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"precis/events"
	"precis/internal/race"
)

var pictures = flag.String("pictures", "", "write the pictures of docs/ui.md into this directory")

// shots has a picture of every page that the tests look at, in both schemes and widths: what axe does not object to may still look wrong.
var shots = flag.String("shots", "", "keep a picture of every page that is looked at in this directory")

// browserDir has the driver and the checker, as "npm ci" installs them.
var browserDir, _ = filepath.Abs("../../.ci/browser")

// job is what look.mjs reads.
type job struct {
	Chromium string   `json:"chromium"`
	Pages    []look   `json:"pages"`
	Widths   []int    `json:"widths,omitempty"`
	Schemes  []string `json:"schemes,omitempty"`
	Token    string   `json:"token,omitempty"`
	Shots    string   `json:"shots,omitempty"`
	Axe      *bool    `json:"axe,omitempty"`
}

type look struct {
	Name   string `json:"name"`
	URL    string `json:"url"`
	Status int    `json:"status,omitempty"`
	Click  string `json:"click,omitempty"`
	Has    string `json:"has,omitempty"` // a selector of what must be there then
	Full   *bool  `json:"full,omitempty"`
	Held   string `json:"held,omitempty"` // a request to it holds the log's answers back, the next one does not
}

// browse looks at pages; it skips where there is no browser, unless BROWSER_TESTS says that there must be one, as .ci/run does.
func browse(t *testing.T, j job) (looks int) {
	t.Helper()
	missing := func(why error) {
		if os.Getenv("BROWSER_TESTS") != "" {
			t.Fatal(why)
		}
		t.Skipf("%v: the pages are looked at where there are chromium, node and %s", why, browserDir)
	}
	var err error
	if j.Chromium, err = exec.LookPath("chromium"); err != nil {
		missing(err)
	}
	if _, err := exec.LookPath("node"); err != nil {
		missing(err)
	}
	if _, err := os.Stat(filepath.Join(browserDir, "node_modules")); err != nil {
		missing(err)
	}
	if *shots != "" && j.Shots == "" {
		if j.Shots, err = filepath.Abs(filepath.Join(*shots, t.Name())); err != nil {
			t.Fatal(err)
		}
	}
	in, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	var problems bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "node", "look.mjs")
	cmd.Dir, cmd.Stdin, cmd.Stderr = browserDir, bytes.NewReader(in), &problems
	out, err := cmd.Output()
	var result struct {
		Findings []string `json:"findings"`
		Looks    int      `json:"looks"`
	}
	if err == nil {
		err = json.Unmarshal(out, &result)
	}
	if err != nil {
		t.Fatalf("%v\n%s%s", err, out, problems.String())
	}
	for _, f := range result.Findings {
		t.Error(f)
	}
	return result.Looks
}

// pagesOf are all pages, with a thread and a summary's place in them.
func (w *world) pagesOf(name string) []look {
	at := w.url + "/ui/threads/" + escaped(name)
	return []look{
		{Name: "overview", URL: w.url + "/ui/"}, {Name: "threads", URL: w.url + "/ui/threads"}, {Name: "thread", URL: at, Click: "#records"},
		{Name: "prompt", URL: at + "/prompt"}, {Name: "moment", URL: at + "/prompt?at=999999"}, {Name: "compare", URL: at + "/compare?policy=default&turns=0"},
		{Name: "rejections", URL: w.url + "/ui/rejections"}, {Name: "partitions", URL: w.url + "/ui/partitions"}, {Name: "configuration", URL: w.url + "/ui/configuration"},
		{Name: "savings", URL: w.url + "/ui/savings", Click: "main form button"}, {Name: "missing", URL: w.url + "/ui/nothing", Status: 404},
	}
}

func escaped(name string) string {
	var b strings.Builder
	for i := range len(name) {
		fmt.Fprintf(&b, "%%%02X", name[i])
	}
	return b.String()
}

// Each page with data, and each without any, in both schemes and both widths: nothing that axe objects to, and nothing that
// the policy forbids.
func TestBrowser(t *testing.T) {
	race.Slow(t)
	w := begin(t, options{contents: true})
	empty := begin(t, options{contents: true})
	w.sample("t")
	if n := browse(t, job{Pages: w.pagesOf("t")}); n != 44 {
		t.Errorf("%d looks", n)
	}
	// A message chosen shows the summaries that stand on it, and the other way round; long texts open.
	at := w.url + "/ui/threads/t"
	browse(t, job{Widths: []int{1280}, Schemes: []string{"light"}, Pages: []look{
		{Name: "message chosen", URL: at, Click: `[data-pick-message="r2"]`, Has: `.card.picked[data-sources*="r2"]`}, {Name: "summary chosen", URL: at, Click: `.row .chip.active`, Has: `.row.picked`},
		{Name: "text opened", URL: at, Click: `.unclip`, Has: `.unclip[aria-expanded=true]`}, {Name: "records hidden", URL: at, Click: `#records`, Has: `.record[hidden]`},
	}})
	list := empty.pagesOf("t")
	for i := range list {
		list[i].Name = "empty " + list[i].Name
	}
	browse(t, job{Pages: append(list[:2:2], list[6:]...)})
}

// Neither an outline nor a page that is not read yet has anything that axe objects to, and what follows keeps the keyboard's focus.
func TestBrowserOutline(t *testing.T) {
	race.Slow(t)
	w := begin(t, options{contents: true, server: true, slow: true})
	var release func()
	hold := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if release != nil {
			release()
			release = nil
		} else {
			release = w.hold()
		}
	}))
	defer hold.Close()
	for i, scheme := range []string{"light", "dark"} {
		var list []look
		for _, tab := range []string{"", "?whole=on", "/prompt", "/compare"} {
			name := fmt.Sprintf("t%d-%d", i, len(list))
			w.sample(name)
			list = append(list, look{Name: "held " + strings.Trim(tab, "/?"), URL: w.url + "/ui/threads/" + name + tab, Held: hold.URL, Has: ".story .row"})
		}
		if n := browse(t, job{Schemes: []string{scheme}, Widths: []int{1280 - 920*i}, Pages: list}); n != len(list) {
			t.Errorf("%d looks", n)
		}
	}
}

// A sign-in, and what a token of some threads sees.
func TestBrowserSignedIn(t *testing.T) {
	race.Slow(t)
	w := begin(t, options{tokens: tokensFile})
	w.sample("team=2Fa")
	browse(t, job{Token: "team-team-team-team-team", Widths: []int{360}, Pages: []look{
		{Name: "threads", URL: w.url + "/ui/threads"}, {Name: "thread", URL: w.url + "/ui/threads/team%2Fa"}, {Name: "rejections", URL: w.url + "/ui/rejections"},
		{Name: "forbidden", URL: w.url + "/ui/partitions", Status: 403},
	}})
	browse(t, job{Widths: []int{360}, Pages: []look{{Name: "login", URL: w.url + "/ui/", Status: 401}}})
}

// hostile has everything that could become markup, a script or another direction.
const hostile = `</script><script>planted='text'</script><img src=x onerror="planted='image'"><svg/onload=planted='svg'>"'--><a href="javascript:planted='link'">{{.}}` + "\u202e\u2066\u001b[31m\u0007`${planted='js'}`"

// No text of an agent, a tool, a model or a client runs, wherever it stands.
func TestBrowserHostile(t *testing.T) {
	race.Slow(t)
	w := begin(t, options{contents: true})
	name := hostile
	token, err := events.Token(name)
	if err != nil {
		t.Fatal(err)
	}
	q := func(s string) string { text, _ := json.Marshal(s); return string(text) }
	id := hostile
	w.put(
		[2]string{"thread.message." + token, `{"message_id":` + q(id) + `,"role":"user","agent_id":` + q(hostile) + `,"policy":` + q(hostile) + `,"parent_thread_id":` + q(id) + `,"content":` + q(hostile) + `}`},
		[2]string{"thread.message." + token, `{"message_id":"a","role":"assistant","content":` + q(hostile) + `,"model":` + q(hostile) + `,"tool_calls":[{"id":` + q(id+"c") + `,"name":` + q(hostile) + `,"arguments":{` + q(hostile) + `:` + q(hostile) + `}}]}`},
		[2]string{"tool.result." + token, `{"message_id":"r","tool_call_id":` + q(id+"c") + `,"content":` + q(strings.Repeat(hostile+"\n", 60)) + `}`},
		[2]string{"message.edited." + token, `{"message_id":"r","edit_id":` + q(hostile) + `,"agent_id":` + q(hostile) + `,"content":` + q(strings.Repeat(hostile+"\n", 70)) + `}`},
		[2]string{"tool.result." + token, hostile},
		[2]string{"tool.result." + token, `{"message_id":"r","agent_id":` + q(hostile) + `,"content":` + q(hostile) + `}`},
	)
	if _, err := w.broker.JetStream().PublishMsg(within(t), &nats.Msg{Subject: "thread.message." + token, Header: nats.Header{"X-Evil": {strings.ReplaceAll(hostile, "\a", "")}}, Data: []byte(hostile)}); err != nil {
		t.Fatal(err)
	}
	w.put()
	list := w.pagesOf(name)
	query := "?q=" + escaped(hostile) + "&agent=" + escaped(hostile) + "&policy=" + escaped(hostile)
	at := w.url + "/ui/threads/" + escaped(name)
	list = append(list,
		look{Name: "search", URL: w.url + "/ui/threads" + query}, look{Name: "find", URL: at + "?find=" + escaped(hostile)}, look{Name: "none", URL: w.url + "/ui/threads/x" + escaped("<script>planted=1</script>"), Status: 404},
		look{Name: "rejections of", URL: w.url + "/ui/rejections?thread=" + escaped(name)}, look{Name: "bad moment", URL: at + "?at=" + escaped(hostile), Status: 400},
	)
	no := false
	browse(t, job{Pages: list, Widths: []int{360}, Schemes: []string{"light"}})
	browse(t, job{Pages: list, Widths: []int{1280}, Schemes: []string{"light"}, Axe: &no})
}

// 100,000 threads, and pages without NATS.
func TestBrowserHugeAndBroken(t *testing.T) {
	race.Slow(t)
	w := begin(t, options{contents: true, server: true})
	w.sample("t")
	const n = 100_000
	js := w.broker.JetStream()
	for i := range n {
		_, err := js.PublishMsgAsync(&nats.Msg{Subject: fmt.Sprintf("thread.message.many-%d", i), Data: []byte(say("m", "user", "x", fmt.Sprintf(`,"agent_id":"agent-%d"`, i%3000)))})
		if err != nil {
			t.Fatal(err)
		}
		if i%2000 == 0 {
			<-js.PublishAsyncComplete()
		}
	}
	<-js.PublishAsyncComplete()
	if err := w.proc.Settled(within(t)); err != nil {
		t.Fatal(err)
	}
	w.wants(200, "/ui/threads", "100,001 threads")
	browse(t, job{Widths: []int{360}, Schemes: []string{"dark"}, Pages: []look{
		{Name: "huge overview", URL: w.url + "/ui/"}, {Name: "huge threads", URL: w.url + "/ui/threads?sort=size"}, {Name: "huge search", URL: w.url + "/ui/threads?q=99"},
	}})
	w.down()
	browse(t, job{Widths: []int{360}, Schemes: []string{"light"}, Pages: []look{
		{Name: "broken threads", URL: w.url + "/ui/threads"}, {Name: "broken rejections", URL: w.url + "/ui/rejections", Status: 503}, {Name: "broken configuration", URL: w.url + "/ui/configuration", Status: 503},
	}})
}

// TestPictures makes the pictures of docs/ui.md.
func TestPictures(t *testing.T) {
	if *pictures == "" {
		t.Skip("-pictures names no directory")
	}
	dir, err := filepath.Abs(*pictures)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir()) // the configuration's picture names a data directory
	w := begin(t, options{contents: true, server: true, dir: "data"})
	w.pictured()
	next := *w.config
	next.Policies = slices.Clone(next.Policies)
	next.Policies[0].Compaction.Keep.Messages = 30
	if err := w.proc.Reload(within(t), &next); err != nil {
		t.Fatal(err)
	}
	w.put()
	shots := t.TempDir()
	full, axe := false, false
	list := []look{
		{Name: "overview", URL: w.url + "/ui/"}, {Name: "threads", URL: w.url + "/ui/threads?sort=size"}, {Name: "thread", URL: w.url + "/ui/threads/fix-rounding"},
		{Name: "prompt", URL: w.url + "/ui/threads/fix-rounding/prompt"}, {Name: "compare", URL: w.url + "/ui/threads/fix-rounding/compare?policy=default&turns=0"},
		{Name: "rejections", URL: w.url + "/ui/rejections"}, {Name: "savings", URL: w.url + "/ui/savings", Click: "main form button"},
		{Name: "partitions", URL: w.url + "/ui/partitions"}, {Name: "configuration", URL: w.url + "/ui/configuration"},
	}
	for i := range list {
		list[i].Full = &full
	}
	browse(t, job{Shots: shots, Widths: []int{1280}, Schemes: []string{"light"}, Axe: &axe, Pages: list})
	browse(t, job{Shots: shots, Widths: []int{360}, Schemes: []string{"dark"}, Axe: &axe, Pages: list[:3]})
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	taken, err := os.ReadDir(shots)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range taken {
		data, err := os.ReadFile(filepath.Join(shots, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, strings.Replace(e.Name(), "-light-1280", "", 1)), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// pictured publishes threads of some agents.
func (w *world) pictured() {
	for i, name := range []string{"fix-rounding", "repo-tour", "vat-rules", "team=2Frelease-notes", "team=2Fflaky-tests", "import-csv"} {
		agent, model := []string{"fixer", "scout", "analyst"}[i%3], []string{"gpt-4.1", "claude-sonnet-4-5", "gpt-4.1"}[i%3]
		list := [][2]string{{"thread.message." + name, say("u1", "user", "Invoice 2031-0457 is a cent too low. Find out why, and fix it.", fmt.Sprintf(`,"agent_id":%q`, agent))}}
		for j := range 3 + 4*i {
			list = append(list,
				[2]string{"thread.message." + name, fmt.Sprintf(`{"message_id":"a%d","role":"assistant","model":%q,"content":"I look at part %d.","tool_calls":[{"id":"c%d","name":"bash","arguments":{"command":"go test ./part%d"}}]}`, j, model, j, j, j)},
				[2]string{"tool.result." + name, output(fmt.Sprint("r", j), fmt.Sprintf(`,"tool_call_id":"c%d"`, j))},
			)
		}
		w.put(append(list, [2]string{"thread.message." + name, say("end", "assistant", "Net takes the discount off before it rounds; now it rounds once.", "")})...)
	}
	w.put([2]string{"message.edited.fix-rounding", `{"message_id":"r1","edit_id":"e","content":` + fmt.Sprintf("%q", strings.Repeat("--- PASS: TestNetRoundsHalfUp (0.00s)\n", 70)) + `}`},
		[2]string{"tool.result.vat-rules", `{"message_id":"r1","content":"another output"}`}, [2]string{"thread.message.repo-tour", `{"message_id":"m9","role":"robot","content":"?"}`})
	for _, name := range []string{"fix-rounding", "repo-tour", "vat-rules"} {
		if _, err := w.broker.Conn().Request("precis.thread.context."+name, nil, 5*time.Second); err != nil {
			w.t.Fatal(err)
		}
	}
}
