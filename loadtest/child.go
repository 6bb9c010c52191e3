package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// child is a processor for one run, with its own data directory.
type child struct {
	url    string
	dir    string
	cmd    *exec.Cmd
	log    *os.File
	exited chan struct{} // closed after the exit, with ended set
	ended  error
}

// startTime bounds building and starting: the first build compiles the server and the vocabularies.
const startTime = 5 * time.Minute

// startProcessor builds and starts the processor of this module.
func startProcessor(ctx context.Context, progress io.Writer) (c *child, err error) {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	c = &child{exited: make(chan struct{})}
	if c.dir, err = os.MkdirTemp("", "precis-loadtest-"); err != nil {
		return nil, fmt.Errorf("make data directory: %w", err)
	}
	defer func() {
		if err != nil {
			c.stop()
		}
	}()
	fmt.Fprintf(progress, "starting a processor in %s\n", c.dir)
	program := filepath.Join(c.dir, "processor")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", program, "precis/cmd/processor").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build processor: %w: %s", err, bytes.TrimSpace(out))
	}
	listen, err := freeAddress()
	if err != nil {
		return nil, err
	}
	c.url = "nats://" + listen
	if c.log, err = os.Create(filepath.Join(c.dir, "log")); err != nil {
		return nil, fmt.Errorf("make log: %w", err)
	}
	c.cmd = exec.Command(program, "run", "--data", filepath.Join(c.dir, "data"), "--nats-listen", listen, "--http", "127.0.0.1:0", "--api", "")
	c.cmd.Stdout, c.cmd.Stderr = c.log, c.log
	if err := c.cmd.Start(); err != nil {
		c.cmd = nil
		return nil, fmt.Errorf("start processor: %w", err)
	}
	go func() {
		defer close(c.exited)
		c.ended = c.cmd.Wait()
	}()
	return c, c.ready(ctx)
}

// errEnded: the processor exited before it was ready.
var errEnded = errors.New("it ended")

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// ready waits until the streams exist and the service answers.
func (c *child) ready(ctx context.Context) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		if answers(ctx, c.url) {
			return nil
		}
		select {
		case <-c.exited:
			return fmt.Errorf("start processor: %w: %s", errors.Join(errEnded, c.ended), c.tail())
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("start processor: %w", context.Cause(ctx))
		}
	}
}

func answers(ctx context.Context, url string) bool {
	nc, err := nats.Connect(url, nats.NoReconnect())
	if err != nil {
		return false
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return false
	}
	if _, err := js.Stream(ctx, "REJECTED"); err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_, err = nc.RequestWithContext(ctx, "precis.thread.get.none", nil)
	return err == nil // a 404 is also an answer
}

func (c *child) tail() string {
	text, err := os.ReadFile(c.log.Name())
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-5):], "\n")
}

// stop shuts the processor down, kills it after a timeout, and removes its data.
func (c *child) stop() {
	if c.cmd != nil {
		if err := c.cmd.Process.Signal(os.Interrupt); err == nil || errors.Is(err, os.ErrProcessDone) {
			select {
			case <-c.exited:
			case <-time.After(30 * time.Second):
				_ = c.cmd.Process.Kill()
				<-c.exited
			}
		}
	}
	if c.log != nil {
		_ = c.log.Close()
	}
	_ = os.RemoveAll(c.dir)
}
