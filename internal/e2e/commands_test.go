package e2e_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/nats-io/nats.go"
)

// story publishes a thread with everything in it, in every form, and returns its last sequence.
func (w *world) story(name string) uint64 {
	w.t.Helper()
	tok := token(name)
	w.message(name, "m1", "find it \x00 \u2028 🧵")
	w.message(name, "m1", "find it \x00 \u2028 🧵")
	w.publish("thread.message."+tok, cloud("ce-id", "1"), []byte(`{ "message_id":"m2" , "role":"assistant","content":null,"big":12345678901234567890,"tool_calls":[{"id":"c1","name":"grep","arguments":{"z":1.0,"a":1e2}}]}`))
	header, body := structured(`,"type":"tool.result","data":{"message_id":"m3","tool_call_id":"c1","tool_name":"grep","content":` + string(encode(w.t, output("x"))) + `}`)
	w.publish("tool.result."+tok, header, []byte(body))
	w.publish("thread.message."+tok, nil, []byte("no JSON"))
	w.message(name, "m1", "a conflict")
	w.edit(name, "m4", "too early")
	w.message(name, "m4", "late")
	edits := cloud("ce-id", "e1", "ce-type", "message.edited")
	w.publish("message.edited."+tok, edits, encode(w.t, object{"message_id": "m1", "content": "first"}))
	w.publish("message.edited."+tok, edits, encode(w.t, object{"message_id": "m1", "content": "first"}))
	edits["ce-id"] = []string{"e2"}
	w.publish("message.edited."+tok, edits, encode(w.t, object{"message_id": "m1", "content": "second"}))
	edits["ce-id"] = []string{"e3"}
	w.publish("message.edited."+tok, edits, encode(w.t, object{"message_id": "m1", "content": "first"}))
	w.edit(name, "m3", output("y"))
	w.message(name, "m5", "to go")
	w.say("message.edited", name, object{"message_id": "m5", "deleted": true})
	return w.say("thread.message", name, object{"message_id": "m6", "role": "tool", "tool_call_id": "c9", "content": output("z"), "policy": "nobody knows"})
}

// same are the counters of a thread that do not depend on where in the log it stands.
func same(o object) object {
	o = maps.Clone(o)
	for _, key := range []string{"event_seq", "chain_head", "partition", "thread_id"} {
		delete(o, key)
	}
	return o
}

// ids are the ids of a thread's records, in order.
func (w *world) ids(name string, last string) []string {
	w.t.Helper()
	var ids []string
	for _, m := range w.records(name, func(m stored) bool { return created(m) && m.data(w.t)["slot"] == last }) {
		ids = append(ids, m.header.Get("ce-id"))
	}
	return ids
}

func TestExportedThreadIsTheSameThread(t *testing.T) {
	const name = "st*ry é.1"
	from, to := begin(t, "partitions: 3\n"), begin(t, "partitions: 2\n")
	want := from.thread(name, from.story(name))
	ids := from.ids(name, "tool:m6")
	from.message("another", "m", "not of this thread")

	file := do(t, nil, "", "export", name, "--nats", from.url)
	file.wants(t, statusDone)
	to.message("noise", "m", "x")
	do(t, nil, file.stdout, "publish", "-", "--nats", to.url).wants(t, statusDone)
	if got := to.ids(name, "tool:m6"); !slices.Equal(got, ids) {
		t.Errorf("records\n%s, want\n%s", strings.Join(got, "\n"), strings.Join(ids, "\n"))
	}
	got := to.thread(name, 0)
	// What could not be read is no event of a file.
	want["rejected"] = got["rejected"]
	equal(t, "exported thread", same(got), same(want))
	for _, id := range []string{"m1", "m2", "m3", "m4", "m5", "m6"} {
		a := from.answer("precis.message.get."+token(name), object{"message_id": id})
		b := to.answer("precis.message.get."+token(name), object{"message_id": id})
		delete(a, "event_seq")
		equal(t, "message "+id, b, a)
	}
	again := do(t, nil, "", "export", name, "--nats", to.url)
	if again.stdout != file.stdout {
		t.Errorf("exported again it is another file:\n%s\n%s", again.stdout, file.stdout)
	}
	do(t, nil, file.stdout, "publish", "-", "--nats", to.url).wants(t, statusDone)
	lines := int64(strings.Count(file.stdout, "\n"))
	before := number(t, got, "duplicates") + number(t, got, "rejected")
	seq := number(t, got, "event_seq") + lines
	after := to.thread(name, uint64(seq))
	if n := number(t, after, "duplicates") + number(t, after, "rejected"); n != before+lines {
		t.Errorf("published again, %d of %d lines count as known", n-before, lines)
	}
	for _, key := range []string{"messages", "tool_results", "edits", "tokens_total", "bytes", "tokens_live", "summaries_active", "summaries_stale"} {
		if fmt.Sprint(after[key]) != fmt.Sprint(got[key]) {
			t.Errorf("published again, %s is %v, was %v", key, after[key], got[key])
		}
	}
	do(t, nil, "", "export", "nobody", "--nats", to.url).wants(t, statusWrong, "nobody")
}

