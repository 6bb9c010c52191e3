package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// The yardstick of throughput by the number of processors: how much more than one process do as many processes do that only compute, each
// held to the same share? Cores that are threads of one core, or a neighbour's, give less than their number.

// yardstickTime is how long the processes compute, each time.
const yardstickTime = 4 * time.Second

// yardstick returns how many times the work of one process n of them do.
func yardstick(ctx context.Context, name string, n int, part float64) (times float64, err error) {
	one, err := compute(ctx, name, 1, part)
	if err != nil {
		return 0, err
	}
	all, err := compute(ctx, name, n, part)
	if err != nil {
		return 0, err
	}
	return float64(all) / float64(one), nil
}

// compute returns what n processes get done in yardstickTime.
func compute(ctx context.Context, name string, n int, part float64) (done int, err error) {
	program, err := os.Executable()
	if err != nil {
		return 0, fmt.Errorf("run yardstick: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var outs []*bufio.Reader
	var starts []io.Closer
	var cmds []*exec.Cmd
	var groups []string
	defer func() {
		if err != nil {
			cancel() // ends those that are left
		}
		for _, cmd := range cmds {
			err = errors.Join(err, cmd.Wait())
		}
		for _, group := range groups {
			_ = os.Remove(group)
		}
	}()
	for i := range n {
		group, err := newShare(name+"-yardstick-"+strconv.Itoa(i), part)
		if err != nil {
			return 0, fmt.Errorf("hold the yardstick to a share: %w", err)
		}
		groups = append(groups, group)
		cmd := exec.CommandContext(ctx, program, yardstickChild, yardstickTime.String())
		in, failed := cmd.StdinPipe()
		out, unread := cmd.StdoutPipe()
		if err := errors.Join(failed, unread, cmd.Start()); err != nil {
			return 0, fmt.Errorf("run yardstick: %w", err)
		}
		cmds, starts, outs = append(cmds, cmd), append(starts, in), append(outs, bufio.NewReader(out))
		if err := os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(strconv.Itoa(cmd.Process.Pid)), 0o600); err != nil {
			return 0, fmt.Errorf("hold the yardstick to a share: %w", err)
		}
	}
	for _, in := range starts {
		_ = in.Close() // they begin together
	}
	for _, out := range outs {
		line, err := out.ReadString('\n')
		if err != nil {
			return 0, fmt.Errorf("run yardstick: %w", err)
		}
		count, err := strconv.Atoi(strings.TrimSpace(line))
		if err != nil {
			return 0, fmt.Errorf("run yardstick: %w", err)
		}
		done += count
	}
	return done, nil
}

// yardstickChild is the first argument of a process that computes.
const yardstickChild = "yardstick"

// runYardstick makes and encodes events from the end of its input on, until a time has passed, and prints how many.
func runYardstick(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	lasts, err := time.ParseDuration(strings.Join(args, " "))
	if err != nil {
		fmt.Fprintf(stderr, "loadtest: %v\n", err)
		return exitUsage
	}
	a := newAgents(options{Agents: 1, Threads: 2, Events: 1 << 30, Seed: 1, Run: "yardstick"})[0]
	_, _ = io.Copy(io.Discard, stdin)
	n := 0
	for end := time.Now().Add(lasts); time.Now().Before(end); n++ {
		e := a.next()
		if _, err := e.message(); err != nil {
			fmt.Fprintf(stderr, "loadtest: %v\n", err)
			return exitWrong
		}
	}
	fmt.Fprintln(stdout, n)
	return 0
}
