package ui_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"precis/internal/broker"
	"precis/internal/config"
	"precis/internal/processor"
)

// patience bounds what a test waits for.
const patience = 30 * time.Second

func within(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	t.Cleanup(cancel)
	return ctx
}

// world is a processor with pages, over a server of its own.
type world struct {
	t      testing.TB
	broker *broker.Broker
	proc   *processor.Processor
	url    string
	client *http.Client
	config *config.Config
	server *server.Server // nil: it is in the broker
	way    *way           // to the server; nil: there is none
}

type options struct {
	contents bool
	dir      string                 // keeps streams and store; empty: they go with the test
	first    func(b *broker.Broker) // before the processor starts
	patience time.Duration          // until it has caught up; 0: patience
	tokens   string                 // the file's text; empty: none
	policies func(*config.Config)
	reload   chan os.Signal
	load     func() (*config.Config, error)
	server   bool // NATS is a server of its own, which can be taken away
	slow     bool // its answers can be held back
}

// serve starts a server of NATS.
func serve(t testing.TB, dir string) *server.Server {
	t.Helper()
	srv, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: dir, NoSigs: true, NoLog: true})
	if err != nil {
		t.Fatal(err)
	}
	srv.Start()
	t.Cleanup(func() {
		srv.Shutdown()
		srv.WaitForShutdown()
	})
	if !srv.ReadyForConnections(patience) {
		t.Fatal("the server is not ready")
	}
	return srv
}

func begin(t testing.TB, o options) *world {
	t.Helper()
	logger := zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.FatalLevel)
	streams, store := filepath.Join(o.dir, "nats"), filepath.Join(o.dir, "state")
	if o.dir == "" {
		streams, store = t.TempDir(), t.TempDir()
	}
	at := broker.Options{StoreDir: streams, Sync: "2m", Logger: logger}
	var srv *server.Server
	var between *way
	if o.server {
		srv = serve(t, streams)
		at = broker.Options{URL: srv.ClientURL(), Logger: logger}
		if o.slow {
			between = newWay(t, at.URL)
			at.URL = between.url()
		}
	}
	b, err := broker.Open(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close(context.Background()) })
	cfg := config.Default()
	cfg.DataDir, cfg.Partitions, cfg.HTTP.Listen, cfg.UI.Contents = store, 4, "", o.contents
	cfg.API.Listen = "127.0.0.1:" + freePort(t)
	if o.tokens != "" {
		cfg.API.TokensFile = filepath.Join(t.TempDir(), "tokens.yaml")
		if err := os.WriteFile(cfg.API.TokensFile, []byte(o.tokens), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if o.policies != nil {
		o.policies(cfg)
	}
	if o.first != nil {
		o.first(b)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	started, ran := make(chan *processor.Processor, 1), make(chan error, 1)
	go func() {
		ran <- processor.Serve(ctx, processor.Options{Config: cfg, Broker: b, Logger: logger, CloseTimeout: 2 * time.Second, Reload: o.reload, Load: o.load}, func(p *processor.Processor) { started <- p })
	}()
	w := &world{t: t, broker: b, url: "http://" + cfg.API.Listen, config: cfg, server: srv, way: between}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	w.client = &http.Client{Timeout: patience, Jar: jar}
	t.Cleanup(func() {
		w.client.CloseIdleConnections()
		stop()
		if err := <-ran; err != nil {
			t.Log(err) // it may have lost its server
		}
	})
	select {
	case w.proc = <-started:
	case err := <-ran:
		ran <- nil
		t.Fatal(err)
	}
	w.eventuallyIn(cmp.Or(o.patience, patience), func() error {
		if !w.proc.CaughtUp() {
			return fmt.Errorf("not caught up")
		}
		return nil
	})
	return w
}

func (w *world) eventually(try func() error) {
	w.t.Helper()
	w.eventuallyIn(patience, try)
}

func (w *world) eventuallyIn(limit time.Duration, try func() error) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.t.Context()), limit)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		err := try()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			w.t.Fatal(err)
		}
	}
}

