package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"

	"precis/api"
	"precis/events"
)

// deathWait bounds what a process that was killed and started again may take.
const deathWait = time.Minute

// otherProcess makes the test's own program another process: a NATS server, or a provider.
const otherProcess = "PRECIS_TEST_PROCESS"

// serveOther serves what the variable says until the process is killed.
func serveOther(what string) {
	kind, address, _ := strings.Cut(what, " ")
	var err error
	if kind == "provider" {
		held := make(chan struct{})
		err = http.ListenAndServe(address, heldProvider(held)) //nolint:gosec // of a test, on this machine
	} else {
		dir := kind
		host, port, _ := strings.Cut(address, ":")
		o := &natsserver.Options{Host: host, JetStream: true, StoreDir: dir, NoSigs: true}
		_, _ = fmt.Sscan(port, &o.Port)
		var s *natsserver.Server
		if s, err = natsserver.NewServer(o); err == nil {
			s.Start()
			s.WaitForShutdown()
		}
	}
	fmt.Fprintln(os.Stderr, err)
}

// heldProvider answers in each of the APIs that the gateway reads, always alike. With X-Hold it says that it holds, before its answer or in the middle of it, and goes on
// when it is released.
func heldProvider(release chan struct{}) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/ready", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/release", func(_ http.ResponseWriter, r *http.Request) {
		select {
		case release <- struct{}{}:
		case <-r.Context().Done():
		}
	})
	for _, a := range killAPIs {
		mux.HandleFunc(a.path, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			hold := func(where string) {
				if r.Header.Get("X-Hold") != where {
					return
				}
				fmt.Fprintln(os.Stderr, "held")
				select {
				case <-release:
				case <-r.Context().Done():
				}
			}
			text := answerTo(body)
			if !bytes.Contains(body, []byte(`"stream":true`)) {
				hold("request")
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprintf(w, a.answer, text)
				return
			}
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, a.begins, text[:len(text)/2])
			_ = http.NewResponseController(w).Flush()
			hold("stream")
			fmt.Fprintf(w, a.goesOn, text[len(text)/2:])
			fmt.Fprint(w, strings.ReplaceAll(a.ends, "TEXT", text))
		})
	}
	return mux
}

// killAPI is an API of a provider: its answers, in one piece and as a stream.
type killAPI struct {
	name, path, list     string
	answer               string
	begins, goesOn, ends string // of a stream; TEXT in its end is the whole answer
	piece                string // what stands before each piece of a stream's text
}

var killAPIs = []killAPI{
	{
		name: "chat", path: "/v1/chat/completions", list: "messages",
		answer: `{"id":"c","model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":%q}}],"usage":{"prompt_tokens":9,"completion_tokens":3}}`,
		begins: "data: {\"id\":\"c\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":%q}}]}\n\n",
		goesOn: "data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"content\":%q},\"finish_reason\":\"stop\"}]}\n\n",
		ends:   "data: {\"id\":\"c\",\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":3}}\n\ndata: [DONE]\n\n",
		piece:  `"content":"`,
	},
	{
		name: "responses", path: "/v1/responses", list: "input",
		answer: `{"id":"r","object":"response","status":"completed","model":"m","output":[{"type":"message","id":"i","role":"assistant","content":[{"type":"output_text","text":%q}]}],"usage":{"input_tokens":9,"output_tokens":3}}`,
		begins: `event: response.created
data: {"type":"response.created","response":{"id":"r","status":"in_progress","model":"m","output":[]}}

event: response.output_item.added
data: {"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"i","role":"assistant","content":[]}}

event: response.output_text.delta
data: {"type":"response.output_text.delta","output_index":0,"content_index":0,"item_id":"i","delta":%q}

`,
		goesOn: `event: response.output_text.delta
data: {"type":"response.output_text.delta","output_index":0,"content_index":0,"item_id":"i","delta":%q}

`,
		ends: `event: response.output_item.done
data: {"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"i","role":"assistant","content":[{"type":"output_text","text":"TEXT"}]}}

event: response.completed
data: {"type":"response.completed","response":{"id":"r","status":"completed","model":"m","output":[{"type":"message","id":"i","role":"assistant","content":[{"type":"output_text","text":"TEXT"}]}],"usage":{"input_tokens":9,"output_tokens":3}}}

`,
		piece: `"delta":"`,
	},
	{
		name: "messages", path: "/v1/messages", list: "messages",
		answer: `{"id":"m","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":%q}],"stop_reason":"end_turn","usage":{"input_tokens":9,"output_tokens":3}}`,
		begins: `event: message_start
data: {"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"m","content":[],"usage":{"input_tokens":9,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%q}}

`,
		goesOn: `event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%q}}

`,
		ends: `event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":3}}

event: message_stop
data: {"type":"message_stop"}

`,
		piece: `"text":"`,
	},
}

