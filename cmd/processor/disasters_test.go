package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	natsserver "github.com/nats-io/nats-server/v2/server"
)

// disaster runs the commands of docs/disasters.md, with its paths and addresses replaced by those of the test.
type disaster struct {
	*victim
	page   map[string][]string // blocks of commands by heading
	backup string
	bin    string // has the program under its name
	time   string // $TIME
	store  string // address of the server with the object store
}

func newDisaster(t *testing.T) *disaster {
	t.Helper()
	d := &disaster{victim: newVictim(t, build(t)), page: map[string][]string{}, backup: filepath.Join(t.TempDir(), "backup"), bin: t.TempDir()}
	d.dir = filepath.Join(t.TempDir(), "data") // made by the program
	d.install(t, build(t))
	heading, blocks := "", regexp.MustCompile("(?ms)^## ([^\n]*)$|^```sh\n(.*?)^```")
	for _, m := range blocks.FindAllStringSubmatch(projectFile(t, "docs/disasters.md"), -1) {
		if m[1] != "" {
			heading = m[1]
			continue
		}
		d.page[heading] = append(d.page[heading], m[2])
	}
	return d
}

// install makes a program the one that the page's commands run.
func (d *disaster) install(t *testing.T, program string) {
	t.Helper()
	d.program = program
	link := filepath.Join(d.bin, "processor")
	_ = os.Remove(link)
	if err := os.Symlink(program, link); err != nil {
		t.Fatal(err)
	}
}

// follow runs a block of the page, and returns what it printed. "processor run" stays.
func (d *disaster) follow(t *testing.T, heading string, block int) (printed string) {
	t.Helper()
	if len(d.page[heading]) <= block {
		t.Fatalf("the page has no block %d of %q", block, heading)
	}
	for line := range strings.Lines(d.page[heading][block]) {
		if strings.HasPrefix(line, "processor run ") {
			if strings.Contains(line, "--nats ") != (d.args != nil) {
				t.Errorf("%q is not how the test runs it", line)
			}
			d.start(t)
			d.awaitRunning(t)
			continue
		}
		out, err := d.shell(t, line)
		if err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
		printed += out
	}
	return printed
}

