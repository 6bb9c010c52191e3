package handlers_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/rs/zerolog"

	"precis/events"
	"precis/handlers"
	"precis/internal/content"
	"precis/internal/fold"
	"precis/internal/thread"
	"precis/state"
	"precis/summarize"
)

// The scripts in testdata say what each event leads to. A story begins with "== what it is about" and may change its policy
// (policy KEY VALUE, see configure); each further line is an event, with the records that follow from it below, indented:
//
//	message ID ROLE WORDS    thread.message
//	tool ID WORDS            tool.result
//	fork NAME ID             thread.forked: NAME begins with the messages up to ID, or to the end, and is what follows is about
//	thread NAME              what follows is about NAME again; the first thread is t
//	edit ID WORDS            message.edited; deleted, pinned, unpinned or rewind in place of WORDS
//
// WORDS is a number of words of text: the same number is the same text. Under a policy that says for how many turns outputs stand whole,
// a line says which do, wherever that changes. UPDATE_WALKS=1 writes the records that follow into the scripts.
func TestWalks(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := runScript(t, string(want))
			if os.Getenv("UPDATE_WALKS") != "" {
				err = os.WriteFile(file, []byte(got), 0o644)
			} else if got != string(want) {
				err = fmt.Errorf("got\n%s", got)
			}
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}

// runScript returns the script with the records that follow from its events.
func runScript(t *testing.T, script string) string {
	var out strings.Builder
	var w *walker
	for line := range strings.Lines(script) {
		fields := strings.Fields(line)
		if strings.HasPrefix(line, "  ") {
			continue
		}
		out.WriteString(line)
		switch {
		case len(fields) == 0 || fields[0] == "#":
		case fields[0] == "==":
			w = newWalker(t)
		case fields[0] == "thread":
			w.thread = fields[1]
		case fields[0] == "policy":
			w.configure(fields[1], fields[2])
		default:
			for _, record := range w.event(fields) {
				out.WriteString("  " + record + "\n")
			}
		}
	}
	return out.String()
}

// walker takes the events of one thread through a fold over a store in memory.
type walker struct {
	t      *testing.T
	fold   *fold.Fold
	part   *state.Partition
	policy summarize.Policy
	log    map[uint64]*events.Event
	seq    uint64
	thread string
	names  map[string]string // of summaries, by id
	said   []string
	// The cause of the invalidations at the end of said, and where they begin.
	cause      string
	causedFrom int
	// Which outputs stand whole, for a story about that.
	tellsWhole bool
	whole      string
}

