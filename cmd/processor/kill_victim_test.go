package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// killTimeout bounds what a killed and restarted program may take in all.
const killTimeout = 10 * time.Minute

// victim is the real program, as a process of its own, that is started and killed on one data directory.
type victim struct {
	program, dir, address string
	args, env             []string // on top of those it is always run with; a nil env is the test's own
	process               *exec.Cmd
	running               <-chan struct{} // closed when it says that it runs; its standard error has ended otherwise
	logs                  *strings.Builder
	ended                 chan struct{}
}

// built is the program, linked once for all tests; removeBuilt takes it away.
var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "precis-test-")
	if err != nil {
		return "", err
	}
	program := filepath.Join(dir, "processor")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		return program, fmt.Errorf("build: %w\n%s", err, out)
	}
	return program, nil
})

var isBuilt atomic.Bool

func build(t *testing.T) string {
	t.Helper()
	isBuilt.Store(true)
	program, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return program
}

func removeBuilt() {
	if !isBuilt.Load() {
		return
	}
	if program, _ := built(); program != "" {
		os.RemoveAll(filepath.Dir(program))
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func newVictim(t *testing.T, program string) *victim {
	v := &victim{program: program, dir: t.TempDir(), address: freeAddress(t)}
	t.Cleanup(func() { v.kill() })
	return v
}

func (v *victim) url() string { return "nats://" + v.address }

func (v *victim) start(t *testing.T) {
	t.Helper()
	args := []string{"run", "--data", v.dir, "--nats-listen", v.address, "--http", "", "--api", "", "--log-format", "json"}
	v.process = exec.Command(v.program, append(args, v.args...)...)
	v.process.Env = v.env
	stderr, err := v.process.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := v.process.Start(); err != nil {
		t.Fatal(err)
	}
	running := make(chan struct{})
	v.running, v.logs, v.ended = running, &strings.Builder{}, make(chan struct{})
	go v.listen(stderr, running)
}

// listen keeps what the program says, until it ends.
func (v *victim) listen(stderr io.Reader, running chan<- struct{}) {
	defer close(v.ended)
	buffer, said := make([]byte, 4096), false
	for {
		n, err := stderr.Read(buffer)
		v.logs.Write(buffer[:n])
		if !said && strings.Contains(v.logs.String(), `"message":"running"`) {
			said = true
			close(running)
		}
		if err != nil {
			return
		}
	}
}

// awaitRunning waits until it listens; a program that ends instead is a failure.
func (v *victim) awaitRunning(t *testing.T) {
	t.Helper()
	select {
	case <-v.running:
	case <-v.ended:
		t.Fatalf("the program ended:\n%s", v.logs)
	case <-time.After(killTimeout):
		t.Fatal("the program does not run")
	}
}

// kill ends it as a power cut ends it for the program: in the middle of whatever it does.
func (v *victim) kill() {
	if v.process == nil {
		return
	}
	_ = v.process.Process.Kill()
	<-v.ended
	_ = v.process.Wait()
	v.process = nil
}

// stop ends it in order.
func (v *victim) stop(t *testing.T) {
	t.Helper()
	if err := v.process.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	<-v.ended
	if err := v.process.Wait(); err != nil {
		t.Fatalf("told to stop, it ended with %v:\n%s", err, v.logs)
	}
	v.process = nil
}

// check holds the store, at rest, against its log, and every decision on record against the log as well.
func (v *victim) check(t *testing.T) {
	t.Helper()
	for _, step := range []struct {
		args []string
		want string
	}{
		{[]string{"check"}, " 0 problems"},
		{[]string{"replay"}, "No discrepancies"},
		{[]string{"replay", "--no-rules"}, "No discrepancies"},
	} {
		out, err := exec.CommandContext(t.Context(), v.program, append(step.args, "--data", v.dir)...).CombinedOutput()
		if err != nil || !strings.Contains(string(out), step.want) {
			t.Errorf("%s: %v\n%s", step.args, err, out)
		}
	}
}
