package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/alecthomas/kong"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"precis/events"
	"precis/internal/broker"
	"precis/internal/race"
	"precis/internal/recovery"
	"precis/internal/sessions"
	"precis/state"
	"precis/summarize/prompt"
)

// hostile has what acts on terminals: escapes of two generations, a title, overrides and marks of direction.
const hostile = "a\x1b[2Jb\x1b]0;title\x07c\u009b31md\u0085e\u202ef\u2066g\u200eh\u200fi\u061cj\x7fk\rl"

// hostiles are texts that agents, models and forgers may use for anything. Each is valid UTF-8.
var hostiles = []string{
	hostile + "\x00\u009b",
	"\u009b2J\u009d0;c1\u009c\u0090q\u009c\ufffd",
	"=cmd|' /C calc'!A0",
	"+1+1", "-2+3+cmd|' /C calc'!A0", "@SUM(1+1)", "\t=1+1", "\r=1+1", "\n=1+1\n", "\uff1d1+1", " =1+1", "\u200b=1+1",
	"\u200bzero\u200dwidth\u2060\ufeff\U000e0041\u00ad",
	"\u202eexe.gpj\u202c\u2066\u2069",
	`","=1+1",` + "\"\r\n=2+2,",
	strings.Repeat("W\u0301", 85), // 255 bytes, the most that an id may have but one
}

// form says what an output is to be.
type form int

const (
	text  form = iota // for people
	jsons             // one JSON value or several
	cells             // CSV
	bytesOf
	nothing
)

// use is a command with hostile data before it.
type use struct {
	args   []string
	stdin  string
	form   form
	status []int    // those that docs allow here
	says   []string // strings that JSON gives back, or bytes that a file gets
}

// No command acts on a terminal, whatever threads, messages, tools, policies, models, summaries and errors are called and say:
// its JSON gives the texts back as they were, and no cell of its CSV is a formula.
func TestNoCommandIsTakenOver(t *testing.T) {
	race.Slow(t)
	w := newHostileWorld(t)
	table := w.table()
	covered(t, table)
	for name, uses := range table {
		for _, u := range uses {
			t.Run(label(name, u.args), func(t *testing.T) { u.holds(t, program(t, u.stdin, u.args...)) })
		}
	}
	page, err := os.ReadFile(w.page)
	if err != nil {
		t.Fatal(err)
	}
	inertText(t, "the page", string(page))
	for format, logs := range w.logs {
		if !strings.Contains(logs, "event rejected") && !strings.Contains(logs, "thread_id") {
			t.Errorf("no event shows in the %s log:\n%s", format, logs)
		}
		inertText(t, format+" log", logs)
		if format == "json" {
			valuesOf(t, logs)
		}
	}
}

// label names a use.
func label(name string, args []string) string {
	label := name
	for _, a := range args[1:] {
		if strings.HasPrefix(a, "-") && len(a) < 20 {
			label += " " + strings.TrimLeft(a, "-")
		}
	}
	return label
}

// covered wants each command of the program in the table, each of its formats, and no other.
func covered(t *testing.T, table map[string][]use) {
	t.Helper()
	parser, err := kong.New(&cli{}, kong.Vars{"version": "v0"})
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, command := range parser.Model.Children {
		known[command.Name] = true
		uses := table[command.Name]
		if len(uses) == 0 {
			t.Errorf("%s has no row", command.Name)
		}
		for _, flag := range command.Flags {
			var ways [][]string
			switch flag.Name {
			case "json", "csv", "html":
				ways = [][]string{{"--" + flag.Name}}
			case "format", "log-format", "records":
				for _, value := range flag.EnumSlice() {
					if value != "" && value != "auto" {
						ways = append(ways, []string{"--" + flag.Name, value})
					}
				}
			}
			for _, way := range ways {
				if !slices.ContainsFunc(uses, func(u use) bool {
					at := slices.Index(u.args, way[0])
					return at >= 0 && (len(way) == 1 || at+1 < len(u.args) && u.args[at+1] == way[1])
				}) {
					t.Errorf("%s %s has no row", command.Name, strings.Join(way, " "))
				}
			}
		}
	}
	for name := range table {
		if !known[name] {
			t.Errorf("there is no command %s", name)
		}
	}
}

