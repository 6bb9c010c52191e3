package ui

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"precis/events"
	"precis/internal/audit"
	"precis/internal/broker"
	"precis/internal/config"
	"precis/internal/fold"
	"precis/internal/roster"
	"precis/internal/service"
	"precis/internal/slash"
	"precis/internal/timeline"
	"precis/state"
	"precis/summarize"
)

// Backend is what the pages are about.
type Backend interface {
	Threads() *roster.Index
	View(partition int) state.View
	// Snapshot reads one state of a partition; the caller closes it.
	Snapshot(partition int) *state.Snapshot
	Partitions() int
	CaughtUp() bool
	Connected() bool
	// Trouble is why /readyz would say that records can't be stored, as far as that is known at once; empty: they can.
	Trouble() string
	// Moved goes up with what is applied.
	Moved() uint64
	Config() *config.Config
	// Reloaded says what the file of the configuration has that is not in force.
	Reloaded() Reload
	// Running are the partitions of this processor, and how many events of the log are not read yet.
	Running(ctx context.Context) (list []Partition, unread uint64, err error)
	// Elsewhere says which other processor has a partition, or that one is about to; empty: this one has it.
	Elsewhere(partition int) string
	// Cluster is the cluster that the processor belongs to; nil: it is alone.
	Cluster() *Cluster
	// Process says which processor this is.
	Process() Process
	// Served are the prompts that were served since the start, by policy.
	Served() []Served
	// Mask takes secrets out of a text.
	Mask(text string) string
	// Imagined is the configuration of a fold with other policies than those in force.
	Imagined(policies []summarize.Policy) (*fold.Config, error)
	Now() time.Time
}

// Process is a running processor.
type Process struct {
	Version string
	Owner   string // as its claims say
	NATS    string // the server's address, without a password
	Started time.Time
}

// Reload is how the configuration was read again.
type Reload struct {
	Refused string    // why the last reload was refused; empty: it was not
	At      time.Time // when it was
	Waiting []string  // keys that changed in the file that was loaded last, and wait for a restart
}

// Partition is a partition of a running processor.
type Partition struct {
	ID       int
	Strays   bool // it has what the partition transform did not match
	Owner    string
	Position uint64    // the last event that is durable
	Waiting  uint64    // events that are read and not applied
	Oldest   time.Time // when the one that is being applied was stored; zero where there is none
	Outbox   int       // records that wait for the server
	Jobs     int
}

// Behind reports whether events wait.
func (p Partition) Behind() bool { return p.Waiting > 0 }

// Served are answers of precis.thread.context.
type Served struct {
	Policy      string
	Prompts     uint64
	Held, Whole uint64 // tokens
}

// Viewer is who looks.
type Viewer struct {
	Name   string // of the token; empty: no tokens
	Role   string
	Prefix string // of the threads
}

// Covers reports whether a thread is among the viewer's.
func (v *Viewer) Covers(thread string) bool { return strings.HasPrefix(thread, v.Prefix) }

// Whole reports whether the viewer sees all threads, and what is not about one.
func (v *Viewer) Whole() bool { return v.Prefix == "" }

// Acts reports whether the viewer may publish.
func (v *Viewer) Acts() bool { return v.Role != "auditor" }

// Errors of a Gate.
var (
	ErrToken = errors.New("the token is not known, or has expired") // a sign-in
	ErrBusy  = errors.New("too many requests of this token")
)

// Gate knows tokens.
type Gate interface {
	// Open reports that there are no tokens: everyone is an operator.
	Open() bool
	// Enter returns who presents a token, and counts the request.
	Enter(token string) (*Viewer, error)
	// Holds reports whether a token is still valid. It counts nothing.
	Holds(token string) bool
	// Stream takes a place of the event streams; leave is nil where none is free.
	Stream(v *Viewer) (leave func())
}

// Options of the pages.
type Options struct {
	Logger    zerolog.Logger
	Backend   Backend
	Service   *service.Service
	JetStream jetstream.JetStream
	Beside    []jetstream.JetStream // further connections, for reading several messages at once
	Gate      Gate
	Contents  bool // ui.contents
	Secure    bool // TLS
	Heartbeat time.Duration
	// Closing ends event streams.
	Closing <-chan struct{}
}

// UI serves the pages under Path.
type UI struct {
	Options
	mux      *http.ServeMux
	pages    map[string]*template.Template
	sessions sessions
	stories  stories
	applied  audit.Applied
	computed computed
	paces    paces
	history  *history
	kept     *broker.Kept      // of EVENTS
	events   *broker.LogReader // over all connections, with what is kept
	// keptRecords are of SUMMARIES, and records reads them.
	keptRecords *broker.Kept
	records     *broker.LogReader
}

