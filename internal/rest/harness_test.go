package rest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"
	"github.com/rs/zerolog"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"precis/api"
	"precis/internal/broker"
	"precis/internal/config"
	"precis/internal/processor"
	"precis/internal/rest"
	"precis/internal/service"
	"precis/schemas"
)

// patience bounds what a test waits for.
const patience = 30 * time.Second

func within(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	t.Cleanup(cancel)
	return ctx
}

// world is a processor with an API.
type world struct {
	t      testing.TB
	broker *broker.Broker
	server *rest.Server
	url    string
	tokens string // the file
	client *http.Client
	stop   func() // of the API; a test may do it itself

	mu       sync.Mutex
	observed map[string]int
}

type options struct {
	rest.Options
	tokens string // the file's text
	behind bool   // the processor does not run
}

func logger(t testing.TB) zerolog.Logger {
	return zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.ErrorLevel)
}

func begin(t testing.TB, o options) *world {
	t.Helper()
	b, err := broker.Open(t.Context(), broker.Options{StoreDir: t.TempDir(), Sync: "2m", Logger: logger(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close(context.Background()) })
	cfg := config.Default()
	cfg.DataDir, cfg.Partitions = t.TempDir(), 2
	p, err := processor.Open(t.Context(), processor.Options{Config: cfg, Broker: b, Logger: logger(t)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ran := make(chan error, 1)
	if o.behind {
		ran <- nil
	} else {
		go func() { ran <- p.Run(ctx) }()
		<-p.Ready()
	}
	svc, err := service.Start(b.Conn(), p, service.Options{Logger: logger(t)})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, broker: b, client: &http.Client{Timeout: patience}, observed: map[string]int{}}
	w.startAPI(svc, o)
	t.Cleanup(func() {
		w.stop()
		cancel()
		if err := <-ran; err != nil {
			t.Error(err)
		}
		_ = svc.Stop()
		_ = p.Close(context.Background())
	})
	if !o.behind {
		w.eventually(func() error {
			if !p.CaughtUp() {
				return fmt.Errorf("not caught up")
			}
			return nil
		})
	}
	return w
}

func (w *world) startAPI(svc *service.Service, o options) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	file := ""
	if o.tokens != "" {
		file = filepath.Join(w.t.TempDir(), "tokens.yaml")
		writeFile(w.t, file, o.tokens)
	}
	w.tokens = file
	tokens, err := rest.LoadTokens(file, logger(w.t))
	if err != nil {
		w.t.Fatal(err)
	}
	r := o.Options
	r.Logger, r.Service, r.Tokens, r.EventBytes = logger(w.t), svc, tokens, func() int { return 1 << 20 }
	if r.Conn == nil {
		r.Conn = w.broker.Conn()
	}
	if r.BodyBytes == 0 {
		r.BodyBytes = 2 << 20
	}
	if r.Streams == 0 {
		r.Streams = 8
	}
	r.Observe = func(route string, status int) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.observed[fmt.Sprint(route, " ", status)]++
	}
	if w.server, err = rest.Start(l, r); err != nil {
		w.t.Fatal(err)
	}
	w.url = "http://" + l.Addr().String()
	w.stop = sync.OnceFunc(func() {
		w.client.CloseIdleConnections()
		if err := w.server.Stop(within(w.t)); err != nil {
			w.t.Error(err)
		}
	})
}

func writeFile(t testing.TB, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (w *world) eventually(try func() error) {
	w.t.Helper()
	ctx := within(w.t)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		err := try()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			w.t.Fatal(err)
		}
	}
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func (a answer) json(t testing.TB, to any) {
	t.Helper()
	if err := json.Unmarshal(a.body, to); err != nil {
		t.Fatalf("%v in %.200s", err, a.body)
	}
}

func (a answer) problem(t testing.TB) (p api.Problem) {
	t.Helper()
	a.json(t, &p)
	return p
}