// holds compares what a command wrote with what it may write.
func (u use) holds(t *testing.T, got outcome) {
	t.Helper()
	if !slices.Contains(u.status, got.status) {
		t.Errorf("%q: status %d, want one of %v\n%s\n%s", u.args, got.status, u.status, got.stdout, got.stderr)
	}
	inertText(t, "standard error", got.stderr)
	if u.form == bytesOf {
		if want := u.says[0]; got.stdout != want {
			t.Errorf("got %q, want %q", got.stdout, want)
		}
		return
	}
	inertText(t, "standard output", got.stdout)
	switch u.form {
	case text:
		if got.status == exitDone && got.stdout == "" {
			t.Errorf("%q: nothing is told", u.args)
		}
	case jsons:
		values := valuesOf(t, got.stdout)
		for _, want := range u.says {
			if !slices.Contains(values, want) {
				t.Errorf("%q: JSON does not say %q\n%s", u.args, want, got.stdout)
			}
		}
	case cells:
		inertCells(t, got.stdout)
	case nothing:
		if got.stdout != "" {
			t.Errorf("%q: wrote %q", u.args, got.stdout)
		}
	}
}

// inertText wants a text without characters that act on a terminal or on the direction of a text.
func inertText(t *testing.T, what, text string) {
	t.Helper()
	if !utf8.ValidString(text) {
		t.Errorf("%s is not UTF-8: %q", what, text)
	}
	for i, r := range text {
		acts := r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r <= 0x9f || r == 0x61c || r == 0x200e || r == 0x200f ||
			r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
		if acts {
			t.Errorf("%s holds %U: %q", what, r, text[max(0, i-60):min(len(text), i+20)])
			return
		}
	}
}

// inertCells wants CSV of which no cell is a formula, in any program.
func inertCells(t *testing.T, text string) {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(rows) < 2 {
		t.Errorf("%d rows of CSV: %v\n%s", len(rows), err, text)
	}
	for _, cell := range slices.Concat(rows...) {
		first, _ := utf8.DecodeRuneInString(strings.TrimLeft(cell, " \u00a0\u200b\u200d\u2060\ufeff\u00ad"))
		if _, err := strconv.ParseFloat(cell, 64); err != nil && strings.ContainsRune("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20", first) {
			t.Errorf("a formula: %q", cell)
		}
	}
}

// valuesOf are all strings in a sequence of JSON values, names of members included.
func valuesOf(t *testing.T, text string) (list []string) {
	t.Helper()
	d := jsontext.NewDecoder(strings.NewReader(text))
	for {
		token, err := d.ReadToken()
		if errors.Is(err, io.EOF) {
			if len(list) == 0 {
				t.Errorf("no JSON: %q", text)
			}
			return list
		}
		if err != nil {
			t.Errorf("not JSON: %v\n%s", err, text)
			return list
		}
		if token.Kind() == '"' {
			list = append(list, token.String())
		}
	}
}

// hostileWorld is a server and a processor that have met all of it.
type hostileWorld struct {
	t       *testing.T
	url     string
	dir     string
	threads []string
	page    string            // where audit writes
	summary string            // the id of the first thread's
	logs    map[string]string // of run, by format
	fakeURL string            // of a server with an impostor service
	badURL  string            // of one whose answers are errors
	each    func(t *testing.T, u use, got outcome)
}

func newHostileWorld(t *testing.T) *hostileWorld {
	t.Helper()
	for i, h := range hostiles {
		if len(h) < 3 {
			t.Fatalf("hostile %d: %q", i, h)
		}
	}
	return newWorld(t, hostiles, func(t *testing.T, u use, got outcome) { u.holds(t, got) })
}

// newWorld has a server and a processor meet threads of such names; each is called with what commands say while the processor runs.
func newWorld(t *testing.T, names []string, each func(t *testing.T, u use, got outcome)) *hostileWorld {
	t.Helper()
	b := newBareServer(t)
	w := &hostileWorld{t: t, url: b.URL(), dir: t.TempDir(), page: filepath.Join(t.TempDir(), "page.html"), logs: map[string]string{}, threads: names, each: each}
	for _, format := range []string{"json", "text"} {
		w.logs[format] = w.runs(b, format)
	}
	w.forge(b)
	w.fakeURL, w.badURL = impostor(t, ""), impostor(t, "404")
	return w
}