// shell runs a line as it stands on the page.
func (d *disaster) shell(t *testing.T, line string) (string, error) {
	t.Helper()
	env := append(os.Environ(), "PATH="+d.bin+":"+os.Getenv("PATH"), "TIME="+d.time)
	if !strings.Contains(line, "--data") {
		env = append(env, "NATS_URL="+d.url())
	}
	line = strings.NewReplacer("/var/lib/precis", d.dir, "/backup/precis", d.backup, "/tmp/drill", filepath.Join(d.bin, "drill"), "127.0.0.1:4222", d.address, "backup.internal:4222", d.store).Replace(line)
	cmd := exec.CommandContext(t.Context(), "sh", "-euc", line)
	cmd.Env = env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// say publishes a thread of its own, and waits until it is counted and its summary is stale and made anew.
func (d *disaster) say(t *testing.T, thread string) {
	t.Helper()
	program(t, strings.ReplaceAll(sampleThread(), `"t 1"`, strconv.Quote(thread)), "publish", "-", "--nats", d.url()).wants(t, exitDone, "7 events", "")
	d.knows(t, thread)
}

// knows waits until the processor has counted threads.
func (d *disaster) knows(t *testing.T, threads ...string) {
	t.Helper()
	for _, thread := range threads {
		running{url: d.url()}.awaitThread(t, thread, "2 messages, 1 tool result, 2 edits")
	}
}

func TestALostDisk(t *testing.T) {
	const this = "A lost disk"
	d := newDisaster(t)
	d.start(t)
	d.awaitRunning(t)
	d.say(t, "before")
	if out := d.follow(t, "Back up", 0); !strings.Contains(out, "EVENTS     up to 7: 7 messages copied") {
		t.Error(out)
	}
	if out := d.follow(t, "Back up", 1); !strings.Contains(out, "No discrepancies") {
		t.Error(out)
	}
	d.say(t, "behind")
	d.kill()
	if err := os.RemoveAll(d.dir); err != nil {
		t.Fatal(err)
	}
	d.follow(t, this, 0)
	d.knows(t, "before")
	program(t, "", "thread", "behind", "--nats", d.url()).wants(t, exitWrong, "", "")
	d.say(t, "behind") // agents publish it again
	d.stop(t)
	if out := d.follow(t, this, 1); !strings.Contains(out, " 0 problems") || !strings.Contains(out, "No discrepancies") {
		t.Error(out)
	}

	// A part is damaged: the store is in the way, and so are the streams.
	damaged, err := filepath.Glob(filepath.Join(d.dir, "nats", "jetstream", "*", "streams", "EVENTS", "msgs", "*.blk"))
	if err != nil || len(damaged) == 0 {
		t.Fatal(err)
	}
	if err := os.Truncate(damaged[0], 100); err != nil {
		t.Fatal(err)
	}
	d.follow(t, this, 2)
	d.knows(t, "before")
	d.stop(t)
	d.check(t)
}

// The page's backup in an object store, of a server that has no streams.
func TestALostDiskWithAnObjectStore(t *testing.T) {
	const this = "In an object store"
	d := newDisaster(t)
	d.store = freeAddress(t)
	serve(t, d.store, t.TempDir())
	d.start(t)
	d.awaitRunning(t)
	d.say(t, "before")
	for _, want := range []string{"EVENTS     up to 7: 7 messages copied", "EVENTS     up to 7: 0 messages copied"} {
		if out := d.follow(t, this, 0); !strings.Contains(out, want) || !strings.Contains(out, "in nats://"+d.store+"/precis.") {
			t.Error(out)
		}
	}
	d.kill()
	if err := os.RemoveAll(d.dir); err != nil {
		t.Fatal(err)
	}
	d.follow(t, this, 1)
	d.knows(t, "before")
	d.say(t, "more")
	d.stop(t)
	d.check(t)
	for _, place := range []string{"nats://" + d.store, "nats://" + d.store + "/a/b", "nats:///precis"} {
		program(t, "", "restore", place, "--data", t.TempDir()).wants(t, exitUsage, "", "not")
	}
	program(t, "", "restore", "nats://"+d.store+"/none", "--data", t.TempDir()).wants(t, exitUsage, "", "has no object store none")
	program(t, "", "restore", "nats://"+freeAddress(t)+"/precis", "--data", t.TempDir()).wants(t, exitUnreachable, "", "no server there")
}

func TestALostServer(t *testing.T) {
	const this = "A lost server"
	d := newDisaster(t)
	shutdown := serve(t, d.address, t.TempDir())
	d.args = []string{"--nats", d.url()}
	d.start(t)
	d.awaitRunning(t)
	d.say(t, "before")
	d.follow(t, "Back up", 0)
	d.say(t, "behind")
	d.kill()
	shutdown()

	serve(t, d.address, t.TempDir()) // an empty one
	d.follow(t, this, 0)
	d.start(t) // with its store
	<-d.ended
	if said := d.logs.String(); !strings.Contains(said, "the log is not the one that the store was made from") {
		t.Error(said)
	}
	d.follow(t, this, 1)
	d.knows(t, "before")
	d.say(t, "behind")
	d.stop(t)
	for _, command := range []string{"check", "replay"} {
		out, err := d.shell(t, "processor "+command+" --data /var/lib/precis --nats nats://127.0.0.1:4222")
		if err != nil || !strings.Contains(out, " 0 problems") && !strings.Contains(out, "No discrepancies") {
			t.Errorf("%s: %v\n%s", command, err, out)
		}
	}
}

// serve runs an external server at an address.
func serve(t *testing.T, address, dir string) (shutdown func()) {
	t.Helper()
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	o := &natsserver.Options{Host: "127.0.0.1", JetStream: true, StoreDir: dir, NoSigs: true, NoLog: true, MaxPayload: 8 << 20}
	if o.Port, err = strconv.Atoi(port); err != nil {
		t.Fatal(err)
	}
	s, err := natsserver.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	shutdown = func() { s.Shutdown(); s.WaitForShutdown() }
	t.Cleanup(shutdown)
	if !s.ReadyForConnections(testTimeout) {
		t.Fatal("not ready")
	}
	return shutdown
}

func TestABadRelease(t *testing.T) {
	const this = "A bad release"
	d := newDisaster(t)
	d.start(t)
	d.awaitRunning(t)
	d.say(t, "before")
	d.follow(t, this, 0)
	var manifest struct {
		Points []struct {
			At string `json:"at"`
		} `json:"points"`
	}
	data, err := os.ReadFile(filepath.Join(d.backup, "backup.json"))
	if err != nil || json.Unmarshal(data, &manifest) != nil || len(manifest.Points) != 1 {
		t.Fatalf("%v: %s", err, data)
	}
	d.time = manifest.Points[0].At
	d.stop(t)

	d.install(t, newerRelease(t))
	d.refuses(t, "unknown store format")
	d.without(t, "state")
	d.start(t)
	d.awaitRunning(t)
	d.knows(t, "before")
	d.say(t, "behind")
	d.kill()

	d.install(t, build(t))
	d.refuses(t, "unknown store format")
	d.without(t, "state")
	d.refuses(t, "configuration on record of a newer program")
	d.follow(t, this, 1)
	d.follow(t, this, 2)
	d.knows(t, "before", "behind")
	d.say(t, "more")
	d.stop(t)
	d.check(t)
}

// refuses starts the program, which ends by itself.
func (d *disaster) refuses(t *testing.T, with string) {
	t.Helper()
	d.start(t)
	<-d.ended
	if said := d.logs.String(); !strings.Contains(said, with) {
		t.Errorf("it says nothing of %q:\n%s", with, said)
	}
}

// without removes a part of the data directory.
func (d *disaster) without(t *testing.T, part string) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(d.dir, part)); err != nil {
		t.Fatal(err)
	}
}

// newerRelease is the program with another format of the store and a newer configuration on record.
func newerRelease(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(projectRoot)
	if err != nil {
		t.Fatal(err)
	}
	replaced := map[string]string{}
	for file, change := range map[string][2]string{
		"state/store.go":    {`const format = "precis-`, `const format = "precis-next-`},
		"events/records.go": {"const ConfigVersion = ", "const ConfigVersion = 100 + "},
	} {
		before := projectFile(t, file)
		after := strings.Replace(before, change[0], change[1], 1)
		if before == after {
			t.Fatalf("%s has no %q", file, change[0])
		}
		replaced[filepath.Join(dir, file)] = filepath.Join(t.TempDir(), filepath.Base(file))
		if err := os.WriteFile(replaced[filepath.Join(dir, file)], []byte(after), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		t.Fatal(err)
	}
	list, program := filepath.Join(t.TempDir(), "overlay.json"), filepath.Join(t.TempDir(), "processor")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), killTimeout)
	defer cancel()
	if out, err := exec.CommandContext(ctx, "go", "build", "-overlay", list, "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatal(fmt.Errorf("build: %w\n%s", err, out))
	}
	return program
}