func TestRejectedAndTriedAgain(t *testing.T) {
	w := begin(t, "partitions: 2\nlimits: {event_bytes: 7000000}\n")
	rejections := w.follow("REJECTED", ">")
	header := cloud("ce-type", "message.edited", "X-Two", "1", "Nats-Msg-Id", "mine")
	header["X-Two"] = []string{"1", "2"}
	for _, c := range []struct {
		subject string
		header  nats.Header
		body    string
	}{
		{"message.edited.r", header, "no JSON"},
		{"thread.message.>", nil, "no JSON"},
		{"thread.message.=61", nil, good},
		{"thread.message.r", nat("X", "\xff"), "\xff\x00"},
		{"thread.message.r", nil, strings.Repeat("x", 6_500_000)},
	} {
		first := w.publish(c.subject, c.header, []byte(c.body))
		m := rejections.next()
		if number(t, m.data(t), "stream_seq") != int64(first) {
			t.Fatalf("rejected: %.200s", m.body)
		}
		o := do(t, nil, "", "rejected", "--retry", fmt.Sprint(m.seq), "--nats", w.url)
		o.wants(t, statusDone)
		again := rejections.next()
		a, b := m.data(t), again.data(t)
		for _, key := range []string{"body_base64", "body_sha256", "subject", "code", "field", "message", "subject_base64"} {
			if fmt.Sprint(a[key]) != fmt.Sprint(b[key]) {
				t.Errorf("%s, tried again: %s differs", c.subject, key)
			}
		}
		delete(a["headers"].(object), "Nats-Msg-Id")
		if fmt.Sprint(a["headers"], a["headers_base64"]) != fmt.Sprint(b["headers"], b["headers_base64"]) {
			t.Errorf("%s, tried again: headers %v, were %v", c.subject, b["headers"], a["headers"])
		}
	}
	do(t, nil, "", "rejected", "--nats", w.url).wants(t, statusDone)
	do(t, nil, "", "rejected", "--json", "--nats", w.url).wants(t, statusDone)
	do(t, nil, "", "rejected", "--retry", "999", "--nats", w.url).wants(t, statusWrong, "999")
}

func nat(name, value string) nats.Header { return nats.Header{name: {value}} }

func TestTailSaysAll(t *testing.T) {
	w := begin(t, "partitions: 2\n")
	seq := w.story("t")
	w.thread("t", seq)
	w.ids("t", "tool:m6")
	w.follow("REJECTED", ">").take(2)
	w.raw("thread.message.odd", "NATS/1.0 404 No Messages\r\n\r\n", "")
	w.thread("odd", w.message("odd", "m", "x"))

	c := command(t, within(t), nil, "tail", "--json", "--from", "start", "--nats", w.url)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	types := map[string]int{}
	for line := range linesOf(t, out) {
		data := decode(t, []byte(line))
		types[text(t, data, "type")]++
		if data["message_id"] == "m" {
			break
		}
	}
	if err := c.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	if status := c.ProcessState.ExitCode(); status != statusDone {
		t.Errorf("told to stop, tail ended with %d", status)
	}
	t.Log(types)
}

// A damaged store is found, and nothing panics. What is lost of the end of the newest log is no damage: so
// a crash leaves it, and the store stands where it stood before.
func TestDamage(t *testing.T) {
	dir := t.TempDir()
	for round := range 2 { // the second start moves what the first one wrote into tables
		d := launch(t, dir)
		for i := range 30 {
			d.result(fmt.Sprint("t", i), fmt.Sprint("m", round), output(fmt.Sprint(i)))
		}
		d.follow("SUMMARIES", "summary.created.*").take(30 * (round + 1))
		if status := d.kill(syscall.SIGTERM); status != statusDone {
			t.Fatalf("ended with %d:\n%s", status, d.stderr)
		}
	}
	do(t, nil, "", "check", "--data", dir).wants(t, statusDone)
	for _, kind := range []string{"*.sst", "*.log"} {
		files, err := filepath.Glob(filepath.Join(dir, "state", kind))
		if err != nil || len(files) == 0 {
			t.Fatalf("no %s: %v", kind, err)
		}
		for _, file := range files {
			size := flip(t, file, 0, 0)
			for _, at := range []int64{size / 3, size - 60} {
				damage(t, dir, file, at, kind == "*.log" && file == files[len(files)-1])
			}
		}
	}
}

// damage checks a store while some bytes of a file are others.
func damage(t *testing.T, dir, file string, at int64, mayPass bool) {
	t.Helper()
	const n = 40
	flip(t, file, at, n)
	defer flip(t, file, at, n)
	o := do(t, nil, "", "check", "--data", dir)
	if o.status != statusWrong && !(mayPass && o.status == statusDone) {
		t.Errorf("%s damaged at %d: status %d\n%s\n%s", filepath.Base(file), at, o.status, o.stderr, o.stdout)
	}
	if o.status == statusWrong && !strings.Contains(o.stderr, "start again") {
		t.Errorf("%s damaged at %d: it does not say what to do:\n%s", filepath.Base(file), at, o.stderr)
	}
}

// flip turns n bytes of a file over, which twice done changes nothing, and returns the file's size.
func flip(t *testing.T, file string, at int64, n int) int64 {
	t.Helper()
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	n = min(n, len(whole))
	at = max(0, min(at, int64(len(whole)-n)))
	for i := range n {
		whole[at+int64(i)] ^= 0xff
	}
	if err := os.WriteFile(file, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	return int64(len(whole))
}
