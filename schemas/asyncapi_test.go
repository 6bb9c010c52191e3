package schemas_test

import (
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/goccy/go-yaml"

	"precis/api"
	"precis/schemas"
)

// requests are the channels of the service, without the token, and the one of its replies.
var requests = []string{api.ThreadsList + ".", api.ThreadGet, api.ThreadContext, api.ThreadSummarize, api.MessageGet, api.SummaryGet, "reply"}

// Every reference of the AsyncAPI document leads somewhere, and every event type and request has its channel.
func TestAsyncAPI(t *testing.T) {
	var doc map[string]any
	if err := yaml.Unmarshal(read(t, "asyncapi.yaml"), &doc); err != nil {
		t.Fatal(err)
	}
	if info, _ := doc["info"].(map[string]any); info["version"] != schemas.Version {
		t.Errorf("asyncapi.yaml has version %v, the package %s", info["version"], schemas.Version)
	}
	refs := collectRefs(doc)
	for _, ref := range refs {
		if file, ok := strings.CutPrefix(ref, "./"); ok {
			file, pointer, _ := strings.Cut(file, "#/")
			var schema map[string]any
			if err := json.Unmarshal(read(t, path.Clean(file)), &schema); err != nil {
				t.Fatal(err)
			}
			if pointer != "" && !resolves(schema, pointer) {
				t.Errorf("%s leads nowhere", ref)
			}
			continue
		}
		if !resolves(doc, strings.TrimPrefix(ref, "#/")) {
			t.Errorf("%s leads nowhere", ref)
		}
	}
	channels, _ := doc["channels"].(map[string]any)
	want := schemas.Types()
	for _, subject := range requests {
		want = append(want, strings.TrimSuffix(subject, "."))
	}
	if got := slices.Sorted(maps.Keys(channels)); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
		t.Errorf("channels %v", got)
	}
	for _, typ := range schemas.Types() {
		if !slices.Contains(refs, "./"+typ+".json") {
			t.Errorf("no message carries %s", typ)
		}
	}
}

func collectRefs(node any) []string {
	var refs []string
	switch n := node.(type) {
	case map[string]any:
		for key, value := range n {
			if ref, ok := value.(string); ok && key == "$ref" {
				refs = append(refs, ref)
			}
			refs = append(refs, collectRefs(value)...)
		}
	case []any:
		for _, value := range n {
			refs = append(refs, collectRefs(value)...)
		}
	}
	return refs
}

func resolves(doc map[string]any, pointer string) bool {
	var node any = doc
	for _, step := range strings.Split(pointer, "/") {
		object, ok := node.(map[string]any)
		if !ok {
			return false
		}
		if node, ok = object[step]; !ok {
			return false
		}
	}
	return true
}