// put publishes events, as subject and data, and waits until they are applied and what follows is published.
func (w *world) put(list ...[2]string) {
	w.t.Helper()
	for _, e := range list {
		if _, err := w.broker.JetStream().PublishMsg(within(w.t), &nats.Msg{Subject: e[0], Data: []byte(e[1])}); err != nil {
			w.t.Fatalf("%s: %v", e[0], err)
		}
	}
	if err := w.proc.Settled(within(w.t)); err != nil {
		w.t.Fatal(err)
	}
}

// lateStatus is that of a page which failed when its outline was sent.
var lateStatus = regexp.MustCompile(`id="failed" data-part data-status="(\d+)"`)

// answer is what came back.
type answer struct {
	status int
	header http.Header
	text   string
	at     *url.URL // behind redirects
}

// do sends a request; form makes it a POST. Of a page that the log takes long for it reads on, as the script does.
func (w *world) do(path string, form url.Values, headers ...string) answer {
	w.t.Helper()
	for {
		if a := w.look(path, form, headers...); !strings.Contains(a.text, "data-unread") {
			return a
		}
	}
}

func (w *world) look(path string, form url.Values, headers ...string) answer {
	w.t.Helper()
	method, body := http.MethodGet, ""
	if form != nil {
		method, body = http.MethodPost, form.Encode()
	}
	req, err := http.NewRequestWithContext(within(w.t), method, w.url+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if req.Header.Set(headers[i], headers[i+1]); headers[i] == "Host" {
			req.Host = headers[i+1]
		}
	}
	res, err := w.client.Do(req)
	if err != nil {
		w.t.Fatalf("%s: %v", path, err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	if late := lateStatus.FindSubmatch(text); late != nil { // behind an outline
		res.StatusCode, _ = strconv.Atoi(string(late[1]))
	}
	return answer{res.StatusCode, res.Header, string(text), res.Request.URL}
}

// wants holds a page against its status and what it shows.
func (w *world) wants(status int, path string, shows ...string) answer {
	w.t.Helper()
	a := w.do(path, nil)
	if a.status != status {
		w.t.Errorf("%s: %d, want %d: %.300s", path, a.status, status, a.text)
	}
	for _, text := range shows {
		if !strings.Contains(a.text, text) {
			w.t.Errorf("%s does not show %q", path, text)
		}
	}
	return a
}

// output is a tool output that rules summarize.
func output(id, more string) string {
	var b strings.Builder
	for i := range 90 {
		fmt.Fprintf(&b, "step %d of %s: compiled pkg/part%d.go\n", i, id, i)
	}
	return fmt.Sprintf(`{"message_id":%q,"tool_name":"bash","arguments":{"command":"make"},"content":%q%s}`, id, b.String(), more)
}

func say(id, role, text, more string) string {
	return fmt.Sprintf(`{"message_id":%q,"role":%q,"content":%q%s}`, id, role, text, more)
}

// sample is a thread with summaries that stand, are stale and were replaced, and a rejection.
func (w *world) sample(name string) {
	w.put(
		[2]string{"thread.message." + name, say("u1", "user", "Build the zanzibar target.", `,"agent_id":"builder"`)},
		[2]string{"thread.message." + name, `{"message_id":"a1","role":"assistant","content":"I will.","tool_calls":[{"id":"c1","name":"bash","arguments":{"command":"make"}}]}`},
		[2]string{"tool.result." + name, output("r1", `,"tool_call_id":"c1"`)},
		[2]string{"tool.result." + name, output("r2", "")},
		[2]string{"thread.message." + name, say("a2", "assistant", "It is built.", "")},
		[2]string{"message.edited." + name, `{"message_id":"r1","edit_id":"e1","content":` + fmt.Sprintf("%q", strings.Repeat("another line of text\n", 90)) + `}`},
		[2]string{"tool.result." + name, `{"message_id":"r2","content":"something else","agent_id":"careless"}`},
		[2]string{"tool.result." + name, `{"message_id":"broken"`},
	)
}
