package main

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

func planOptions(seed uint64) options {
	return options{Agents: 3, Threads: 7, Events: 3000, Seed: seed, Run: "t"}
}

// drain generates every event of a plan.
func drain(o options) (agents []*agent, all []event) {
	agents = newAgents(o)
	for i, a := range agents {
		for range share(o.Events, len(agents), i) {
			all = append(all, a.next())
		}
	}
	return agents, all
}

func TestSameOptionsSameBytes(t *testing.T) {
	render := func(seed uint64) []byte {
		var b bytes.Buffer
		_, all := drain(planOptions(seed))
		for _, e := range all {
			m, err := e.message()
			if err != nil {
				t.Fatal(err)
			}
			b.WriteString(m.Subject)
			b.Write(m.Data)
		}
		return b.Bytes()
	}
	if !bytes.Equal(render(1), render(1)) {
		t.Error("one seed gave two plans")
	}
	if bytes.Equal(render(1), render(2)) {
		t.Error("two seeds gave one plan")
	}
}

// fold is the state of a thread by an implementation of the contract that shares nothing with the plan.
type fold struct {
	counters
	content   map[string]string
	arguments map[string]string
	kind      map[string]string
	waiting   map[string]map[string]any
	edits     map[string]bool
	summaries int
	stale     int
}

func (f *fold) apply(t *testing.T, typ string, data map[string]any) {
	t.Helper()
	id := data["message_id"].(string)
	if typ == typeEdit {
		if _, there := f.content[id]; !there {
			f.waiting[id] = data
			return
		}
		f.edit(id, data)
		return
	}
	if _, again := f.content[id]; again {
		return
	}
	f.content[id], f.kind[id] = text(t, data["content"]), typ
	if typ == typeResult {
		f.ToolResults++
		if utf8.RuneCountInString(f.content[id]) > 1500 {
			f.summaries++
		}
	} else {
		f.Messages++
	}
	if calls, ok := data["tool_calls"].([]any); ok {
		for _, c := range calls {
			arguments, err := json.Marshal(c.(map[string]any)["arguments"], json.Deterministic(true))
			if err != nil {
				t.Fatal(err)
			}
			f.arguments[id] += string(arguments)
		}
	}
	if e, ok := f.waiting[id]; ok {
		delete(f.waiting, id)
		f.edit(id, e)
	}
}

func (f *fold) edit(id string, data map[string]any) {
	if f.edits[data["edit_id"].(string)] {
		return
	}
	f.edits[data["edit_id"].(string)] = true
	f.Edits++
	large := func() bool { return f.kind[id] == typeResult && utf8.RuneCountInString(f.content[id]) > 1500 }
	if large() {
		f.stale++
	}
	f.content[id] = ""
	if data["deleted"] == nil {
		f.content[id] = text(nil, data["content"])
	}
	if large() {
		f.summaries++
	}
}

func text(t *testing.T, content any) string {
	switch c := content.(type) {
	case nil:
		return ""
	case string:
		return c
	case []any:
		return c[0].(map[string]any)["text"].(string)
	}
	t.Fatalf("content %T", content)
	return ""
}

// Even if many agents publish a few events each, no edit is left without its message.
func TestPlanEndsWhole(t *testing.T) {
	o := planOptions(1)
	o.Agents, o.Threads, o.Events = 5000, 5000, 20_000
	agents, all := drain(o)
	if len(all) != o.Events {
		t.Errorf("%d events", len(all))
	}
	for _, a := range agents {
		if len(a.queued) > 0 {
			t.Fatalf("%s ends between an edit and its message", a.name)
		}
	}
}