// Path is where the pages are.
const Path = "/ui/"

//go:embed pages/*.html
var files embed.FS

//go:embed ui.css
var style string

//go:embed ui.js
var script string

// New returns the pages.
func New(o Options) (*UI, error) {
	u := &UI{Options: o, mux: http.NewServeMux(), pages: map[string]*template.Template{}, history: newHistory(o.JetStream, o.Backend.Now)}
	u.stories.places = make(chan struct{}, maxFolds)
	u.kept = broker.NewKept(keptBytes)
	u.events = u.history.events.Beside(o.Beside).Through(u.kept)
	u.keptRecords = broker.NewKept(keptRecordBytes)
	u.records = u.history.summaries.Beside(o.Beside).Through(u.keptRecords)
	u.computed.by = map[string]*saved{}
	base, err := template.New("layout").Funcs(timeline.Funcs()).Funcs(funcs).ParseFS(files, "pages/layout.html")
	if err == nil {
		base, err = timeline.Templates(base)
	}
	if err != nil {
		return nil, fmt.Errorf("read pages: %w", err)
	}
	list, err := files.ReadDir("pages")
	if err != nil {
		return nil, fmt.Errorf("read pages: %w", err)
	}
	for _, file := range list {
		name := strings.TrimSuffix(file.Name(), ".html")
		if name == "layout" {
			continue
		}
		t, err := base.Clone()
		if err == nil {
			t, err = t.ParseFS(files, "pages/"+file.Name())
		}
		if err != nil {
			return nil, fmt.Errorf("read pages: %w", err)
		}
		u.pages[name] = t
	}
	u.routes()
	return u, nil
}

// handler answers a request of a viewer with a page.
type handler func(r *http.Request, v *Viewer) (*page, error)

func (u *UI) routes() {
	u.mux.HandleFunc("GET /ui/style.css", asset("text/css; charset=utf-8", timeline.Style+style))
	u.mux.HandleFunc("GET /ui/script.js", asset("text/javascript; charset=utf-8", timeline.Script+script))
	u.mux.HandleFunc("POST /ui/login", u.login)
	u.mux.HandleFunc("POST /ui/logout", u.logout)
	for path, handle := range map[string]handler{
		"GET /ui/{$}": u.overview, "GET /ui/threads": u.threads, "GET /ui/rejections": u.rejections, "GET /ui/partitions": u.partitions, "GET /ui/savings": u.savings, "POST /ui/savings": u.save, "GET /ui/configuration": u.configuration,
		"GET /ui/summaries/{summary}": u.summary,
	} {
		u.mux.HandleFunc(path, u.page(handle))
	}
	for _, p := range []threadPage{
		{name: "thread", path: "", live: []string{"at", "before"}, body: u.thread},
		{name: "prompt", path: "/prompt", title: "Prompt of ", live: []string{"at"}, body: u.prompt},
		{name: "compare", path: "/compare", title: "Compare ", body: u.compare},
	} {
		u.mux.HandleFunc("GET /ui/threads/{thread}"+p.path, u.ofThread(p))
	}
	u.mux.HandleFunc("POST /ui/rejections/{seq}/retry", u.page(u.retry))
	u.mux.HandleFunc("GET /ui/live", u.live)
	u.mux.HandleFunc("/ui/", u.page(func(*http.Request, *Viewer) (*page, error) {
		return nil, &failure{http.StatusNotFound, "There is no such page."}
	}))
}

// policy lets a page use this server's script and style, send forms to it, and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// ServeHTTP implements http.Handler.
func (u *UI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	// Without any referrer, a form's Origin would be null.
	h.Set("Referrer-Policy", "same-origin")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	if !asked(r) {
		http.Error(w, "another site's page asked for this", http.StatusForbidden)
		return
	}
	slash.Serve(u.mux, w, r)
}

// asked reports whether a request is no other site's doing: a link may lead here, and nothing else.
func asked(r *http.Request) bool {
	if origin := r.Header.Get("Origin"); origin != "" {
		from, err := url.Parse(origin)
		if err != nil || from.Host != r.Host {
			return false
		}
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
		return true
	}
	return r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
}

func asset(media, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", media)
		w.Header().Set("Cache-Control", "no-cache")
		_, _ = w.Write([]byte(text)) // an error means that the client is gone
	}
}

// page is what a template shows.
type page struct {
	Name   string // of the template
	Title  string
	Nav    string // the entry of the navigation
	Status int    // 0: 200
	Live   bool   // it changes by itself
	To     string // where the browser goes instead

	Viewer   *Viewer
	Open     bool // there are no tokens
	Contents bool
	Process  Process
	State    chip
	Trouble  string // what is wrong with the streams, and what to do
	Now      time.Time
	Query    string // the page's own, for the streams of changes
	Body     any
}

