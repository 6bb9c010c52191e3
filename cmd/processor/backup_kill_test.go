package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A backup and a restore that are killed at any moment, again and again, leave what was there before, and come to their end.
func TestKilledBackupAndRestore(t *testing.T) {
	v := newVictim(t, build(t))
	v.env = append(os.Environ(), "PRECIS_NATS_SYNC=2m")
	v.start(t)
	v.awaitRunning(t)
	var events strings.Builder
	const threads = 300
	for i := range threads {
		events.WriteString(strings.ReplaceAll(sampleThread(), `"t 1"`, fmt.Sprintf(`"t%d"`, i)))
	}
	program(t, events.String(), "publish", "-", "--nats", v.url()).wants(t, exitDone, "2,100 events", "")
	running{url: v.url()}.awaitThread(t, fmt.Sprintf("t%d", threads-1), "2 messages, 1 tool result, 2 edits")

	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	backup, dir := filepath.Join(t.TempDir(), "backup"), filepath.Join(t.TempDir(), "data")
	killed := v.killing(t, random, func() bool { return false }, "backup", backup, "--nats", v.url())
	v.stop(t)
	program(t, "", "restore", backup, "--dry-run").wants(t, exitDone, "EVENTS     2,100 messages", "")

	killed += v.killing(t, random, func() bool { // the streams are there as a whole, or not at all: what is there before is a lock
		there, err := filepath.Glob(filepath.Join(dir, "nats", "jetstream", "*", "streams", "EVENTS"))
		if err != nil {
			t.Fatal(err)
		}
		return len(there) > 0
	}, "restore", backup, "--data", dir)
	if killed < 2 {
		t.Errorf("killed %d times", killed)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*-before-*")); err != nil || len(left) > 0 {
		t.Errorf("what interrupted runs left is renamed, not removed: %v %v", left, err)
	}
	program(t, "", "replay", "--data", dir).wants(t, exitDone, "No discrepancies", "")
	again := startProcessor(t, dir)
	again.awaitThread(t, "t7", "2 messages, 1 tool result, 2 edits")
	again.stop()
	program(t, "", "check", "--data", dir).wants(t, exitDone, " 0 problems", "")
}

// killing runs a command that is killed after ever longer times, until it ends by itself, or done says that there is nothing left to do.
func (v *victim) killing(t *testing.T, random *rand.Rand, done func() bool, args ...string) (killed int) {
	t.Helper()
	for most := 40 * time.Millisecond; ; most = most * 5 / 4 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(random.Int64N(int64(most))))
		out, err := exec.CommandContext(ctx, v.program, args...).CombinedOutput()
		cut := ctx.Err() != nil
		cancel()
		switch {
		case err == nil:
			return killed
		case !cut:
			t.Fatalf("%s: %v\n%s", args, err, out)
		}
		if killed++; done() {
			return killed
		}
	}
}
