package rest

import (
	"bytes"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"precis/events"
	"precis/internal/loopback"
	"precis/internal/slash"
)

// asking is one request whose token is known.
type asking struct {
	*http.Request
	who    *token
	thread string // of the path; empty where the route has none
	query  url.Values
}

// route is one method of one path.
type route struct {
	method, path string
	query        []string // parameters that it knows
	open         bool     // it takes no token
	handle       func(s *Server, w http.ResponseWriter, r *asking) error
}

// routes are all of them; the OpenAPI document has the same.
func routes() []route {
	return []route{
		{"POST", "/v1/threads/{thread}/events", nil, false, (*Server).publish},
		{"GET", "/v1/threads", []string{"prefix", "search", "agent_id", "policy", "stale", "sort", "ascending", "limit", "after"}, false, (*Server).getThreads},
		{"GET", "/v1/threads/{thread}", []string{"min_event_seq"}, false, (*Server).getThread},
		{"POST", "/v1/threads/{thread}/context", nil, false, (*Server).postContext},
		{"POST", "/v1/threads/{thread}/summarize", nil, false, (*Server).postSummarize},
		{"GET", "/v1/threads/{thread}/messages/{id}", []string{"lines", "revision", "min_event_seq"}, false, (*Server).getMessage},
		{"GET", "/v1/threads/{thread}/records", []string{"from", "last_event_id"}, false, (*Server).records},
		{"GET", "/v1/threads/{thread}/rejections", []string{"after"}, false, (*Server).getRejections},
		{"GET", "/v1/summaries/{id}", nil, false, (*Server).getSummary},
		{"POST", mcpPath, nil, false, (*Server).postMCP},
		{"GET", "/v1/openapi.json", nil, true, (*Server).getOpenAPI},
	}
}

// unknownRoute is the route of answers to what is none.
const unknownRoute = "other"

func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	methods := map[string][]string{}
	for _, r := range routes() {
		methods[r.path] = append(methods[r.path], r.method)
		if r.method == http.MethodGet { // net/http takes the other too
			methods[r.path] = append(methods[r.path], http.MethodHead)
		}
		mux.HandleFunc(r.method+" "+r.path, func(w http.ResponseWriter, req *http.Request) { s.serve(w, req, r) })
	}
	for path, allowed := range methods {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			p := wrong(http.StatusMethodNotAllowed, "use "+strings.Join(allowed, " or "))
			p.allow = strings.Join(allowed, ", ")
			s.refuse(w, path, p)
		})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		s.refuse(w, unknownRoute, wrong(http.StatusNotFound, "no such path: GET /v1/openapi.json lists them; a / in an id is %2F"))
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if s.pages != nil && isPage(r.URL.Path) {
			s.page(w, r)
			return
		}
		if err := s.guard(r); err != nil {
			s.refuse(w, unknownRoute, err)
			return
		}
		if path := r.URL.EscapedPath(); strings.Contains(path, "//") || strings.Contains(path+"/", "/./") || strings.Contains(path+"/", "/../") {
			// The mux would redirect to a cleaned path, which is another thread's.
			s.refuse(w, unknownRoute, wrong(http.StatusNotFound, "a path has no empty segment, and none that is . or ..; write an id's bytes as %HH"))
			return
		}
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.opts.ReadTimeout + writeTimeout))
		slash.Serve(mux, w, r)
	})
}

func (s *Server) refuse(w http.ResponseWriter, route string, p *problem) {
	s.opts.Observe(route, p.Status)
	p.write(w)
}

// guard keeps browsers out: their pages reach this machine's ports, and those of this server (package ui) need none of these routes. A name that resolves to this
// machine (DNS rebinding) does not make a page part of it. MCP wants the server's own origin taken, which some of its clients send.
func (s *Server) guard(r *http.Request) *problem {
	origin, site := r.Header.Get("Origin"), r.Header.Get("Sec-Fetch-Site")
	own := r.URL.Path == mcpPath && (origin == "http://"+r.Host || origin == "https://"+r.Host) && (site == "" || site == "same-origin")
	if !own && (origin != "" || site != "" && site != "none") {
		return wrong(http.StatusForbidden, "pages in browsers are not served (the request has an Origin)")
	}
	return s.guardHost(r)
}

