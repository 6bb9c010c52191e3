package schemas_test

import (
	"bytes"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"precis/events"
	"precis/schemas"
)

// records are the Go types of what has a schema of its own shape, by event type.
var records = map[string]func() any{
	"summary.started":     func() any { return new(events.Started) },
	"summary.created":     func() any { return new(events.Summary) },
	"summary.invalidated": func() any { return new(events.Invalidated) },
	"summary.failed":      func() any { return new(events.Failed) },
	"usage.recorded":      func() any { return new(events.UsageRecord) },
	"config.applied":      func() any { return new(events.Config) },
	"partition.claimed":   func() any { return new(events.Claimed) },
	"event.rejected":      func() any { return new(events.Rejected) },
	"thread.message":      func() any { return new(events.Message) },
	"tool.result":         func() any { return new(events.Message) },
	"message.edited":      func() any { return new(events.Edit) },
	"thread.forked":       func() any { return new(events.Fork) },
}

func read(t testing.TB, name string) []byte {
	t.Helper()
	b, err := schemas.Files.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func compile(t testing.TB, eventType string) *jsonschema.Schema {
	t.Helper()
	return compileAt(t, eventType+".json")
}

// compileService is the schema of a request or reply of the service.
func compileService(t testing.TB, name string) *jsonschema.Schema {
	t.Helper()
	return compileAt(t, schemas.Service+"#/$defs/"+name)
}

func compileAt(t testing.TB, address string) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	c.AssertContent()
	for _, name := range append(schemas.Types(), strings.TrimSuffix(schemas.Shared, ".json"), strings.TrimSuffix(schemas.Service, ".json")) {
		name += ".json"
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(read(t, name)))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := c.AddResource(name, doc); err != nil {
			t.Fatal(err)
		}
	}
	s, err := c.Compile(address)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func validate(s *jsonschema.Schema, data []byte) error {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return err
	}
	return s.Validate(doc)
}

func TestEveryTypeHasASchemaAndExamples(t *testing.T) {
	if want := slices.Sorted(maps.Keys(records)); !slices.Equal(schemas.Types(), want) {
		t.Errorf("schemas of %v, types %v", schemas.Types(), want)
	}
	for _, typ := range schemas.Types() {
		if len(schemas.Examples(typ)) == 0 {
			t.Errorf("no example of %s", typ)
		}
		if _, err := schemas.Schema(typ); err != nil {
			t.Error(err)
		}
	}
	if _, err := schemas.Schema("thread.deleted"); err == nil {
		t.Error("a schema of a type that is none")
	}
}

// Every example holds to its schema, and so does what its Go type makes of it.
func TestExamples(t *testing.T) {
	for _, typ := range schemas.Types() {
		s := compile(t, typ)
		for _, name := range schemas.Examples(typ) {
			data := read(t, name)
			if err := validate(s, data); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			value := records[typ]()
			if err := json.Unmarshal(data, value); err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			out, err := json.Marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			if err := validate(s, withoutRole(typ, out)); err != nil {
				t.Errorf("%s, through Go: %v\n%s", name, err, out)
			}
			if !events.Type(typ).Incoming() && canonical(t, out) != canonical(t, data) {
				t.Errorf("%s came back as %s", name, out)
			}
		}
	}
}

// withoutRole takes out what Go's one type of messages writes for a tool result beyond its data.
func withoutRole(typ string, data []byte) []byte {
	if typ != "tool.result" {
		return data
	}
	return bytes.Replace(data, []byte(`"role":"",`), nil, 1)
}

func canonical(t testing.TB, data []byte) string {
	t.Helper()
	v := jsontext.Value(data).Clone()
	if err := v.Canonicalize(); err != nil {
		t.Fatal(err)
	}
	return string(v)
}

// The accepted examples are accepted.
func TestExamplesDecode(t *testing.T) {
	for _, typ := range incoming {
		subject, err := events.Subject(typ, "nightly/build 42")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range schemas.Examples(string(typ)) {
			if _, rej := events.Decode(events.Raw{Subject: subject, Body: read(t, name)}, events.Limits{}); rej != nil {
				t.Errorf("%s: %v", name, rej)
			}
		}
	}
}

