package machine

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Watcher is a process of its own, which the garbage of this one does not stop. It has a thread on each processor that goes before all others, and that
// computes the same every 4 ms: what the benchmark itself does can't make that slower.
type Watcher struct {
	cmd   *exec.Cmd
	stdin io.Closer
	out   *bufio.Reader
}

const role = "PRECIS_TEST_MACHINE"

// Main is called by TestMain. It says true where the process was started to compute, and has done so.
func Main() bool {
	if os.Getenv(role) == "" {
		return false
	}
	computeAll()
	return true
}

// Now is a clock that both processes have.
func Now() int64 {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
	return ts.Nano()
}

// computeAll computes until the standard input ends, and prints when each computation began and what it took.
func computeAll() {
	debug.SetGCPercent(-1)
	lists := make([][]computation, runtime.NumCPU())
	end := make(chan struct{})
	var running sync.WaitGroup
	for cpu := range lists {
		running.Go(func() { lists[cpu] = computeOn(cpu, end) })
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	close(end)
	running.Wait()
	w := bufio.NewWriter(os.Stdout)
	for _, c := range slices.Concat(lists...) {
		_, _ = fmt.Fprintln(w, c.begun, c.took)
	}
	_ = w.Flush()
}

func computeOn(cpu int, end chan struct{}) []computation {
	runtime.LockOSThread()
	var set unix.CPUSet
	set.Set(cpu)
	if unix.SchedSetaffinity(0, &set) != nil ||
		unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 50}, 0) != nil {
		return nil // without the right to go before others, it would measure them
	}
	list := make([]computation, 0, 1<<16) // of four minutes, for which it takes no further memory
	pause := unix.NsecToTimespec(int64(4 * time.Millisecond))
	for x := uint64(1); ; {
		begun := Now()
		for range 60_000 { // some 0.14 ms, in registers alone
			x ^= x << 13
			x ^= x >> 7
			x ^= x << 17
		}
		list = append(list, computation{begun, Now() - begun})
		select {
		case <-end:
			return list
		default:
			_ = unix.Nanosleep(&pause, nil)
		}
	}
}

// Watch begins to watch the machine.
func Watch(tb testing.TB) *Watcher {
	w := &Watcher{cmd: exec.Command(os.Args[0])}
	w.cmd.Env = append(os.Environ(), role+"=1")
	stdin, err := w.cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	stdout, err := w.cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	w.stdin, w.out = stdin, bufio.NewReader(stdout)
	if err := w.cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	return w
}

// Stop says in which spells the machine was slow; false where nothing can be told, without the right to go before others.
func (w *Watcher) Stop(tb testing.TB) (Spells, bool) {
	list := w.stop(tb)
	return spells(list), len(list) > 0
}

func (w *Watcher) stop(tb testing.TB) (list []computation) {
	_ = w.stdin.Close()
	for {
		var c computation
		if _, err := fmt.Fscanln(w.out, &c.begun, &c.took); err != nil {
			break
		}
		list = append(list, c)
	}
	if err := w.cmd.Wait(); err != nil {
		tb.Error(err)
	}
	return list
}
