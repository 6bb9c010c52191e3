package e2e_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// binary is where the program was built, once for all tests.
var binary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "precis-e2e-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "processor")
	out, err := exec.Command("go", "build", "-o", path, "precis/cmd/processor").CombinedOutput()
	if err != nil {
		return dir, fmt.Errorf("%w: %s", err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	status := m.Run()
	if path, err := binary(); err == nil {
		if err := os.RemoveAll(filepath.Dir(path)); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	os.Exit(status) //nolint:forbidigo // the way a TestMain ends
}

// command is the program with arguments; it inherits nothing that could configure it.
func command(t testing.TB, ctx context.Context, env []string, args ...string) *exec.Cmd {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(ctx, path, args...)
	c.Env = append([]string{"HOME=" + os.TempDir(), "PATH=/usr/bin:/bin"}, env...)
	c.Dir = t.TempDir()
	return c
}

// outcome is how the program ended.
type outcome struct {
	status         int
	stdout, stderr string
}

// do runs the program to its end.
func do(t testing.TB, env []string, stdin string, args ...string) outcome {
	t.Helper()
	if _, err := binary(); err != nil { // may take longer than what is awaited below
		t.Fatal(err)
	}
	c := command(t, within(t), env, args...)
	var stdout, stderr bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(stdin), &stdout, &stderr
	err := c.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	o := outcome{c.ProcessState.ExitCode(), stdout.String(), stderr.String()}
	if strings.Contains(o.stderr, "panic:") || strings.Contains(o.stderr, "goroutine ") {
		t.Errorf("%v panicked:\n%s", args, o.stderr)
	}
	return o
}

// wants holds an outcome against a status and words that standard error must have.
func (o outcome) wants(t testing.TB, status int, words ...string) {
	t.Helper()
	if o.status != status {
		t.Errorf("status %d, want %d\n%s\n%s", o.status, status, o.stdout, o.stderr)
	}
	for _, w := range words {
		if !strings.Contains(o.stderr, w) {
			t.Errorf("it does not say %q:\n%s", w, o.stderr)
		}
	}
}

// daemon is the program as it runs.
type daemon struct {
	*world
	cmd    *exec.Cmd
	stderr *bytes.Buffer
	done   chan struct{}
}

// launch runs the program on ports of its own and connects to it; where args name no server, it embeds one.
func launch(t testing.TB, dir string, args ...string) *daemon {
	t.Helper()
	web := freeAddress(t)
	all := append([]string{"run", "--data", dir, "--http", web, "--api", "", "--log-format", "json"}, args...)
	external := ""
	for i, a := range args {
		if a == "--nats" {
			external = args[i+1]
		}
	}
	if external == "" {
		all = append(all, "--nats-listen", "127.0.0.1:0")
	}
	d := &daemon{
		world: &world{t: t, http: "http://" + web, dir: dir},
		cmd:   command(t, context.WithoutCancel(t.Context()), []string{"PRECIS_NATS_SYNC=2m"}, all...),
		done:  make(chan struct{}), stderr: &bytes.Buffer{},
	}
	logs, err := d.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if status := d.kill(syscall.SIGTERM); t.Failed() {
			t.Logf("the program ended with %d:\n%s", status, d.stderr)
		}
	})
	url := make(chan string, 1)
	go d.read(logs, url)
	select {
	case d.url = <-url:
	case <-d.done:
		t.Fatalf("it ended at start:\n%s", d.stderr)
	}
	d.connect()
	t.Cleanup(d.nc.Close)
	d.ready()
	return d
}

// read collects the program's log and finds the line that says where it listens.
func (d *daemon) read(logs io.Reader, url chan<- string) {
	defer close(d.done)
	lines := json.NewDecoder(io.TeeReader(logs, d.stderr))
	for {
		var line struct{ Message, NATS string }
		if err := lines.Decode(&line); err != nil {
			_, _ = io.Copy(d.stderr, io.MultiReader(lines.Buffered(), logs)) // what it says last is not valid JSON
			return
		}
		if line.Message == "running" {
			url <- line.NATS
		}
	}
}

// kill ends the program by a signal, and returns its exit status once it has ended.
func (d *daemon) kill(with syscall.Signal) int {
	if d.cmd.ProcessState == nil {
		_ = d.cmd.Process.Signal(with) // it may have ended by itself
		timer := time.AfterFunc(patience, func() { _ = d.cmd.Process.Kill() })
		defer timer.Stop()
		<-d.done
		_ = d.cmd.Wait()
	}
	return d.cmd.ProcessState.ExitCode()
}

// natsServer is a server of somebody else's.
type natsServer struct {
	url string
	js  jetstream.JetStream
}

func startServer(t testing.TB, change func(*server.Options), connect ...nats.Option) natsServer {
	t.Helper()
	o := &server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true}
	if change != nil {
		change(o)
	}
	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	if !s.ReadyForConnections(patience) {
		t.Fatal("the server does not start")
	}
	nc, err := nats.Connect(s.ClientURL(), connect...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return natsServer{s.ClientURL(), js}
}

// linesOf reads lines as they come.
func linesOf(t testing.TB, in io.Reader) func(func(string) bool) {
	t.Helper()
	return func(yield func(string) bool) {
		lines := bufio.NewScanner(in)
		lines.Buffer(nil, 16<<20)
		for lines.Scan() && yield(lines.Text()) {
		}
	}
}