// The examples of one thread are one chain.
func TestExamplesChain(t *testing.T) {
	chain := map[uint64][]byte{}
	for _, typ := range schemas.Types() {
		record, ok := records[typ]().(events.Record)
		if !ok || own(typ) {
			continue
		}
		data := read(t, "examples/"+typ+".json")
		if err := json.Unmarshal(data, record); err != nil {
			t.Fatal(err)
		}
		chain[record.Common().ChainSeq] = data
	}
	prev := ""
	for seq := range uint64(len(chain)) {
		next, err := events.VerifyChain(prev, chain[seq+1])
		if err != nil {
			t.Fatalf("record %d: %v", seq+1, err)
		}
		prev = next
	}
	for _, typ := range []string{"config.applied", "partition.claimed"} {
		if _, err := events.VerifyChain("", read(t, "examples/"+typ+".json")); err != nil {
			t.Errorf("%s: %v", typ, err)
		}
	}
}

// own reports whether records of a type belong to a partition.
func own(typ string) bool { return typ == "config.applied" || typ == "partition.claimed" }

// A published record's schema names exactly the members that its Go type writes, and requires them.
func TestRecordsMatchTheirGoTypes(t *testing.T) {
	head := members(reflect.TypeFor[events.Head]())
	for typ, record := range records {
		if events.Type(typ).Incoming() || typ == "event.rejected" {
			continue
		}
		var schema struct {
			Required   []string                  `json:"required"`
			Properties map[string]jsontext.Value `json:"properties"`
		}
		if err := json.Unmarshal(read(t, typ+".json"), &schema); err != nil {
			t.Fatal(err)
		}
		want := members(reflect.TypeOf(record()).Elem())
		want = slices.DeleteFunc(want, func(name string) bool { return slices.Contains(head, name) && name != "thread_id" })
		if !own(typ) {
			want = slices.DeleteFunc(want, func(name string) bool { return name == "thread_id" })
		}
		if got := slices.Sorted(maps.Keys(schema.Properties)); !slices.Equal(got, want) {
			t.Errorf("%s describes %v, Go writes %v", typ, got, want)
		}
		if got := slices.Sorted(slices.Values(schema.Required)); !slices.Equal(got, want) {
			t.Errorf("%s requires %v, Go writes %v", typ, got, want)
		}
	}
}

// members returns the JSON names of a struct, sorted, embedded ones included.
func members(typ reflect.Type) []string {
	var names []string
	for _, f := range reflect.VisibleFields(typ) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// A record that is not filled in is refused: the schemas do check.
func TestSchemasRefuse(t *testing.T) {
	for typ, bad := range map[string][]string{
		"summary.created": {`{}`, `[]`, mutate(t, "summary.created", `"kind": "tool_result"`, `"kind": "x"`),
			mutate(t, "summary.created", `"chain_seq": 1`, `"chain_seq": 0`), mutate(t, "summary.created", `"thread_id": "nightly/build 42"`, `"thread_id": null`),
			mutate(t, "summary.created", `"currency": "USD"`, `"currency": "EUR"`), mutate(t, "summary.created", `"slot": "tool:m-003"`, `"slot": "m-003"`),
			mutate(t, "summary.created", `"created_at": "2026-03-05T07:59:02.118Z"`, `"created_at": "today"`)},
		"partition.claimed": {mutate(t, "partition.claimed", `"epoch": 1`, `"epoch": 0`)},
		"config.applied":    {mutate(t, "config.applied", `"thread_id": null`, `"thread_id": "t"`)},
		"event.rejected": {mutate(t, "event.rejected", `"body_sha256": null`, `"body_sha256": "`+strings.Repeat("0", 64)+`"`),
			mutate(t, "event.rejected", `"body_base64": "`, `"body_base64": "@`)},
		"usage.recorded": {mutate(t, "usage.recorded", `"outcome": "failed"`, `"outcome": "lost"`)},
	} {
		s := compile(t, typ)
		for _, data := range bad {
			if validate(s, []byte(data)) == nil {
				t.Errorf("%s accepts %s", typ, data)
			}
		}
	}
}

func mutate(t *testing.T, typ, from, to string) string {
	t.Helper()
	data := string(read(t, "examples/"+typ+".json"))
	if !strings.Contains(data, from) {
		t.Fatalf("%s has no %s", typ, from)
	}
	return strings.Replace(data, from, to, 1)
}