// runs has a processor meet half of the threads, and returns its log.
func (w *hostileWorld) runs(b *broker.Broker, format string) string {
	w.t.Helper()
	ctx, stop := context.WithCancel(w.t.Context())
	defer stop()
	logs := newSeen("running")
	status := make(chan int, 1)
	go func() {
		status <- run(ctx, []string{
			"run", "--data", w.dir, "--nats", b.URL(), "--http", "", "--api", "", "--log-level", "debug", "--log-format", format,
		}, strings.NewReader(""), io.Discard, logs)
	}()
	select {
	case <-logs.there:
	case <-time.After(testTimeout):
		w.t.Fatalf("the processor does not run:\n%s", logs.String())
	}
	last := uint64(0)
	half := len(w.threads) / 2
	threads := w.threads[:half]
	if format == "text" {
		threads = w.threads[half:]
	}
	for _, h := range threads {
		last = w.story(b, h)
	}
	for end := time.Now().Add(testTimeout); ; { // it may not have caught up yet
		got := program(w.t, "", "thread", "--min-event-seq", fmt.Sprint(last), "--json", "--nats", b.URL(), "--", threads[len(threads)-1])
		if got.status == exitDone {
			break
		}
		if got.status != exitUnreachable || time.Now().After(end) {
			w.t.Fatalf("thread: status %d %s", got.status, got.stderr)
		}
	}
	if w.summary == "" {
		out := program(w.t, "", "tail", "--from", "start", "--until-caught-up", "--type", "summary.created", "--json", "--nats", b.URL())
		for line := range strings.Lines(out.stdout) {
			var rec struct {
				ID     string `json:"id"`
				Thread string `json:"thread_id"`
			}
			if json.Unmarshal([]byte(line), &rec) == nil && rec.Thread == w.threads[0] {
				w.summary = rec.ID
			}
		}
	}
	w.live(b, threads[0])
	stop()
	if got := <-status; got != exitDone {
		w.t.Errorf("run: status %d\n%s", got, logs.String())
	}
	return logs.String()
}

// live holds the commands that ask a processor to the table, while there is one.
func (w *hostileWorld) live(b *broker.Broker, h string) {
	for name, uses := range w.asked(b.URL(), h) {
		for _, u := range uses {
			w.t.Run("live "+label(name, u.args), func(t *testing.T) { w.each(t, u, program(t, u.stdin, u.args...)) })
		}
	}
}

// asked are the uses of the commands that ask a processor.
func (w *hostileWorld) asked(url, h string) map[string][]use {
	at := []string{"--nats", url}
	with := func(args ...string) []string { return append(args, at...) }
	done := []int{exitDone}
	content := outputOf(h)
	table := map[string][]use{}
	table["summarize"] = []use{
		{args: with("summarize", h), form: nothing, status: done}, // too little to summarize
		{args: with("summarize", h, "--json"), form: jsons, status: done},
		{args: with("summarize", h+"x"), form: nothing, status: []int{exitWrong, exitUsage}},
	}
	table["threads"] = []use{
		{args: with("threads", "--sort", "size"), form: text, status: done},
		{args: with("threads", "--json"), form: jsons, status: done},
		{args: with("threads", h+"x"), form: text, status: done},
	}
	table["thread"] = []use{
		{args: with("thread", h), form: text, status: done},
		{args: with("thread", h, "--json"), form: jsons, status: done},
		{args: with("thread", h+"x"), form: nothing, status: []int{exitWrong, exitUsage}},
	}
	for _, format := range prompt.Formats() {
		table["context"] = append(table["context"], use{args: with("context", h, "--format", format), form: jsons, status: done, says: []string{"I say " + h}})
	}
	table["context"] = append(table["context"],
		use{args: with("context", h, "--json"), form: jsons, status: done, says: []string{"I say " + h}},
		use{args: with("context", h, "--explain"), form: text, status: done},
		use{args: with("context", h, "--max-tokens", "1"), form: jsons, status: []int{exitWrong}})
	table["message"] = []use{
		{args: with("message", h, h), form: bytesOf, status: done, says: []string{strings.TrimSuffix(content, "\n") + "\n"}},
		{args: with("message", h, h, "--json"), form: jsons, status: done, says: []string{content}},
		{args: with("message", h, h+"?"), form: nothing, status: []int{exitWrong, exitUsage}},
	}
	table["summary"] = []use{{args: with("summary", h), form: nothing, status: []int{exitWrong}}}
	if w.summary != "" {
		table["summary"] = append(table["summary"],
			use{args: with("summary", w.summary), form: text, status: done},
			use{args: with("summary", w.summary, "--json"), form: jsons, status: done, says: []string{w.threads[0], "asked " + w.threads[0]}})
	}
	for name, uses := range table {
		for i := range uses {
			if len(uses[i].args) > 1 && strings.HasPrefix(h, "-") { // after the flags, so that it is none
				table[name][i].args = behind(uses[i].args, h)
			}
		}
	}
	return table
}

