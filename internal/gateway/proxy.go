package gateway

import (
	"context"
	"errors"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/rs/zerolog"

	client "precis/api"
	"precis/internal/loopback"
)

// passing is one request on its way.
type passing struct {
	writer   http.ResponseWriter
	exchange *exchange // nil: it is only passed on
	read     *exchange // one that is only passed on, with precis's own compactions as texts
	status   int
	said     string // Precis-Compacted; empty: nothing is said
}

type passingKey struct{}

func passingOf(ctx context.Context) *passing {
	p, _ := ctx.Value(passingKey{}).(*passing)
	return p
}

// newProxy passes requests on. net/http/httputil knows what a proxy has to: hop-by-hop headers, trailers, interim answers, upgrades, clients that
// leave, answers that break off.
func (g *Gateway) newProxy() *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Transport: g.opts.Transport, FlushInterval: -1, Rewrite: g.rewrite, ModifyResponse: g.answering, ErrorHandler: g.unanswered,
		ErrorLog: log.New(lines{g.log}, "", 0), BufferPool: &lent,
	}
}

// rewrite directs a request to its provider. Everything else of it stays.
func (g *Gateway) rewrite(r *httputil.ProxyRequest) {
	to := g.openAI
	if forAnthropic(r.In) {
		to = g.anthropic
	}
	out := r.Out
	out.URL.Scheme, out.URL.Host, out.Host = to.Scheme, to.Host, to.Host
	out.URL.Path, out.URL.RawPath = below(to, r.In.URL)
	out.URL.RawQuery = r.In.URL.RawQuery // also what does not parse
	for name := range out.Header {
		if strings.HasPrefix(name, ownHeaders) {
			delete(out.Header, name)
		}
	}
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		if v, ok := r.In.Header[name]; ok { // the client's own
			out.Header[name] = v
		}
	}
}

// below joins a provider's base path and a request's, as a path and as it is escaped. Providers write their base URL with the /v1, which a client's path
// has as well: one of the two is enough. Both forms lose it or neither does: net/http drops an escaped form that is not the path's.
func below(base, request *url.URL) (path, raw string) {
	at, escaped := strings.TrimSuffix(base.Path, "/"), strings.TrimSuffix(base.EscapedPath(), "/")
	if twice(at, request.Path) && twice(escaped, request.EscapedPath()) {
		at, escaped = strings.TrimSuffix(at, "/v1"), strings.TrimSuffix(escaped, "/v1")
	}
	if base.RawPath != "" || request.RawPath != "" {
		raw = escaped + request.EscapedPath()
	}
	return at + request.Path, raw
}

// twice reports whether the /v1 would stand there two times.
func twice(base, path string) bool {
	return strings.HasSuffix(base, "/v1") && (path == "/v1" || strings.HasPrefix(path, "/v1/"))
}

// answering begins to copy an answer.
func (g *Gateway) answering(r *http.Response) error {
	p := passingOf(r.Request.Context())
	p.status = r.StatusCode
	// net/http adds what is missing.
	for _, name := range []string{"Date", "Content-Type"} {
		if _, ok := r.Header[name]; !ok {
			p.writer.Header()[name] = nil
		}
	}
	if p.said != "" {
		r.Header.Set(headerCompacted, p.said)
	}
	if x := p.exchange; x != nil && r.StatusCode != http.StatusSwitchingProtocols {
		x.began(r)
		if x.answered() {
			r.Body = &tee{r.Body, &x.response}
		}
	}
	return nil
}

// headerCompacted says in mode compact what became of a request.
const headerCompacted = "Precis-Compacted"

// unanswered is what the client gets where there is no answer to pass on.
func (g *Gateway) unanswered(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil { // the client has left
		return
	}
	p := passingOf(r.Context())
	p.status = http.StatusBadGateway
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		p.status = http.StatusRequestEntityTooLarge
	}
	g.log.Warn().Err(withoutURL(err)).Str("upstream", r.URL.Host).Msg("no answer from the provider")
	problem(w, p.status, "the gateway has no answer from "+r.URL.Host+": "+withoutURL(err).Error())
}

// withoutURL removes the address, whose query may hold a key.
func withoutURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// problem answers in the gateway's own name (RFC 9457).
func problem(w http.ResponseWriter, status int, detail string) {
	title := http.StatusText(status)
	body, err := json.Marshal(client.Problem{
		Type: "urn:precis:problem:" + strings.ReplaceAll(strings.ToLower(title), " ", "-"), Title: title, Status: status, Detail: detail,
	})
	if err != nil {
		panic("a problem has no JSON: " + err.Error())
	}
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // an error means that the client is gone
}

// ServeHTTP passes a request on, and its answer back.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if g.opts.Guarded && !loopback.Host(r.Host) {
		problem(w, http.StatusMisdirectedRequest, "clients of this machine use 127.0.0.1, [::1] or localhost as the host")
		return
	}
	// An HTTP/1 server ends a request's body when the answer begins, although a read of it may be under way: the one that finds its end, at least. The
	// transport gives up the provider's connection then, and the answer with it.
	_ = http.NewResponseController(w).EnableFullDuplex() // HTTP/2 has no need of it
	p := &passing{writer: w}
	a := g.apiOf(r)
	if at := misplaced(r); a == nil && at != "" {
		g.quiet.elsewhere(g.log, at)
		if g.opts.Mode == ModeCompact { // the answer is likely to be the provider's 404, which does not name the cause
			p.said = g.says(asPath)
		}
	}
	// ReverseProxy panics where an answer breaks off, so that the client sees it break off.
	defer func() {
		g.metrics.answered(a, p.status)
		g.end(p.exchange)
		if p.read != nil {
			p.read.seal()
			p.read.release()
		}
	}()
	switch {
	case a == nil && g.opts.Compactions && r.Method == http.MethodPost && strings.TrimSuffix(r.URL.Path, "/") == countPath:
		g.putBack(r, p)
	case a != nil:
		if own := g.enter(a, r, p); own != nil {
			p.status = http.StatusOK
			own.give(w, p.said)
			return
		}
	}
	g.proxy.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), passingKey{}, p)))
}

// countPath is Anthropic's count of a prompt's tokens.
const countPath = "/v1/messages/count_tokens"

// putBack makes precis's own compactions texts in a request that is only passed on: the provider refuses the blocks.
func (g *Gateway) putBack(r *http.Request, p *passing) {
	if r.Body == nil || r.Body == http.NoBody {
		return
	}
	p.read = g.begin(anthropicAPI, r)
	g.taken(r, p.read)
}

// enter begins the exchange of a request that the gateway reads. own is an answer that needs no provider.
func (g *Gateway) enter(a *api, r *http.Request, p *passing) (own *made) {
	if strings.EqualFold(r.Header.Get(HeaderMode), "off") {
		if g.opts.Mode == ModeCompact {
			p.said = g.says(asMode)
			if g.opts.Compactions && a == anthropicAPI {
				g.putBack(r, p)
			}
		}
		return nil
	}
	p.exchange = g.begin(a, r)
	if r.Body == nil {
		r.Body = http.NoBody
	}
	switch {
	case g.opts.Mode == ModeCompact:
		p.said, own = g.compact(r, p.exchange)
	case r.Body != http.NoBody:
		r.Body = &tee{r.Body, &p.exchange.request}
	}
	return own
}

// lines writes a log of net/http, whose lines hold no header and no body.
type lines struct{ log zerolog.Logger }

func (l lines) Write(p []byte) (int, error) {
	l.log.Debug().Msg(strings.TrimSpace(string(p)))
	return len(p), nil
}