// chip is how the processor is.
type chip struct{ Class, Text string }

// failure is an answer that is no page.
type failure struct {
	status int
	text   string
}

func (f *failure) Error() string { return f.text }

// page answers with what a handler returns, if the request has a token.
func (u *UI) page(handle handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v, err := u.viewer(r)
		if err != nil {
			u.show(w, r, nil, u.signIn(r, err))
			return
		}
		begun := time.Now()
		p, err := handle(r, v)
		if err != nil {
			p = u.failed(r, v, err)
		}
		u.looked(r, p, begun)
		u.show(w, r, v, p)
	}
}

// failed is the page of an error.
func (u *UI) failed(r *http.Request, v *Viewer, err error) *page {
	var f *failure
	var fault *service.Fault
	switch {
	case errors.As(err, &f):
	case errors.As(err, &fault):
		f = &failure{fault.Status(), sentence(errors.New(fault.Message))}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		f = &failure{http.StatusServiceUnavailable, "NATS, or the processor, does not answer in time. This page tries again by itself."}
	case errors.Is(err, events.ErrThreadID):
		f = &failure{http.StatusBadRequest, err.Error()}
	case !u.Backend.Connected():
		f = &failure{http.StatusServiceUnavailable, "NATS is away, and this page reads from there. It tries again by itself."}
	default:
		u.Logger.Error().Err(err).Str("path", r.URL.Path).Msg("page failed")
		f = &failure{http.StatusInternalServerError, "An error of the processor, which its log has."}
	}
	nav := ""
	for _, name := range []string{"threads", "rejections", "savings", "partitions", "configuration"} {
		if strings.HasPrefix(r.URL.Path, Path+name) {
			nav = name
		}
	}
	if r.URL.Path == Path {
		nav = "overview"
	}
	return &page{Name: "failed", Title: http.StatusText(f.status), Nav: nav, Status: f.status, Live: v != nil && f.status >= 500, Body: f.text}
}

// looked notes how long it took to make a page that changes by itself. How long a client takes to read it is its own affair.
func (u *UI) looked(r *http.Request, p *page, begun time.Time) {
	if p.Live && p.Status == 0 {
		u.paces.note(r.URL.Path, time.Since(begun))
	}
}

func (u *UI) show(w http.ResponseWriter, r *http.Request, v *Viewer, p *page) {
	if p.To != "" {
		http.Redirect(w, r, p.To, http.StatusSeeOther)
		return
	}
	text, err := u.rendered(r, v, p, "layout")
	if err != nil {
		http.Error(w, "an error of the processor, which its log has", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(cmp.Or(p.Status, http.StatusOK))
	_, _ = w.Write(text) // an error means that the client is gone
}

// rendered is a page by a template; an error is in the log.
func (u *UI) rendered(r *http.Request, v *Viewer, p *page, template string) ([]byte, error) {
	p.Viewer, p.Open, p.Contents, p.Process, p.Now = v, u.Gate.Open(), u.Contents, u.Backend.Process(), u.Backend.Now()
	p.State, p.Trouble = u.state()
	if v == nil || !v.Whole() {
		p.Trouble = ""
	}
	if p.Live {
		p.Query = url.Values{"path": {r.URL.Path}}.Encode()
	}
	var b bytes.Buffer
	err := u.pages[p.Name].ExecuteTemplate(&b, template, p)
	if err != nil {
		u.Logger.Error().Err(err).Str("path", r.URL.Path).Msg("page failed")
	}
	return b.Bytes(), err
}

// standing is how the processor is, in a few words.
func (u *UI) standing() string {
	c, _ := u.state()
	return c.Text
}

// state is how the processor is, and what is wrong with the streams.
func (u *UI) state() (c chip, trouble string) {
	switch {
	case !u.Backend.Connected():
		return chip{"bad", "NATS is away"}, ""
	case !u.Backend.CaughtUp():
		return chip{"stale", "catching up"}, ""
	}
	if trouble = u.Backend.Trouble(); trouble != "" {
		return chip{"bad", "not ready"}, trouble
	}
	return chip{"good", "running"}, ""
}

// whole refuses a viewer of some threads alone.
func whole(v *Viewer) error {
	if v.Whole() {
		return nil
	}
	return &failure{http.StatusForbidden, fmt.Sprintf("The token %s is for threads that begin with %q, and this page is about all of them.", v.Name, v.Prefix)}
}