// behind puts the arguments that begin like a flag behind all flags.
func behind(args []string, h string) []string {
	var flags, rest []string
	for _, a := range args[1:] {
		if strings.HasPrefix(a, h) {
			rest = append(rest, a)
		} else {
			flags = append(flags, a)
		}
	}
	return slices.Concat(args[:1], flags, []string{"--"}, rest)
}

func outputOf(h string) string { return strings.Repeat("error: "+h+" in src/main.go\n", 60) }

// story is a thread, everything in which has a hostile name, and returns the last sequence.
func (w *hostileWorld) story(b *broker.Broker, h string) (last uint64) {
	w.t.Helper()
	token, err := events.Token(h)
	if err != nil {
		w.t.Fatal(err)
	}
	quoted := func(v any) string {
		data, err := json.Marshal(v)
		if err != nil {
			w.t.Fatal(err)
		}
		return string(data)
	}
	for _, e := range [][2]string{
		{"thread.message.", quoted(map[string]any{"message_id": "u1", "role": "user", "content": "I say " + h, "agent_id": h, "policy": "asked " + h, "metadata": map[string]any{h: h}})},
		{"thread.message.", quoted(map[string]any{"message_id": "a1", "role": "assistant", "content": h, "tool_calls": []any{map[string]any{"id": h, "name": h, "arguments": map[string]any{h: h}}}})},
		{"tool.result.", quoted(map[string]any{"message_id": h, "tool_call_id": h, "tool_name": h, "arguments": map[string]any{"command": h}, "content": outputOf(h), "is_error": true})},
		{"tool.result.", quoted(map[string]any{"message_id": "t2", "tool_name": h, "content": "second " + outputOf(h)})},
		{"tool.result.", quoted(map[string]any{"message_id": "t2", "tool_name": h, "content": "a conflict " + h})},
		{"message.edited.", quoted(map[string]any{"message_id": "t2", "edit_id": h, "content": "other " + h})},
		{"message.edited.", quoted(map[string]any{"message_id": "t2", "edit_id": h, "content": "the same edit " + h})},
		{"thread.message.", quoted(map[string]any{"message_id": "bad", "role": h, "content": h})},
		{"thread.message.", quoted(map[string]any{h: h})},
		{"thread.message.", `{"message_id":"` + "\xff\x9b\x1b]0;x\x07" + `"`},
		{"thread.message.", h},
	} {
		last = publish(w.t, b.JetStream(), e[0]+token, e[1])
	}
	return last
}

// forge writes records by hand: of one thread in a chain that holds, of another ones that are none.
func (w *hostileWorld) forge(b *broker.Broker) {
	w.t.Helper()
	for n, h := range []string{"forged\x1b]0;t\x07\u009b\u202e", "=forged+1"} {
		token, err := events.Token(h)
		if err != nil {
			w.t.Fatal(err)
		}
		seq := publish(w.t, b.JetStream(), "thread.message."+token, `{"message_id":"m1","role":"user","content":"x"}`)
		stored, err := b.JetStream().Stream(w.t.Context(), broker.StreamEvents)
		if err != nil {
			w.t.Fatal(err)
		}
		event, err := stored.GetMsg(w.t.Context(), seq)
		if err != nil {
			w.t.Fatal(err)
		}
		first, _, _ := strings.Cut(event.Subject, ".")
		partition, err := strconv.Atoi(first)
		if err != nil {
			w.t.Fatal(err)
		}
		prev := ""
		for i, typ := range []events.Type{events.SummaryStarted, events.SummaryCreated, events.SummaryInvalidated, events.SummaryFailed, events.UsageRecorded} {
			data, err := os.ReadFile(filepath.Join("..", "..", "schemas", "examples", string(typ)+".json"))
			if err != nil {
				w.t.Fatal(err)
			}
			rec := map[string]any{}
			if err := json.Unmarshal(data, &rec); err != nil {
				w.t.Fatal(err)
			}
			rec = overwritten(rec, hostiles[(i+5*n)%len(hostiles)]).(map[string]any)
			delete(rec, "chain")
			id := fmt.Sprintf("sum_forged%d%d", n, i)
			for name, value := range map[string]any{
				"thread_id": h, "partition": partition, "first_event_seq": seq, "event_seq": seq, "effective_seq": seq, "chain_seq": i + 1,
				"event_at": event.Time,
			} {
				rec[name] = value
			}
			for _, name := range []string{"id", "summary_id"} {
				if _, has := rec[name]; has && n == 0 {
					rec[name] = id
				}
			}
			sealed, chain, err := events.Seal(prev, rec)
			if err != nil {
				w.t.Fatal(err)
			}
			prev = chain
			ceID := string(typ) + "/" + id
			if typ == events.UsageRecorded {
				ceID += fmt.Sprint("/", rec["attempt"])
			}
			row := &state.Outgoing{Type: typ, ID: ceID, Thread: h, Time: event.Time}
			msg := &nats.Msg{Subject: string(typ) + "." + token, Data: sealed, Header: recovery.Header(partition, row)}
			if _, err := b.JetStream().PublishMsg(w.t.Context(), msg); err != nil {
				w.t.Fatal(err)
			}
		}
		reject(w.t, b, events.Raw{Subject: "thread.message." + token, Header: nats.Header{"X": {"\u009b" + h}}, Body: []byte("\xff\x9b\x1b" + h)}, seq, 1<<20)
	}
}