func newWalker(t *testing.T) *walker {
	store, err := state.Open("d", state.Options{FS: state.Memory(), Logger: zerolog.Nop(), Partitions: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	w := &walker{t: t, policy: summarize.Default(), log: map[uint64]*events.Event{}, names: map[string]string{}, whole: "none", thread: "t"}
	if w.part, err = store.Partition(0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.part.Close() })
	w.fold, err = fold.New(w.part, fold.Options{Log: w, MaxPayload: 1 << 20, Logger: zerolog.Nop(), Observe: w.observe})
	if err != nil {
		t.Fatal(err)
	}
	w.policy.Mode, w.policy.Tokenizer = summarize.ModeRules, "estimate"
	w.policy.ToolOutput.OverChars = 200
	w.policy.Compaction.Trigger = summarize.Condition{}
	return w
}

// configure changes the policy.
func (w *walker) configure(key, value string) {
	n, _ := strconv.Atoi(value)
	switch key {
	case "mode":
		w.policy.Mode = value
	case "action":
		w.policy.Staleness.Action = value
	case "keep":
		w.policy.Compaction.Keep = summarize.Keep{Messages: n}
	case "compact":
		w.policy.Compaction.Trigger = summarize.Condition{Messages: n}
	case "turns":
		w.policy.Context.KeepOutputs.Turns, w.tellsWhole = n, true
	case "history":
		w.policy.History.Enabled, w.policy.History.EveryMessages = true, n
	default:
		w.t.Fatalf("no setting %q", key)
	}
}

// event publishes an event and returns the records that follow from it.
func (w *walker) event(f []string) []string {
	data := map[string]any{"message_id": f[1]}
	typ, last := "thread.message", f[len(f)-1]
	switch f[0] {
	case "tool":
		typ, data["tool_name"], data["content"] = "tool.result", "bash", w.words(last)
	case "message":
		data["role"], data["content"] = f[2], w.words(last)
	case "fork":
		typ, data = "thread.forked", map[string]any{"parent_thread_id": w.thread}
		if last != "end" {
			data["at_message_id"] = last
		}
		w.thread = f[1]
	case "edit":
		typ = "message.edited"
		switch last {
		case "deleted":
			data["deleted"] = true
		case "rewind":
			data["rewind"], data["edit_id"] = true, fmt.Sprint(w.seq)
		case "pinned", "unpinned":
			data["pinned"] = last == "pinned"
		default:
			data["content"] = w.words(last)
		}
	default:
		w.t.Fatalf("no event %q", f[0])
	}
	said := w.publish(typ, data)
	if outputs := w.outputs(); w.tellsWhole && outputs != w.whole {
		said, w.whole = append(said, "whole "+outputs), outputs
	}
	return said
}

// outputs names the tool outputs that prompts hold whole, in order.
func (w *walker) outputs() string {
	var list []string
	for _, o := range w.compaction().Outputs {
		rows, err := w.part.MessagesAt(w.thread, []uint64{o.At})
		if err != nil {
			w.t.Fatal(err)
		}
		list = append(list, rows[0].ID)
	}
	if list == nil {
		return "none"
	}
	return strings.Join(list, ", ")
}

func (w *walker) compaction() *thread.Compaction {
	c, err := w.part.Compaction(w.thread)
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

// apply puts the policy into force.
func (w *walker) apply() {
	c := &fold.Config{
		Policies: []summarize.Policy{w.policy}, Limits: fold.Limits{EventBytes: 1 << 20, PendingEditEvents: 3},
		Providers: map[string]fold.Provider{summarize.ProviderMain: {Kind: "openai", Model: "m"}}, RulesVersion: "r",
	}
	if _, err := w.fold.Configure(c, time.Unix(int64(w.seq), 0)); err != nil {
		w.t.Fatal(err)
	}
}

// publish publishes an event of a type and returns the records that follow from it.
func (w *walker) publish(typ string, data map[string]any) []string {
	if w.seq == 0 {
		w.apply()
	}
	w.seq++
	subject := "0." + typ + "." + w.thread
	body, err := json.Marshal(data, json.Deterministic(true))
	if err != nil {
		w.t.Fatal(err)
	}
	w.said, w.cause = nil, ""
	out, err := w.fold.Step(w.t.Context(), fold.Delivery{
		Seq: w.seq, Time: time.Unix(int64(w.seq), 0).UTC(), Raw: events.Raw{Subject: subject, Body: body},
	}, handlers.Of(subject))
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.part.Commit(state.NoSync); err != nil {
		w.t.Fatal(err)
	}
	if out.String() != "accepted" {
		w.said = append(w.said, strings.TrimSpace(out.String()+" "+out.Code))
	}
	earlier := out.Rejections
	if out.Code != "" {
		earlier = earlier[1:]
	}
	for _, code := range earlier {
		w.said = append(w.said, "an edit is rejected "+code)
	}
	return w.said
}

// words is a text of so many words, the same for the same number.
func (w *walker) words(count string) string {
	n, err := strconv.Atoi(count)
	if err != nil {
		w.t.Fatal(err)
	}
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "word%d-%d ", n, i)
	}
	return b.String()
}

// observe writes down a record that was decided.
func (w *walker) observe(d fold.Decided) {
	made := func(id, slot string, version uint64, from, of []string, trigger events.Trigger) string {
		for _, id := range of {
			from = append(from, w.names[id])
		}
		w.names[id] = fmt.Sprintf("%s v%d", slot, version)
		return fmt.Sprintf("%s by %s from %s", w.names[id], trigger.Reason, strings.Join(from, ", "))
	}
	switch rec := d.Record.(type) {
	case *events.Summary:
		w.said = append(w.said, "created "+made(rec.ID, rec.Slot, rec.Version, rec.SourceMessageIDs, rec.SourceSummaryIDs, rec.Trigger))
	case *events.Started:
		w.said = append(w.said, "started "+made(rec.SummaryID, rec.Slot, rec.Version, rec.SourceMessageIDs, rec.SourceSummaryIDs, rec.Trigger))
	case *events.Invalidated:
		// Those with the same cause come in the order of their ids, which change with the rules' version.
		if cause := fmt.Sprint(value(rec.Cause.MessageID), " ", value(rec.Cause.SummaryID)); cause != w.cause {
			w.cause, w.causedFrom = cause, len(w.said)
		}
		w.said = append(w.said, fmt.Sprintf("invalidated %s: %s, %s", w.names[rec.SummaryID], rec.Reason, rec.Action))
		slices.Sort(w.said[w.causedFrom:])
	}
}

func value(id *string) string {
	if id == nil {
		return "none"
	}
	return *id
}

// Event implements content.Log.
func (w *walker) Event(_ context.Context, seq uint64) (*events.Event, error) {
	if ev, ok := w.log[seq]; ok {
		return ev, nil
	}
	return nil, content.ErrGone
}

// Keep implements content.Log.
func (w *walker) Keep(seq uint64, ev *events.Event) { w.log[seq] = ev }

// Ahead implements content.Log.
func (*walker) Ahead(context.Context, []uint64) {}
