package gateway_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"sort"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A machine says in which moments the computer itself was slow, as virtual machines are whose host has other work. A process of its own, which the
// garbage of this one does not stop, has a thread on each processor that goes before all others, and that computes the same every 4 ms.
type machine struct {
	cmd   *exec.Cmd
	stdin io.Closer
	out   *bufio.Reader
	// behind end, in the order of time: the computations that took more than twice the median
	slow []computation
}

type computation struct{ begun, took int64 } // in ns; of a clock that both processes have

const machineRole = "PRECIS_TEST_MACHINE"

// asMachine computes, if that is what the process was started for.
func asMachine() bool {
	if os.Getenv(machineRole) == "" {
		return false
	}
	computeAll()
	return true
}

func clock() int64 {
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
	list := make([]computation, 0, 1<<15)
	pause := unix.NsecToTimespec(int64(4 * time.Millisecond))
	for x := uint64(1); len(list) < cap(list); {
		select {
		case <-end:
			return list
		default:
		}
		begun := clock()
		for range 60_000 { // some 0.14 ms
			x ^= x << 13
			x ^= x >> 7
			x ^= x << 17
		}
		list = append(list, computation{begun, clock() - begun})
		_ = unix.Nanosleep(&pause, nil)
	}
	return list
}

func watchMachine(b *testing.B) *machine {
	m := &machine{cmd: exec.Command(os.Args[0])}
	m.cmd.Env = append(os.Environ(), machineRole+"=1")
	stdin, err := m.cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	stdout, err := m.cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	m.stdin, m.out = stdin, bufio.NewReader(stdout)
	if err := m.cmd.Start(); err != nil {
		b.Fatal(err)
	}
	return m
}

// end ends the computing. It says false where nothing can be told.
func (m *machine) end(b *testing.B) bool {
	_ = m.stdin.Close()
	var list []computation
	for {
		var c computation
		if _, err := fmt.Fscanln(m.out, &c.begun, &c.took); err != nil {
			break
		}
		list = append(list, c)
	}
	if err := m.cmd.Wait(); err != nil {
		b.Error(err)
	}
	if len(list) == 0 {
		return false
	}
	took := make([]int64, len(list))
	for i, c := range list {
		took[i] = c.took
	}
	slices.Sort(took)
	median := took[len(took)/2]
	m.slow = slices.DeleteFunc(list, func(c computation) bool { return c.took <= 2*median })
	slices.SortFunc(m.slow, func(a, b computation) int { return int(a.begun - b.begun) })
	return true
}

// steady says whether the machine was not slow from 20 ms before begun, for what waits then, until 5 ms behind the end.
func (m *machine) steady(begun int64, took time.Duration) bool {
	from, to := begun-int64(20*time.Millisecond), begun+int64(took+5*time.Millisecond)
	i := sort.Search(len(m.slow), func(i int) bool { return m.slow[i].begun+m.slow[i].took > from })
	return i == len(m.slow) || m.slow[i].begun > to
}