// guardHost refuses names that do not stand for this machine, where everyone on it is let in.
func (s *Server) guardHost(r *http.Request) *problem {
	if s.guarded && !loopback.Host(r.Host) {
		return wrong(http.StatusMisdirectedRequest, "without tokens, clients use 127.0.0.1, [::1] or localhost as the host")
	}
	return nil
}

// serve answers a request to a route.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, to route) {
	counted := &counting{ResponseWriter: w}
	err := s.admit(counted, r, to)
	if err == nil {
		s.opts.Observe(to.path, counted.status)
		return
	}
	var p *problem
	if !errors.As(err, &p) {
		s.opts.Logger.Error().Err(err).Str("route", to.path).Msg("request failed")
		p = wrong(http.StatusInternalServerError, "an error of the processor, which its log has")
	}
	s.refuse(w, to.path, p)
}

// counting notes the status.
type counting struct {
	http.ResponseWriter
	status int
}

func (c *counting) WriteHeader(status int) {
	c.status = status
	c.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (c *counting) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// admit lets a request pass, or says why not.
func (s *Server) admit(w http.ResponseWriter, r *http.Request, to route) error {
	a := &asking{Request: r, who: &anyone, thread: r.PathValue("thread")}
	if !to.open {
		var err error
		if a.who, err = s.authorize(r); err != nil {
			return err
		}
		if a.who.role == RoleAuditor && to.method != http.MethodGet && to.path != mcpPath {
			return wrong(http.StatusForbidden, "an auditor's token reads; this needs an agent's or an operator's")
		}
	}
	if strings.Contains(to.path, "{thread}") {
		if len(a.thread) > events.MaxIDBytes {
			return wrong(http.StatusBadRequest, events.ErrThreadID.Error())
		}
		if !a.who.covers(a.thread) {
			return outside(a.who, a.thread)
		}
	}
	if !s.rates.allow(a.who.name) {
		return wrong(http.StatusTooManyRequests, fmt.Sprintf("more than %d requests a second of one token (api.requests_per_second)", s.opts.PerSecond))
	}
	var err error
	if a.query, err = queryOf(r, to.query); err != nil {
		return err
	}
	return to.handle(s, w, a)
}

func outside(who *token, thread string) *problem {
	return wrong(http.StatusForbidden, fmt.Sprintf("the token %s is for threads that begin with %q, and %q does not", who.name, who.threads, thread))
}

// authorize finds the token of a request.
func (s *Server) authorize(r *http.Request) (*token, error) {
	scheme, presented, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		presented = ""
	}
	who, err := s.opts.Tokens.find(strings.TrimSpace(presented), s.opts.Now())
	switch {
	case err != nil:
		return nil, wrong(http.StatusUnauthorized, err.Error()+": give another one")
	case who == nil && presented == "":
		return nil, wrong(http.StatusUnauthorized, "give a token: Authorization: Bearer TOKEN")
	case who == nil:
		return nil, wrong(http.StatusUnauthorized, "the token is not known")
	}
	return who, nil
}

// queryOf reads the parameters: each at most once, and none that the route does not know.
func queryOf(r *http.Request, known []string) (url.Values, error) {
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, wrong(http.StatusBadRequest, "the query is not well-formed: write bytes as %HH")
	}
	for name, values := range q {
		if !slices.Contains(known, name) {
			return nil, wrong(http.StatusBadRequest, fmt.Sprintf("unknown parameter %q; allowed: %s", name, cmpOr(strings.Join(known, ", "), "none")))
		}
		if len(values) > 1 {
			return nil, wrong(http.StatusBadRequest, fmt.Sprintf("parameter %q is given %d times", name, len(values)))
		}
	}
	return q, nil
}

func cmpOr(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// number reads a parameter; 0 where it is absent.
func (a *asking) number(name string) (uint64, error) {
	text := a.query.Get(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, wrong(http.StatusBadRequest, fmt.Sprintf("%s must be an integer of at least 0, not %q", name, text))
	}
	return n, nil
}

// logOf takes what net/http has to say: of clients, mostly.
func logOf(l zerolog.Logger) *log.Logger { return log.New(lines{l}, "", 0) }

type lines struct{ log zerolog.Logger }

func (l lines) Write(p []byte) (int, error) {
	l.log.Debug().Str("text", string(bytes.TrimSpace(p))).Msg("API connection")
	return len(p), nil
}