// TestTallyIsTheFold: the plan's expectation for each thread equals the fold of its messages.
func TestTallyIsTheFold(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		o := planOptions(rapid.Uint64().Draw(rt, "seed"))
		o.Events = rapid.IntRange(1, 1500).Draw(rt, "events")
		agents, all := drain(o)
		folds := map[string]*fold{}
		for _, e := range all {
			f := folds[e.thread]
			if f == nil {
				f = &fold{
					content: map[string]string{}, arguments: map[string]string{}, kind: map[string]string{},
					waiting: map[string]map[string]any{}, edits: map[string]bool{},
				}
				folds[e.thread] = f
			}
			f.apply(t, e.typ, published1(t, e))
		}
		for _, a := range agents {
			for _, th := range a.threads {
				want := th.expectation
				f := folds[want.Thread]
				if f == nil {
					continue
				}
				for id := range f.content {
					f.Bytes += len(f.content[id]) + len(f.arguments[id])
				}
				if f.counters != want.counters() {
					rt.Fatalf("%s: fold %+v, plan %+v", want.Thread, f.counters, want.counters())
				}
				made, retired := 0, 0
				for _, e := range all {
					if e.thread == want.Thread {
						made += b2i(e.makes != nil)
						retired += b2i(e.retires != nil)
					}
				}
				if f.summaries != made || f.stale != retired {
					rt.Fatalf("%s: fold makes %d and retires %d summaries, plan %d and %d", want.Thread, f.summaries, f.stale, made, retired)
				}
			}
		}
	})
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// published1 returns the data of an event as published.
func published1(t *testing.T, e event) map[string]any {
	t.Helper()
	m, err := e.message()
	if err != nil {
		t.Fatal(err)
	}
	var v map[string]any
	if err := json.Unmarshal(m.Data, &v); err != nil {
		t.Fatal(err)
	}
	if e.form == structured {
		if v["type"] != e.typ || v["subject"] != e.thread {
			t.Fatalf("envelope %v of %s in %q", v, e.typ, e.thread)
		}
		return v["data"].(map[string]any)
	}
	return v
}

func TestCloudEventIDsAreUnique(t *testing.T) {
	_, all := drain(planOptions(3))
	ids := map[string]string{}
	for _, e := range all {
		data, err := json.Marshal(e.data, json.Deterministic(true))
		if err != nil {
			t.Fatal(err)
		}
		if other, seen := ids[e.id]; seen && other != string(data) {
			t.Fatalf("%s names two events", e.id)
		}
		ids[e.id] = string(data)
	}
	if len(ids) == len(all) {
		t.Error("no duplicate among 3,000 events")
	}
}

func TestArgumentsAreCanonical(t *testing.T) {
	_, all := drain(planOptions(4))
	for _, e := range all {
		data := e.data.(map[string]any)
		calls, ok := data["tool_calls"].([]any)
		if !ok {
			continue
		}
		v := calls[0].(map[string]any)["arguments"].(jsontext.Value)
		c := v.Clone()
		if err := c.Canonicalize(); err != nil || !bytes.Equal(c, v) {
			t.Fatalf("arguments %s, canonical %s, %v", v, c, err)
		}
	}
}

func TestTokens(t *testing.T) {
	for id, want := range map[string]string{
		"load-x-1": "load-x-1", "a.b": "a=2Eb", "ü": "=C3=BC", "a b*>": "a=20b=2A=3E", "=61": "=3D61",
	} {
		if got := token(id); got != want {
			t.Errorf("token(%q) = %q, want %q", id, got, want)
		}
	}
}

func TestTextLengths(t *testing.T) {
	for _, a := range newAgents(planOptions(5)) {
		for _, n := range []int{0, 1, 1500, 1501, 9000} {
			for _, tool := range tools {
				if got := utf8.RuneCountInString(toolText(a.rng, tool, n)); got != n {
					t.Errorf("%s: %d characters, want %d", tool, got, n)
				}
			}
		}
	}
}

func TestPercentEncode(t *testing.T) {
	if got := percentEncode(`a "ü%`); got != `a%20%22%C3%BC%25` || strings.ContainsAny(got, ` "`) {
		t.Errorf("percentEncode = %s", got)
	}
}

func TestWorkedOff(t *testing.T) {
	begin := time.Now()
	arrivals := func(seconds ...float64) (list []record) {
		for _, s := range seconds {
			list = append(list, record{at: begin.Add(time.Duration(s * float64(time.Second)))})
		}
		return list
	}
	ten := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 30} // the last one comes late, and does not count
	for name, c := range map[string]struct {
		created []record
		from    float64
		want    int
		part    float64
	}{
		"a tenth a second":         {arrivals(ten...), 3, 10, .1},
		"all came meanwhile":       {arrivals(ten...), 3.5, 10, .6 / 5.5},
		"hardly anything was left": {arrivals(ten...), 7, 10, 0},
		"not all came":             {arrivals(ten[:8]...), 3, 10, 0},
		"nothing was wanted":       {nil, 0, 0, 0},
	} {
		got := workedOff(c.created, begin.Add(time.Duration(c.from*float64(time.Second))), c.want)
		if math.Abs(got-c.part) > 1e-9 {
			t.Errorf("%s: %v of all a second, want %v", name, got, c.part)
		}
	}
}