// answerTo depends on the newest message alone, which every mode sends whole.
func answerTo(body []byte) string {
	var request struct {
		Messages, Input []struct{ Content json.RawMessage }
	}
	_ = json.Unmarshal(body, &request)
	list := slices.Concat(request.Messages, request.Input)
	sum := sha256.Sum256([]byte(textOf(list[len(list)-1].Content)))
	return fmt.Sprintf("Answer %x. %s", sum[:6], strings.Repeat("The order goes to another street, and its price stays. ", 12))
}

// textOf is the text of a message's content, a string or a list of parts.
func textOf(content json.RawMessage) (text string) {
	var parts []struct{ Text string }
	if json.Unmarshal(content, &text) != nil && json.Unmarshal(content, &parts) == nil {
		for _, p := range parts {
			text += p.Text
		}
	}
	return text
}

// mortal is a process that can be killed and started again.
type mortal struct {
	name    string
	command func() *exec.Cmd
	ready   func() error
	process *exec.Cmd
	mu      sync.Mutex
	said    bytes.Buffer // of all its lives
}

// Write keeps what the process says.
func (m *mortal) Write(p []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.said.Write(p)
}

func (m *mortal) log() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.said.String()
}

func (m *mortal) start(t *testing.T) {
	t.Helper()
	m.process = m.command()
	m.process.Stdout, m.process.Stderr = io.Discard, m
	if err := m.process.Start(); err != nil {
		t.Fatal(err)
	}
	await(t, m.ready, m.log)
}

func (m *mortal) kill() {
	if m.process != nil {
		_ = m.process.Process.Kill()
		_ = m.process.Wait()
		m.process = nil
	}
}

// await repeats a check until it holds.
func await(t *testing.T, check func() error, log func() string) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(deathWait)
	for err := check(); err != nil; err = check() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%v\n%s", err, log())
		}
	}
}

// killing is a conversation through processes that die.
type killing struct {
	t                               *testing.T
	nats, precis, gateway, provider *mortal
	natsURL, url, providerURL       string
	api                             killAPI
	client                          *http.Client
	history                         []string // texts; the user and the assistant take turns
	stream                          bool
}

