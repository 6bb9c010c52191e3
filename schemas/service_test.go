package schemas_test

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"precis/api"
	"precis/events"
	"precis/schemas"
)

// shapes are the Go types of the definitions in service.json.
var shapes = []reflect.Type{
	reflect.TypeFor[api.ThreadsRequest](), reflect.TypeFor[api.ThreadsReply](),
	reflect.TypeFor[api.ThreadRequest](), reflect.TypeFor[api.ThreadReply](),
	reflect.TypeFor[api.ContextRequest](), reflect.TypeFor[api.ContextReply](),
	reflect.TypeFor[api.SummarizeRequest](), reflect.TypeFor[api.SummarizeReply](),
	reflect.TypeFor[api.MessageRequest](), reflect.TypeFor[api.MessageReply](),
	reflect.TypeFor[api.SummaryRequest](), reflect.TypeFor[api.SummaryReply](),
	reflect.TypeFor[api.EventsReply](), reflect.TypeFor[api.RejectionsReply](), reflect.TypeFor[api.Problem](),
}

// bases are the records whose members a definition has from the record's own schema.
var bases = map[reflect.Type]reflect.Type{
	reflect.TypeFor[api.SummaryReply](): reflect.TypeFor[events.Summary](), reflect.TypeFor[api.Rejection](): reflect.TypeFor[events.Rejected](),
}

type definition struct {
	Required   []string                  `json:"required"`
	Properties map[string]jsontext.Value `json:"properties"`
	Additional *bool                     `json:"additionalProperties"`
}

// The definitions have exactly the members of the Go types, through all that these hold: replies require them all, and requests
// take no other.
func TestServiceMatchesItsGoTypes(t *testing.T) {
	var file struct {
		Defs map[string]definition `json:"$defs"`
	}
	if err := json.Unmarshal(read(t, schemas.Service), &file); err != nil {
		t.Fatal(err)
	}
	left := maps.Clone(file.Defs)
	for _, typ := range reached(shapes) {
		def, ok := file.Defs[typ.Name()]
		if !ok {
			t.Errorf("no definition of %s", typ)
			continue
		}
		delete(left, typ.Name())
		want := members(typ)
		if base := bases[typ]; base != nil {
			record := members(base)
			want = slices.DeleteFunc(want, func(name string) bool { return slices.Contains(record, name) })
		}
		if got := slices.Sorted(maps.Keys(def.Properties)); !slices.Equal(got, want) {
			t.Errorf("%s describes %v, Go has %v", typ, got, want)
		}
		request := strings.HasSuffix(typ.Name(), "Request")
		want = slices.DeleteFunc(want, func(name string) bool { return typ == reflect.TypeFor[api.Problem]() && name == "rejections" })
		if !request && !slices.Equal(slices.Sorted(slices.Values(def.Required)), want) {
			t.Errorf("%s requires %v, Go writes %v", typ, def.Required, want)
		}
		if request != (def.Additional != nil && !*def.Additional) {
			t.Errorf("%s: a request takes no other members, and a reply may get some", typ)
		}
	}
	for name := range left {
		t.Errorf("no Go type is called %s", name)
	}
}

// reached are types, and the structs of their package that they hold.
func reached(types []reflect.Type) []reflect.Type {
	var all []reflect.Type
	var walk func(reflect.Type)
	walk = func(typ reflect.Type) {
		for k := typ.Kind(); k == reflect.Pointer || k == reflect.Slice; k = typ.Kind() {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct || typ.PkgPath() != "precis/api" || slices.Contains(all, typ) {
			return
		}
		if typ != reflect.TypeFor[api.Dropped]() { // its members are those of what embeds it
			all = append(all, typ)
		}
		for i := range typ.NumField() {
			walk(typ.Field(i).Type)
		}
	}
	for _, typ := range types {
		walk(typ)
	}
	return all
}

// The definitions are schemas, and refer to what is there.
func TestServiceCompiles(t *testing.T) {
	for _, typ := range reached(shapes) {
		compileService(t, typ.Name())
	}
	for _, c := range []struct{ name, body string }{
		{"MessageRequest", `{"message_id":"m","lines":[1]}`}, {"MessageRequest", `{}`}, {"ContextRequest", `{"format":"xml"}`},
		{"ThreadRequest", `{"min_event_seq":-1}`}, {"SummaryRequest", `{"id":"s"}`}, {"SummarizeRequest", `{"kind":"tool_result"}`}, {"ThreadReply", `{}`},
	} {
		if validate(compileService(t, c.name), []byte(c.body)) == nil {
			t.Errorf("%s accepts %s", c.name, c.body)
		}
	}
	for _, c := range []struct{ name, body string }{
		{"MessageRequest", `{"message_id":"m","lines":[1.0,2e1],"revision":null}`}, {"ContextRequest", `{"format":null,"max_tokens":1e5}`}, {"ThreadRequest", `{}`},
	} {
		if err := validate(compileService(t, c.name), []byte(c.body)); err != nil {
			t.Errorf("%s refuses %s: %v", c.name, c.body, err)
		}
	}
}
