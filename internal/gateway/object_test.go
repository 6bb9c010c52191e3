package gateway

import (
	"bytes"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Reading without copies accepts what Unmarshal accepts, gives the same, and leaves what it reads as it is.
func FuzzElements(f *testing.F) {
	for _, seed := range []string{
		`{}`, `[]`, ` { "a" : [1, {"b":null}] , "c\n":"d" } `, `[ "a" , {"b":2} ,[3]]`, `{"a":1,"a":2}`, `{"b":{"a":1,"a":2}}`, `{"a":1}x`, `[1] [2]`, `[1,]`, `{"a"}`, `{"a":}`,
		"{\"\xff\":1}", "[\"\xff\"]", `{"\u0061":1,"a":2}`, `[`, `{"a":1`, `[1}`, `{"a":1]`, ``, `null`, `"a"`, `1`, ` `, `[[[[]]]]`, `{"a":"\ud800"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		before := bytes.Clone(b)
		v := jsontext.Value(b)
		var o object
		if json.Unmarshal(b, &o) != nil || v.Kind() != jsontext.KindBeginObject {
			o = nil
		}
		if got := objectOf(v); (got == nil) != (o == nil) || string(jsonOf(got)) != string(jsonOf(o)) {
			t.Errorf("object of %q: %q, want %q", b, got, o)
		}
		var list []jsontext.Value
		if json.Unmarshal(b, &list) != nil || v.Kind() != jsontext.KindBeginArray {
			list = nil
		}
		if got := listOf(v); (got == nil) != (list == nil) || string(jsonOf(got)) != string(jsonOf(list)) {
			t.Errorf("list of %q: %q, want %q", b, got, list)
		}
		if !bytes.Equal(b, before) {
			t.Errorf("%q became %q", before, b)
		}
	})
}
