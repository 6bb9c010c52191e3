package e2e_test

import (
	"bytes"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"precis/schemas"
)

// compiled are schemas by their address among the published files.
var compiled = struct {
	sync.Mutex
	compiler *jsonschema.Compiler
	of       map[string]*jsonschema.Schema
}{of: map[string]*jsonschema.Schema{}}

func schemaAt(t testing.TB, address string) *jsonschema.Schema {
	t.Helper()
	compiled.Lock()
	defer compiled.Unlock()
	if compiled.compiler == nil {
		compiled.compiler = jsonschema.NewCompiler()
		compiled.compiler.AssertFormat()
		for _, name := range append(schemas.Types(), "defs", "service") {
			name += ".json"
			file, err := schemas.Files.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(file))
			if err != nil {
				t.Fatal(err)
			}
			if err := compiled.compiler.AddResource(name, doc); err != nil {
				t.Fatal(err)
			}
		}
	}
	if compiled.of[address] == nil {
		schema, err := compiled.compiler.Compile(address)
		if err != nil {
			t.Fatal(err)
		}
		compiled.of[address] = schema
	}
	return compiled.of[address]
}

// valid holds data against the published schema of its type.
func valid(t testing.TB, typ string, data []byte) {
	t.Helper()
	validAt(t, typ+".json", data)
}

// replies are the definitions of the service's replies, by the subject that was asked.
var replies = map[string]string{
	"precis.threads.list": "ThreadsReply", "precis.thread.get": "ThreadReply", "precis.thread.context": "ContextReply", "precis.thread.summarize": "SummarizeReply",
	"precis.message.get": "MessageReply", "precis.summary.get": "SummaryReply",
}

// validReply holds an answer of the service against its published schema.
func validReply(t testing.TB, subject string, data []byte) {
	t.Helper()
	name := replies[subject]
	if name == "" {
		name = replies[subject[:strings.LastIndexByte(subject, '.')]]
	}
	validAt(t, "service.json#/$defs/"+name, data)
}

func validAt(t testing.TB, address string, data []byte) {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if err := schemaAt(t, address).Validate(doc); err != nil {
		t.Errorf("%s: %v in %.300s", address, err, data)
	}
}