func beginKilling(t *testing.T, a killAPI, mode string) *killing {
	nats, web, up := freeAddress(t), freeAddress(t), freeAddress(t)
	k := &killing{t: t, api: a, natsURL: "nats://" + nats, url: "http://" + web, providerURL: "http://" + up,
		client: &http.Client{Timeout: deathWait, Transport: &http.Transport{DisableKeepAlives: true}}}
	program, dir := build(t), t.TempDir()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	settings := filepath.Join(dir, "precis.yaml")
	if err := os.WriteFile(settings, []byte("policies: [{name: default, compaction: {trigger: {messages: 10}, keep: {messages: 4}}}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	other := func(what string) func() *exec.Cmd {
		return func() *exec.Cmd {
			cmd := exec.Command(own)
			cmd.Env = append(os.Environ(), otherProcess+"="+what)
			return cmd
		}
	}
	answers := func(url string) func() error {
		return func() error {
			resp, err := k.client.Get(url) //nolint:noctx // of a test
			if err == nil {
				_ = resp.Body.Close()
			}
			return err
		}
	}
	k.nats = &mortal{name: "nats", command: other(filepath.Join(dir, "nats") + " " + nats), ready: func() error {
		nc, err := events.Connect(k.natsURL)
		if err != nil {
			return err
		}
		defer nc.Close()
		_, err = nc.RTT()
		return err
	}}
	k.provider = &mortal{name: "provider", command: other("provider " + up), ready: answers(k.providerURL + "/ready")}
	k.precis = &mortal{name: "precis", command: func() *exec.Cmd {
		return exec.Command(program, "run", "--config", settings, "--data", filepath.Join(dir, "data"), "--nats", k.natsURL, "--http", "", "--api", "", "--log-format", "json")
	}, ready: func() error {
		_, err := k.thread()
		if errors.Is(err, api.ErrNotFound) {
			return nil
		}
		return err
	}}
	k.gateway = &mortal{name: "gateway", command: func() *exec.Cmd {
		return exec.Command(program, "gateway", "--nats", k.natsURL, "--listen", web, "--mode", mode, "--openai", k.providerURL, "--anthropic", k.providerURL, "--log-format", "json")
	}, ready: answers(k.url + "/ready")}
	for _, m := range []*mortal{k.nats, k.provider, k.precis, k.gateway} {
		t.Cleanup(m.kill)
		m.start(t)
	}
	return k
}

func (k *killing) thread() (*api.ThreadReply, error) {
	nc, err := events.Connect(k.natsURL)
	if err != nil {
		return nil, err
	}
	defer nc.Close()
	c, err := api.NewClient(nc, api.ClientOptions{Timeout: time.Second})
	if err != nil {
		return nil, err
	}
	return c.Thread(k.t.Context(), "t1", api.ThreadRequest{})
}

// got is what a client has of an answer.
type got struct {
	status int
	body   string
	said   string
	err    error
	api    killAPI
}

// whole reports whether the answer is complete, and its text.
func (g got) whole(request []byte) (string, bool) {
	text := answerTo(request)
	if g.err != nil || g.status != http.StatusOK {
		return text, false
	}
	if one := fmt.Sprintf(g.api.answer, text); strings.HasPrefix(g.body, "{") {
		return text, g.body == one
	}
	var b strings.Builder
	for _, piece := range strings.Split(g.body, g.api.piece)[1:] {
		piece, _, _ = strings.Cut(piece, `"`)
		b.WriteString(piece)
	}
	return text, b.String() == text && strings.HasSuffix(g.body, strings.ReplaceAll(g.api.ends, "TEXT", text))
}

func (k *killing) request() []byte {
	var list []any
	for i, text := range k.history {
		if i%2 == 1 && k.api.name == "responses" { // the item of the answer, as the SDK's clients send it back
			list = append(list, json.RawMessage(fmt.Sprintf(`{"type":"message","id":"i","role":"assistant","content":[{"type":"output_text","text":%q}]}`, text)))
			continue
		}
		list = append(list, map[string]string{"role": []string{"user", "assistant"}[i%2], "content": text})
	}
	request := map[string]any{"model": "m", "stream": k.stream, k.api.list: list}
	if k.api.name == "messages" {
		request["max_tokens"] = 100
	}
	body, _ := json.Marshal(request)
	return body
}

// ask sends the conversation.
func (k *killing) ask(hold string) got {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(k.t.Context()), deathWait)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, k.url+k.api.path, bytes.NewReader(k.request()))
	if err != nil {
		return got{err: err}
	}
	r.Header.Set("Precis-Thread", "t1")
	r.Header.Set("X-Hold", hold)
	resp, err := k.client.Do(r)
	if err != nil {
		return got{err: err}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return got{resp.StatusCode, string(body), resp.Header.Get("Precis-Compacted"), err, k.api}
}

// say adds the user's next message.
func (k *killing) say() {
	k.history = append(k.history, fmt.Sprintf("Question %d. %s", len(k.history), strings.Repeat("What becomes of the order that nobody paid for? ", 12)))
}

// turn is one in the middle of which a process is killed.
func (k *killing) turn(victim *mortal, hold string) {
	k.t.Helper()
	k.stream = hold == "stream"
	k.say()
	request, held := k.request(), strings.Count(k.provider.log(), "held\n")
	result := make(chan got, 1)
	go func() { result <- k.ask(hold) }()
	await(k.t, func() error {
		if strings.Count(k.provider.log(), "held\n") == held {
			return errors.New("the provider has no request")
		}
		return nil
	}, k.gateway.log)
	victim.kill()
	if victim == k.precis || victim == k.nats {
		resp, err := k.client.Get(k.providerURL + "/release") //nolint:noctx // of a test
		if err != nil {
			k.t.Fatal(err)
		}
		_ = resp.Body.Close()
	}
	g := <-result
	text, whole := g.whole(request)
	switch {
	case victim == k.precis || victim == k.nats:
		if !whole {
			k.t.Errorf("%s killed in a %s: %+v", victim.name, hold, g)
		}
	case whole:
		k.t.Errorf("%s killed in a %s, and the answer is whole", victim.name, hold)
	case victim == k.provider && hold == "request":
		if g.status != http.StatusBadGateway || !strings.Contains(g.body, "no answer from") {
			k.t.Errorf("provider killed in a request: %+v", g)
		}
	case victim == k.provider:
		if g.status != http.StatusOK || g.err == nil || !strings.Contains(g.body, "Answer ") {
			k.t.Errorf("provider killed in a stream: %+v", g)
		}
	case g.err == nil:
		k.t.Errorf("gateway killed in a %s, and no error: %+v", hold, g)
	}
	victim.start(k.t)
	for !whole { // as a client does
		g = k.ask("")
		if _, whole = g.whole(request); !whole {
			k.t.Fatalf("again, behind the kill of %s in a %s: %+v\n%s", victim.name, hold, g, k.gateway.log())
		}
	}
	k.history = append(k.history, text)
}

