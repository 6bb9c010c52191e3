package fold

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"precis/events"
	"precis/summarize"
)

// A configuration comes back from its record.
func TestConfigComesBack(t *testing.T) {
	want := &Config{
		Policies: []summarize.Policy{summarize.Default()}, Limits: Limits{EventBytes: 1, PendingEditEvents: 2}, Retention: time.Hour,
		Prompts: map[string]string{"p": "text"}, PriceTable: jsontext.Value(`{}`), Providers: map[string]Provider{"main": {"openai", "m"}},
		ProgramVersion: "1.0", RulesVersion: "r1",
	}
	want.Policies[0].Prompts = map[string]string{}
	rec, err := want.applied()
	if err != nil {
		t.Fatal(err)
	}
	if rec.Version() != events.ConfigVersion {
		t.Errorf("recorded as version %d", rec.Version())
	}
	_, got, err := readConfig(encoded(t, rec))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}

func encoded(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// What a record lacks means what the program did that wrote it.
func TestKeysThatOlderRecordsLack(t *testing.T) {
	rec, c, err := readConfig([]byte(`{"thread_id":null,"partition":1,"chain_seq":1,"fingerprint":"sha256:x","program_version":"0.1",
		"policies":[{"name":"p","enabled":true,"staleness":{"on":["ttl"],"ttl":"1h0m0s","action":"regenerate"}}],
		"limits":{"event_bytes":5,"pending_edit_events":6},"providers":null,"prompts":{},"price_table":null}`))
	if err != nil {
		t.Fatal(err)
	}
	if rec.Version() != 1 || c.Newer != nil || c.Retention != 0 || rec.AcceptedLoss != nil || !rec.AppliedAt.IsZero() {
		t.Errorf("version %d, %+v", rec.Version(), c)
	}
	if got := c.Policies[0].Staleness.Meanwhile; got != summarize.MeanwhileRaw {
		t.Errorf("staleness.meanwhile %q: the program that wrote it had no stale summary in a prompt", got)
	}
}

// A record that can't be read at all is none of a newer program.
func TestRecordsThatAreNoConfiguration(t *testing.T) {
	for _, data := range []string{`{`, `[]`, `{"policies":{}}`, `{"policies":[],"providers":null,"limits":{},"retention":{"events":"soon"}}`} {
		_, c, err := readConfig([]byte(data))
		if !errors.Is(err, ErrRecord) || errors.Is(err, events.ErrNewerConfig) {
			t.Errorf("%s: %+v, %v", data, c, err)
		}
	}
}

// The keys of a configuration on record belong to its version: a program that meets a key or a version beyond its own
// knows that it does not know.
func TestKeysBelongToConfigVersion(t *testing.T) {
	var keys []string
	for name, v := range map[string]any{"": events.Config{}, "policies[]": summarize.Policy{}, "limits": Limits{}, "providers{}": Provider{}} {
		keys = append(keys, keysOf(name, reflect.TypeOf(v), nil)...)
	}
	slices.Sort(keys)
	got := strings.Join(slices.Compact(keys), "\n") + "\n"
	path := filepath.Join("testdata", fmt.Sprintf("config-%d.txt", events.ConfigVersion))
	want, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) && os.Getenv("UPDATE_CONFIG") != "" {
		want, err = []byte(got), os.WriteFile(path, []byte(got), 0o644)
	}
	if err != nil {
		t.Fatalf("%v: write it with UPDATE_CONFIG=1 go test ./internal/fold -run TestKeysBelong", err)
	}
	if got != string(want) {
		t.Errorf(`the keys of config.applied are not those of version %d:
%s
Raise events.ConfigVersion, say in config.go what an older record without the key means, and write the keys of the new version:
  UPDATE_CONFIG=1 go test ./internal/fold -run TestKeysBelong   (the file of the former version can go)
then schemas/config.applied.json, schemas/README.md and CHANGELOG.md.`, events.ConfigVersion, lines(string(want), got))
	}
}

// keysOf are the members of a type in JSON, as paths.
func keysOf(path string, t reflect.Type, within []reflect.Type) (keys []string) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || t == reflect.TypeFor[time.Time]() || slices.Contains(within, t) {
		return nil
	}
	for f := range fieldsOf(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous {
			keys = append(keys, keysOf(path, f.Type, within)...)
			continue
		}
		key := strings.TrimPrefix(path+"."+name, ".")
		keys = append(append(keys, key+" "+f.Type.String()), keysOf(key, f.Type, append(within, t))...)
	}
	return keys
}

func fieldsOf(t reflect.Type) func(yield func(reflect.StructField) bool) {
	return func(yield func(reflect.StructField) bool) {
		for i := range t.NumField() {
			if !yield(t.Field(i)) {
				return
			}
		}
	}
}

// lines are those of two texts that are not in both.
func lines(want, got string) string {
	var b strings.Builder
	for _, l := range strings.Split(want, "\n") {
		if !strings.Contains("\n"+got, "\n"+l+"\n") && l != "" {
			fmt.Fprintf(&b, "  - %s\n", l)
		}
	}
	for _, l := range strings.Split(got, "\n") {
		if !strings.Contains("\n"+want, "\n"+l+"\n") && l != "" {
			fmt.Fprintf(&b, "  + %s\n", l)
		}
	}
	return b.String()
}