// do sends a request and holds the answer against the OpenAPI document.
func (w *world) do(method, path, body string, headers ...string) answer {
	w.t.Helper()
	req, err := http.NewRequestWithContext(within(w.t), method, w.url+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if req.Header.Set(headers[i], headers[i+1]); headers[i] == "Host" {
			req.Host = headers[i+1]
		}
	}
	res, err := w.client.Do(req)
	if err != nil {
		w.t.Fatalf("%s %.100s: %v", method, path, err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	a := answer{res.StatusCode, res.Header, text}
	documented(w.t, method, path, a)
	validated(w.t, req, a)
	return a
}

// wants sends a request, and holds the answer's status against what it should be.
func (w *world) wants(status int, method, path, body string, headers ...string) answer {
	w.t.Helper()
	a := w.do(method, path, body, headers...)
	if a.status != status {
		w.t.Errorf("%s %.100s: %d %.300s, want %d", method, path, a.status, a.body, status)
	}
	return a
}

// put publishes events, and returns the last sequence.
func (w *world) put(path, body string, headers ...string) uint64 {
	w.t.Helper()
	var reply api.EventsReply
	w.wants(http.StatusOK, "POST", path+"/events", body, headers...).json(w.t, &reply)
	return reply.EventSeq
}

// document is the OpenAPI document.
var document = sync.OnceValue(func() map[string]any {
	text, err := schemas.OpenAPI()
	if err != nil {
		panic(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		panic(err)
	}
	return doc.(map[string]any)
})

func at(node any, keys ...string) any {
	for _, key := range keys {
		m, _ := node.(map[string]any)
		node = m[key]
	}
	return node
}

// routeOf is the document's path that an address is of.
func routeOf(path string) string {
	path, _, _ = strings.Cut(path, "?")
	given := strings.Split(path, "/")
	for name := range at(document(), "paths").(map[string]any) {
		want := strings.Split(name, "/")
		if len(want) == len(given) && !slices.ContainsFunc(want, func(s string) bool { return !strings.HasPrefix(s, "{") && !slices.Contains(given, s) }) &&
			!slices.ContainsFunc(given, func(s string) bool { return s == "" && s != given[0] }) {
			return name
		}
	}
	return ""
}

var schemaOf = struct {
	sync.Mutex
	compiler *jsonschema.Compiler
	compiled map[string]*jsonschema.Schema
}{compiled: map[string]*jsonschema.Schema{}}

// documented holds an answer against what the document says of its route: the status, the media type, the schema.
func documented(t testing.TB, method, path string, a answer) {
	t.Helper()
	operation := at(document(), "paths", routeOf(path), strings.ToLower(method))
	pointer := []string{"components", "responses", fmt.Sprint(a.status)}
	if operation != nil {
		response := at(operation, "responses", fmt.Sprint(a.status))
		if response == nil {
			t.Errorf("%s %.100s answers %d, which the document does not have: %.300s", method, path, a.status, a.body)
			return
		}
		if at(response, "$ref") == nil {
			pointer = []string{"paths", routeOf(path), strings.ToLower(method), "responses", fmt.Sprint(a.status)}
		}
	} else if a.status < 400 {
		t.Errorf("%s %.100s answers %d, and is not in the document", method, path, a.status)
		return
	} else if a.status == http.StatusMethodNotAllowed {
		pointer[2] = "404"
	}
	media, _, _ := strings.Cut(a.header.Get("Content-Type"), ";")
	content, _ := at(document(), append(pointer, "content")...).(map[string]any)
	if content[media] == nil {
		t.Errorf("%s %.100s: %d is %q, the document has %v", method, path, a.status, media, slices.Collect(maps.Keys(content)))
		return
	}
	if media == "text/event-stream" {
		return
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(a.body))
	if err == nil {
		err = compiled(t, append(pointer, "content", media, "schema")).Validate(doc)
	}
	if err != nil {
		t.Errorf("%s %.100s: %v in %.300s", method, path, err, a.body)
	}
}

// independent is a validator that reads the document by itself.
var independent = sync.OnceValue(func() validator.Validator {
	text, err := schemas.OpenAPI()
	if err != nil {
		panic(err)
	}
	doc, err := libopenapi.NewDocument(text)
	if err != nil {
		panic(err)
	}
	v, errs := validator.NewValidator(doc)
	if len(errs) > 0 {
		panic(errors.Join(errs...))
	}
	return v
})

// validated has the validator hold an answer against the document, unless its route is not one, or it is a stream.
func validated(t testing.TB, req *http.Request, a answer) {
	t.Helper()
	media, _, _ := strings.Cut(a.header.Get("Content-Type"), ";")
	if at(document(), "paths", routeOf(req.URL.EscapedPath()), strings.ToLower(req.Method)) == nil || media == "text/event-stream" {
		return
	}
	res := &http.Response{StatusCode: a.status, Header: a.header, Body: io.NopCloser(bytes.NewReader(a.body)), Request: req}
	if valid, problems := independent().ValidateHttpResponse(req, res); !valid {
		for _, p := range problems {
			t.Errorf("%s %.100s, %d: %s: %s in %.300s", req.Method, req.URL.Path, a.status, p.Message, p.Reason, a.body)
		}
	}
}

func compiled(t testing.TB, pointer []string) *jsonschema.Schema {
	t.Helper()
	schemaOf.Lock()
	defer schemaOf.Unlock()
	if schemaOf.compiler == nil {
		schemaOf.compiler = jsonschema.NewCompiler()
		schemaOf.compiler.AssertFormat()
		schemaOf.compiler.DefaultDraft(jsonschema.Draft2020)
		if err := schemaOf.compiler.AddResource("openapi.json", document()); err != nil {
			t.Fatal(err)
		}
	}
	address := "openapi.json#"
	for _, key := range pointer {
		key = strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
		address += "/" + strings.NewReplacer("{", "%7B", "}", "%7D").Replace(key)
	}
	if schemaOf.compiled[address] == nil {
		schema, err := schemaOf.compiler.Compile(address)
		if err != nil {
			t.Fatal(err)
		}
		schemaOf.compiled[address] = schema
	}
	return schemaOf.compiled[address]
}