// overwritten replaces every string that is not a time with a text.
func overwritten(v any, h string) any {
	switch v := v.(type) {
	case map[string]any:
		for name := range v {
			v[name] = overwritten(v[name], h)
		}
		return v
	case []any:
		for i := range v {
			v[i] = overwritten(v[i], h)
		}
		return v
	case string:
		if _, err := time.Parse(time.RFC3339, v); err != nil {
			return h
		}
	}
	return v
}

// impostor is a server with a service that gives hostile answers; with a code, hostile errors.
func impostor(t *testing.T, code string) string {
	t.Helper()
	b := newServer(t)
	replies := map[string]string{}
	h := hostiles[0]
	visible := strings.NewReplacer("\r", "", "\n", "", "\x00", "").Replace(h) // a header holds no line ends
	for subject, example := range map[string]string{
		"precis.thread.get.*":       `{"messages":1,"chain_head":"x","tokens_total":1}`,
		"precis.thread.summarize.*": `{"summary_id":"sum_\u001b]0;x\u0007\u009b\u202e"}`,
		"precis.thread.context.*": `{"messages":[{"role":"x","content":"x"}],"system":"x","within_budget":true,"summary_ids":["x"],"sources":[{"message_ids":["x"],"summary_ids":["x"]}],"shortened_message_ids":["x"],"dropped_count":1,` +
			`"explain":{"summaries":[{"summary_id":"x","message_count":1,"message_ids":["x"]}],"left_out":[{"id":"x","reason":"x"}],"compaction":{"policy":"x","jobs":[{"summary_id":"x","kind":"x","slot":"x"}]}}}`,
		"precis.message.get.*": `{"content":"x","lines_total":1}`,
		"precis.summary.get.*": sample(t),
		"precis.threads.list":  `{"threads":[{"thread_id":"x","agent_id":"x","policy":"x","parent_thread_id":"x"}],"next":"x","matched":1,"total":1}`,
	} {
		v := map[string]any{}
		if err := json.Unmarshal([]byte(example), &v); err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(overwritten(v, h))
		if err != nil {
			t.Fatal(err)
		}
		replies[subject] = string(data)
	}
	for subject, reply := range replies {
		if _, err := b.Conn().Subscribe(subject, func(m *nats.Msg) {
			answer := &nats.Msg{Data: []byte(reply), Header: nats.Header{}}
			if code != "" {
				answer.Header[micro.ErrorCodeHeader], answer.Header[micro.ErrorHeader] = []string{code}, []string{visible}
			}
			_ = m.RespondMsg(answer)
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Conn().FlushTimeout(testTimeout); err != nil {
		t.Fatal(err)
	}
	return b.URL()
}

// table has each command with its formats, when the processor has ended and records are forged.
func (w *hostileWorld) table() map[string][]use {
	t, h := w.t, w.threads[0]
	at := func(args ...string) []string { return append(args, "--nats", w.url) }
	found, done, either := []int{exitWrong}, []int{exitDone}, []int{exitDone, exitWrong}
	forged := "forged\x1b]0;t\x07\u009b\u202e"
	table := map[string][]use{}
	for name, uses := range w.asked(w.fakeURL, h) {
		for _, u := range uses {
			u.status, u.says = []int{exitDone, exitWrong}, nil
			if u.form == bytesOf {
				u.says = []string{h + "\n"}
			}
			if u.form == nothing {
				continue
			}
			if name == "context" && slices.Contains(u.args, "1") {
				u.status = done
			}
			table[name] = append(table[name], u)
		}
		for _, u := range w.asked(w.badURL, h)[name] {
			u.status, u.form, u.says = found, nothing, nil
			table[name] = append(table[name], u)
		}
	}
	broken := `{"type":"thread.message","thread_id":"t","message_id":"` + "\x1b]0;x\x07\u009b" + `","role":"user"` + "\n" + hostiles[0] + "\n" +
		`{"type":"\u001b]0;x\u0007","thread_id":"\u202e"}` + "\n" + `{"type":"thread.message","thread_id":"t","message_id":"m\u001b","role":"\u009b","content":"\u202e"}` + "\n"
	whole := program(t, "", at("export", h)...)
	cut := whole.stdout[:len(whole.stdout)-len(whole.stdout)/3]
	config := configured(t, "policies: [{name: \"=p\\e]0;x\\a\\u202E\"}]\nproviders: {\"=q\\e[2J\\u009b\": {kind: openai, model: \"\\e\\u202E\", api_key_env: X}}\n")
	wrongConfig := configured(t, "nats: {\"\\e]0;x\\a\\u202E\": 1}\nhttp: {listen: \"\\e\\u202E\"}\napi: {listen: \"\\e\\u202E\", tokens_file: \"\\e\\u202E\"}\n")
	head := file(t, "{\"\x1b]0;x\x07\u009b\":\"\u202e\"")
	noDir := filepath.Join(t.TempDir(), "no\x1b]0;x\x07\u009b\u202e")

	table["run"] = []use{
		{args: []string{"run", "--log-format", "text", "--config", wrongConfig, "--data", t.TempDir()}, form: nothing, status: []int{exitUsage}},
		{args: []string{"run", "--log-format", "json", "--config", wrongConfig, "--data", t.TempDir()}, form: nothing, status: []int{exitUsage}},
	}
	table["mcp"] = []use{
		{args: []string{"mcp", "--thread", h, "--nats", w.url}, form: nothing, status: done},
		{args: []string{"mcp", "--thread-prefix", h, "--thread", h, "--nats", w.url}, form: nothing, status: []int{exitUsage}},
	}
	table["gateway"] = []use{
		{args: []string{"gateway", "--log-format", "text", "--listen", h, "--nats", w.url}, form: nothing, status: []int{exitUsage}},
		{args: []string{"gateway", "--log-format", "json", "--openai", "http://\x1b]0;x\x07\u009b\u202e", "--nats", w.url}, form: nothing, status: []int{exitUsage}},
	}
	table["demo"] = []use{
		{args: []string{"demo"}, form: text, status: done},
		{args: []string{"demo", "--json"}, form: jsons, status: done},
	}
	table["publish"] = []use{
		{args: at("publish", "-"), stdin: broken, form: text, status: []int{exitWrong}},
		{args: at("publish", "-", "--json"), stdin: broken, form: jsons, status: []int{exitWrong}},
		{args: at("publish", "-", "--json"), stdin: cut, form: jsons, status: []int{exitWrong}},
		{args: at("publish", "-", "--no-check", "--json"), stdin: whole.stdout, form: jsons, status: done},
		{args: at("publish", noDir), form: nothing, status: []int{exitUsage}},
		{args: at("publish", "-", "--format", sessions.FormatEvents), stdin: broken, form: text, status: []int{exitWrong}},
		{args: at("publish", "-", "--dry-run"), stdin: whole.stdout, form: jsons, status: done},
	}
	session := `{"type":"user","sessionId":"\u001b]0;x\u0007","uuid":"\u009b","message":{"role":"user","content":"\u202e"}}` + "\n" +
		`{"type":"\u001b]0;x\u0007","payload":{}}` + "\n" + `{"role":"user","content":"\u001b[2J","\u009b":1}` + "\n" + hostiles[0] + "\n"
	for _, format := range sessions.Formats() {
		table["publish"] = append(table["publish"],
			use{args: at("publish", "-", "--format", format, "--thread", h), stdin: session, form: text, status: []int{exitWrong}},
			use{args: at("publish", "-", "--format", format, "--json"), stdin: session, form: jsons, status: []int{exitWrong}})
	}
	written := filepath.Join(t.TempDir(), "\x1b]0;x\u202e")
	grow(t, filepath.Join(written, "rollout-\x1b[2J\u009b.jsonl"), []byte(session+
		`{"type":"session_meta","payload":{"id":"\u001b]0;x\u0007"}}`+"\n"+
		`{"type":"response_item","timestamp":"2026-01-01T00:00:00Z","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"\u202e"}]}}`+"\n"))
	for _, agent := range []string{"claude-code", "codex"} {
		watch := func(more ...string) []string { // from the start: each with a state of its own
			return append(at("watch", agent, written, "--until-caught-up", "--agent", h, "--state", filepath.Join(t.TempDir(), "state")), more...)
		}
		table["watch"] = append(table["watch"],
			use{args: watch(), form: text, status: []int{exitWrong}},
			use{args: watch("--json"), form: jsons, status: []int{exitWrong}},
			use{args: at("watch", agent, noDir), form: nothing, status: []int{exitUsage}})
	}
	table["tail"] = []use{
		{args: at("tail", "--from", "start", "--until-caught-up"), form: text, status: either},
		{args: at("tail", "--from", "start", "--until-caught-up", "--json"), form: jsons, status: either, says: []string{h, outputOf(h), "I say " + hostiles[2], forged}},
		{args: at("tail", "--from", "start", "--until-caught-up", "--thread", h), form: text, status: done},
		{args: at("tail", "--type", h), form: nothing, status: []int{exitUsage}},
	}
	saved := filepath.Join(t.TempDir(), "saved\x1b]0;x\u202e")
	table["backup"] = []use{
		{args: at("backup", saved), form: text, status: either},
		{args: at("backup", saved, "--json"), form: jsons, status: either},
		{args: []string{"backup", filepath.Join(t.TempDir(), "none"), "--data", noDir}, form: nothing, status: []int{exitUsage}},
	}
	table["restore"] = []use{
		{args: at("restore", noDir), form: nothing, status: []int{exitUsage}},
		{args: at("restore", noDir, "--json"), form: nothing, status: []int{exitUsage}},
		{args: at("restore", noDir, "--at", h), form: nothing, status: []int{exitUsage}},
	}
	table["doctor"] = []use{
		{args: []string{"doctor", "--nats", w.fakeURL, "--config", wrongConfig, "--read-only", "--timeout", "1s"}, form: text, status: []int{exitWrong, exitUsage}},
		{args: []string{"doctor", "--nats", w.fakeURL, "--read-only", "--timeout", "1s"}, form: text, status: []int{exitWrong, exitUsage, exitUnreachable}},
		{args: []string{"doctor", "--nats", w.badURL, "--read-only", "--timeout", "1s", "--json"}, form: jsons, status: []int{exitWrong, exitUsage, exitUnreachable}},
	}
	table["completion"] = []use{
		{args: []string{"completion", "bash"}, form: text, status: done},
		{args: []string{"completion", h}, form: nothing, status: []int{exitUsage}},
	}
	table["man"] = []use{{args: []string{"man"}, form: text, status: done}}
	table["export"] = []use{
		{args: at("export", h, "--format", "events"), form: jsons, status: done, says: []string{h, outputOf(h)}},
		{args: at("export", h), form: jsons, status: done, says: []string{h, outputOf(h)}},
		{args: at("export", h, "--json"), form: jsons, status: done, says: []string{h, outputOf(h)}},
		{args: at("export", h+"x"), form: nothing, status: found},
	}
	for _, format := range []string{"openai", "anthropic", "responses", "claude-code"} {
		table["export"] = append(table["export"], use{args: at("export", h, "--format", format), form: jsons, status: done, says: []string{outputOf(h)}})
	}
	for records, says := range map[string]string{"summaries": forged, "invalidations": h, "usage": forged} {
		table["export"] = append(table["export"],
			use{args: at("export", "--records", records, "--csv"), form: cells, status: found},
			use{args: at("export", "--records", records, "--json"), form: jsons, status: found, says: []string{says}},
			use{args: at("export", "--records", records, "--agent", h+"x"), form: nothing, status: found})
	}
	table["export"] = append(table["export"],
		use{args: at("export", "--records", "usage", "--by", "day,agent,model,provider,policy,thread,outcome", "--csv"), form: cells, status: found},
		use{args: at("export", "--records", "usage", "--by", h), form: nothing, status: []int{exitUsage}})
	table["savings"] = []use{
		{args: at("savings"), form: text, status: either},
		{args: at("savings", "--by", "agent"), form: text, status: either},
		{args: at("savings", "--by", "model"), form: text, status: either},
		{args: at("savings", "--by", "policy"), form: text, status: either},
		{args: at("savings", "--model", h), form: nothing, status: []int{exitUsage}},
		{args: at("savings", "--json"), form: jsons, status: either, says: []string{h}},
		{args: at("savings", "--agent", h+"x"), form: text, status: either},
	}
	table["rejected"] = []use{
		{args: at("rejected"), form: text, status: either},
		{args: at("rejected", "--json"), form: jsons, status: either},
	}
	table["check"] = []use{
		{args: []string{"check", "--data", w.dir, "--nats", w.url}, form: text, status: either},
		{args: []string{"check", "--data", w.dir, "--nats", w.url, "--json"}, form: jsons, status: either},
		{args: []string{"check", "--data", noDir}, form: nothing, status: []int{exitUsage}},
	}
	table["audit"] = []use{
		{args: at("audit", "--head"), form: jsons, status: either},
		{args: at("audit", "--verify-head", head), form: nothing, status: []int{exitUsage}},
		{args: at("audit", h, "--html", w.page), form: nothing, status: either},
		{args: at("audit", h+"x"), form: nothing, status: found},
	}
	for _, name := range []string{h, hostiles[2], forged} {
		table["audit"] = append(table["audit"], use{args: at("audit", name), form: text, status: either},
			use{args: at("audit", name, "--json"), form: jsons, status: either, says: []string{name}})
	}
	for _, format := range prompt.Formats() {
		table["audit"] = append(table["audit"], use{args: at("audit", h, "--at", "11", "--format", format), form: text, status: either},
			use{args: at("audit", h, "--at", "11", "--format", format, "--json"), form: jsons, status: either, says: []string{"I say " + h}})
	}
	table["replay"] = []use{
		{args: at("replay"), form: text, status: found},
		{args: at("replay", "--json"), form: jsons, status: found, says: []string{forged}},
		{args: at("replay", "--data", w.dir), form: text, status: found},
		{args: at("replay", "--thread", h), form: text, status: either},
		{args: at("replay", "--policy", config), form: text, status: either},
		{args: at("replay", "--policy", config, "--json"), form: jsons, status: either},
		{args: at("replay", "--thread", h+"x"), form: text, status: either},
	}
	table["recover"] = []use{
		{args: at("recover", "--data", w.dir), form: text, status: either},
		{args: at("recover", "--data", w.dir, "--json"), form: jsons, status: either},
	}
	table["streams"] = []use{
		{args: []string{"streams", "--nats", w.url}, form: text, status: either},
		{args: []string{"streams", "--nats", w.url, "--json"}, form: jsons, status: either},
		{args: []string{"streams", "--config", wrongConfig}, form: nothing, status: []int{exitUsage}},
	}
	table["version"] = []use{
		{args: []string{"version"}, form: text, status: done},
		{args: []string{"version", "--json"}, form: jsons, status: done},
	}
	table["config"] = []use{
		{args: []string{"config", "--config", config}, form: text, status: []int{exitDone, exitUsage}},
		{args: []string{"config", "--config", config, "--json"}, form: jsons, status: []int{exitDone, exitUsage}, says: []string{"=p\x1b]0;x\a\u202e"}},
		{args: []string{"config", "--config", wrongConfig}, form: nothing, status: []int{exitUsage}},
		{args: []string{"config", "--config", noDir}, form: nothing, status: []int{exitUsage}},
	}
	return table
}

// seen is a log that can be waited for.
type seen struct {
	mu    sync.Mutex
	text  bytes.Buffer
	word  string
	once  sync.Once
	there chan struct{}
}

func newSeen(word string) *seen { return &seen{word: word, there: make(chan struct{})} }

func (s *seen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text.Write(p)
	if strings.Contains(s.text.String(), s.word) {
		s.once.Do(func() { close(s.there) })
	}
	return len(p), nil
}

func (s *seen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}
