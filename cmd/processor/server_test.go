package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"precis/cmd/processor/console"
	"precis/internal/broker"
	"precis/internal/retry"
)

// testTimeout bounds everything a test waits for.
const testTimeout = 30 * time.Second

// newServer starts a server with the three streams.
func newServer(t *testing.T) *broker.Broker {
	t.Helper()
	b := newBareServer(t)
	provision(t, b)
	return b
}

// newBareServer starts a server without streams.
func newBareServer(t *testing.T) *broker.Broker {
	t.Helper()
	b := open(t, t.TempDir(), "127.0.0.1:0")
	t.Cleanup(func() { shut(t, b) })
	return b
}

func open(t *testing.T, dir, listen string) *broker.Broker {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	b, err := broker.Open(ctx, broker.Options{Listen: listen, StoreDir: dir, Sync: "1m", Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func shut(t *testing.T, b *broker.Broker) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), testTimeout)
	defer cancel()
	if err := b.Close(ctx); err != nil {
		t.Error(err)
	}
}

func provision(t *testing.T, b *broker.Broker) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	if _, err := broker.Provision(ctx, b.JetStream(), broker.StreamSpec{Partitions: 4}); err != nil {
		t.Fatal(err)
	}
}

// outcome is what a command did.
type outcome struct {
	status         int
	stdout, stderr string
}

// command runs the program against a server.
func command(t *testing.T, b *broker.Broker, stdin string, args ...string) outcome {
	t.Helper()
	t.Setenv("NATS_URL", b.URL())
	return program(t, stdin, args...)
}

func program(t *testing.T, stdin string, args ...string) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	var stdout, stderr bytes.Buffer
	status := run(ctx, args, strings.NewReader(stdin), &stdout, &stderr)
	return outcome{status: status, stdout: stdout.String(), stderr: stderr.String()}
}

// wants holds an outcome against a status and parts of what was printed.
func (o outcome) wants(t *testing.T, status int, stdout, stderr string) {
	t.Helper()
	if o.status != status || !strings.Contains(o.stdout, stdout) || !strings.Contains(o.stderr, stderr) {
		t.Errorf("status %d, want %d\nstdout:\n%s\nwant %q\nstderr:\n%s\nwant %q", o.status, status, o.stdout, stdout, o.stderr, stderr)
	}
}

// golden holds text against a file; UPDATE_GOLDEN=1 writes the file first.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; UPDATE_GOLDEN=1 writes it\ngot\n%s\nwant\n%s", file, got, want)
	}
}

// stored lists subjects and bodies of a stream.
func stored(t *testing.T, b *broker.Broker, stream string) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	s, err := b.JetStream().Stream(ctx, stream)
	if err != nil {
		t.Fatal(err)
	}
	info, err := s.Info(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for seq := info.State.FirstSeq; seq <= info.State.LastSeq; seq++ {
		msg, err := s.GetMsg(ctx, seq)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, retry.Subject(msg.Subject)+" "+string(msg.Data))
	}
	return list
}

func publish(t *testing.T, js jetstream.JetStream, subject, data string) uint64 {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	ack, err := js.Publish(ctx, subject, []byte(data))
	if err != nil {
		t.Fatal(err)
	}
	return ack.Sequence
}

// lines gives a command's output line by line while it runs.
type lines chan string

// newLines makes a writer whose lines can be waited for.
func newLines(t *testing.T) (lines, io.Writer) {
	t.Helper()
	reader, writer := io.Pipe()
	l := make(lines, 100)
	done := make(chan struct{})
	go func() {
		defer close(done)
		scanner := bufio.NewScanner(reader)
		for scanner.Scan() {
			l <- scanner.Text()
		}
	}()
	t.Cleanup(func() {
		writer.Close()
		<-done
	})
	return l, writer
}

func (l lines) next(t *testing.T) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	select {
	case line := <-l:
		return line
	case <-ctx.Done():
		t.Fatal("no line came")
		return ""
	}
}

// The statuses, as the tests of the whole program name them.
const (
	exitDone        = console.ExitDone
	exitWrong       = console.ExitWrong
	exitUsage       = console.ExitUsage
	exitUnreachable = console.ExitUnreachable
)