// whole is a turn in which nothing is killed.
func (k *killing) whole() got {
	k.t.Helper()
	k.say()
	g := k.ask("")
	text, whole := g.whole(k.request())
	if !whole {
		k.t.Fatalf("%+v\n%s", g, k.gateway.log())
	}
	k.history = append(k.history, text)
	return g
}

// The gateway, the processor, NATS and the provider are killed in the middle of requests and of streams. No request fails for the processor or NATS,
// an answer that breaks off is no whole one, and in the end the thread has each message that the client has, once: in each API that it reads.
func TestGatewayKills(t *testing.T) {
	if testing.Short() {
		t.Skip("kills processes for many seconds")
	}
	for _, a := range killAPIs {
		for _, mode := range []string{"observe", "compact"} {
			t.Run(a.name+" "+mode, func(t *testing.T) { killedInTheMiddle(t, a, mode) })
		}
	}
}

func killedInTheMiddle(t *testing.T, a killAPI, mode string) {
	k := beginKilling(t, a, mode)
	k.whole()
	for _, victim := range []*mortal{k.gateway, k.precis, k.nats, k.provider} {
		for _, hold := range []string{"request", "stream"} {
			k.turn(victim, hold)
		}
	}
	k.stream = true
	for _, victim := range []*mortal{k.precis, k.nats} { // away for the whole of a request
		victim.kill()
		if g := k.whole(); mode == "compact" && g.said != "no; reason=behind" && !strings.HasPrefix(g.said, "yes; prepared; ") {
			t.Errorf("%s away: %s", victim.name, g.said)
		}
		victim.start(t)
	}
	k.whole()
	k.gateway.kill() // perhaps before it has published that answer: the next request brings it
	k.gateway.start(t)
	k.whole()
	k.settled()
	if !strings.Contains(k.gateway.log(), `"reason":"answer_broken"`) {
		t.Errorf("what broke off is not said:\n%s", k.gateway.log())
	}
	if mode == "compact" {
		// A gateway that found precis away may leave it alone for a while.
		for g := k.whole(); !strings.HasPrefix(g.said, "yes; "); g = k.whole() {
			if g.said != "no; reason=behind" {
				t.Fatal(g.said)
			}
			<-time.After(time.Second)
		}
		k.settled()
	}
}

// settled waits until the thread has what the client has, and compares.
func (k *killing) settled() {
	k.t.Helper()
	await(k.t, func() error {
		r, err := k.thread()
		if err != nil {
			return err
		}
		if r.Messages != uint64(len(k.history)) || r.Rejected != 0 {
			return fmt.Errorf("%d messages, %d rejected; the client has %d", r.Messages, r.Rejected, len(k.history))
		}
		return nil
	}, k.gateway.log)
	out, err := exec.CommandContext(k.t.Context(), build(k.t), "export", "t1", "--format", "openai", "--nats", k.natsURL).Output()
	if err != nil {
		k.t.Fatal(err)
	}
	var request struct {
		Messages []struct{ Content json.RawMessage }
	}
	if err := json.Unmarshal(out, &request); err != nil {
		k.t.Fatalf("%v: %s", err, out)
	}
	var texts []string
	for _, m := range request.Messages {
		texts = append(texts, textOf(m.Content))
	}
	if !slices.Equal(texts, k.history) {
		k.t.Errorf("the thread has %.60q\nthe client %.60q", texts, k.history)
	}
}
