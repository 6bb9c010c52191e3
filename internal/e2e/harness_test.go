package e2e_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"precis/internal/config"
	"precis/internal/processor"
	"precis/state"
)

// patience bounds what a test waits for; nothing here takes a tenth of it.
const patience = 20 * time.Second

// world is a processor with a server of its own, and a client connected to it.
type world struct {
	t    testing.TB
	nc   *nats.Conn
	js   jetstream.JetStream
	url  string
	http string // base URL of /metrics and its like
	dir  string
	end  func()
}

// begin starts a processor in a directory of its own; yaml is laid over what the tests need.
func begin(t testing.TB, yaml string) *world {
	t.Helper()
	return beginIn(t, t.TempDir(), yaml)
}

// beginIn starts a processor in dir, where one may have run before.
func beginIn(t testing.TB, dir, yaml string) *world {
	t.Helper()
	return beginOn(t, nil, dir, yaml)
}

// beginOn starts it with the store on a file system; nil is the operating system's.
func beginOn(t testing.TB, disk state.FS, dir, yaml string) *world {
	t.Helper()
	web := freeAddress(t)
	cfg := load(t, yaml, map[string]string{
		"data_dir": dir, "nats.listen": "127.0.0.1:0", "nats.sync": "2m", "http.listen": web, "api.listen": "",
	})
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	started, done := make(chan *processor.Processor, 1), make(chan error, 1)
	go func() {
		o := processor.Options{Config: cfg, Version: "1.2.3", Logger: logger(t), FS: disk}
		done <- processor.Serve(ctx, o, func(p *processor.Processor) { started <- p })
	}()
	w := &world{t: t, http: "http://" + web, dir: dir}
	select {
	case p := <-started:
		w.url = p.Broker().URL()
	case err := <-done:
		stop()
		t.Fatalf("start: %v", err)
	}
	w.connect()
	ended := false
	w.end = func() {
		if ended {
			return
		}
		ended = true
		w.nc.Close()
		stop()
		if err := <-done; err != nil {
			t.Errorf("end: %v", err)
		}
	}
	t.Cleanup(w.end)
	w.ready()
	return w
}

// load makes a configuration as the program would.
func load(t testing.TB, yaml string, flags map[string]string) *config.Config {
	t.Helper()
	file := filepath.Join(t.TempDir(), "precis.yaml")
	if err := os.WriteFile(file, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(config.Sources{File: file, Flags: flags})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func (w *world) connect() {
	w.t.Helper()
	var err error
	if w.nc, err = nats.Connect(w.url); err != nil {
		w.t.Fatal(err)
	}
	if w.js, err = jetstream.New(w.nc); err != nil {
		w.t.Fatal(err)
	}
}

// ready waits for /readyz.
func (w *world) ready() {
	w.t.Helper()
	w.eventually("ready", func() error {
		status, body := w.fetch("/readyz")
		if status != 200 {
			return fmt.Errorf("/readyz says %d %s", status, body)
		}
		return nil
	})
}

// eventually tries until it succeeds, for what nothing tells of.
func (w *world) eventually(what string, try func() error) {
	w.t.Helper()
	ctx := within(w.t)
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
			w.t.Fatalf("%s: %v", what, err)
		}
	}
}

func within(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	t.Cleanup(cancel)
	return ctx
}

func freeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func logger(t testing.TB) zerolog.Logger {
	return zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.WarnLevel)
}
