package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	client "precis/api"
	"precis/events"
)

// Reasons for which a request goes as it came.
const (
	asMode     = "mode"               // the client wants it so
	asSize     = "too_large"          // its body is longer than what is read
	asCoding   = "coding"             // its body is packed
	asShape    = "shape"              // it is not in the shape of its API
	asField    = "unknown_field"      // it has a member that the gateway does not know
	asKept     = "kept_by_provider"   // it does not contain its conversation
	asNew      = "new_conversation"   // nothing is answered yet, so that there is no thread
	asThread   = "thread"             // the client names a thread that can't be one
	asBehind   = "behind"             // precis has not caught up with the request's own messages, or is away
	asRefused  = "no_prompt"          // precis has none: a summary is stale and may not serve, or the prompt is too large for NATS
	asDiverged = "diverged"           // the thread has messages that the request has not, or the other way round
	asWhole    = "nothing_to_shrink"  // no summary stands for any of it
	asProvider = "provider_compacted" // it has, or wants among its messages, a compaction of the provider's
	asMedia    = "media"              // a compaction would have to hold more than text
)

// compactor asks for prompts.
type compactor struct {
	client *client.Client
	slow   *client.Client // for clients that wait for a compaction
	wait   time.Duration
	now    func() time.Time
	until  atomic.Int64 // before which precis is not asked again; 0: it answers in time
	trying atomic.Bool  // a request asks whether it does so again
	asked  atomic.Int64 // since when requests wait and none was answered; 0: none waits
}

// restFor is how long precis is left alone once it was too slow: a request that finds it slow waits, and the next ones don't. Then one request alone
// tries it, so that of 200 requests a second that go on for long fewer than one in a hundred waits.
const restFor = 10 * time.Second

func newCompactor(o Options) (*compactor, error) {
	c, err := client.NewClient(o.Conn, client.ClientOptions{Timeout: o.Wait})
	if err != nil {
		return nil, err
	}
	slow, err := client.NewClient(o.Conn, client.ClientOptions{Timeout: compactionWait})
	if err != nil {
		return nil, err
	}
	return &compactor{client: c, slow: slow, wait: o.Wait, now: o.Now}, nil
}

// resting reports whether a request must do without precis. Where it need not, it ends with done. While others have waited for a fifth of what they may,
// and none was answered, precis may be about to be found slow: what comes until then would wait for it too, at 200 requests a second 50 of them.
func (c *compactor) resting() bool {
	now := c.now().UnixNano()
	if until := c.until.Load(); until != 0 {
		return now < until || !c.trying.CompareAndSwap(false, true)
	}
	since := c.asked.Load()
	if since != 0 && now-since > int64(c.wait/5) {
		return true
	}
	c.asked.CompareAndSwap(0, now)
	return false
}

// done notes how a request fared: where precis did not answer in time, and not because the client left, it is left alone.
func (c *compactor) done(client context.Context, err error) {
	var as asItCame
	switch err = refused(err); {
	case err == nil, errors.As(err, &as):
		c.until.Store(0)
	case client.Err() == nil:
		c.until.Store(c.now().Add(restFor).UnixNano())
	}
	c.trying.Store(false)
	c.asked.Store(0)
}

// asItCame is why a request is not compacted.
type asItCame struct{ reason string }

func (e asItCame) Error() string { return e.reason }

// unknownMember is the name of a member that is not known.
type unknownMember string

func (m unknownMember) Error() string { return asField + "; member=" + string(m) }
func (unknownMember) Unwrap() error   { return asItCame{asField} }

// longestMember is the longest name that a header and a log repeat.
const longestMember = 64

// plain reports whether a header and a log can repeat the name.
func (m unknownMember) plain() bool {
	return len(m) <= longestMember && !strings.ContainsFunc(string(m), func(r rune) bool { return r <= ' ' || r > '~' || r == ';' })
}

// compact replaces a request's messages by the prompt of its thread, and says what it did. own is precis's own answer, where the client
// asks for a compaction.
func (g *Gateway) compact(r *http.Request, x *exchange) (said string, own *made) {
	observe, blocks := strings.EqualFold(r.Header.Get(HeaderMode), ModeObserve), g.opts.Compactions && x.api == anthropicAPI
	if observe && !blocks {
		r.Body = &tee{r.Body, &x.request}
		return g.says(asMode), nil
	}
	body := g.taken(r, x)
	switch {
	case body == nil:
		return g.says(asSize), nil
	case observe:
		return g.says(asMode), nil
	}
	request := objectOf(body)
	var shorter []byte
	var what string
	var err error
	if g.opts.Compactions && x.wantsCompaction(request) {
		own, err = g.compaction(r.Context(), x, request)
	} else {
		shorter, what, err = g.shorter(r.Context(), x, body, request)
	}
	var as asItCame
	switch err = refused(err); {
	case errors.As(err, &as):
		said = g.says(as.reason)
		var member unknownMember
		if errors.As(err, &member) && member.plain() {
			g.quiet.unknown(g.log, x.api.name, string(member))
			said += "; member=" + string(member)
		}
		return said, nil
	case r.Context().Err() != nil: // the client has left
		return g.says(asBehind), nil
	case err != nil:
		g.quiet.warn(g.log, "compact", err)
		return g.says(asBehind), nil
	case own != nil:
		g.metrics.compacted.WithLabelValues("answered").Inc()
		return fmt.Sprintf("answered; bytes=%d; sent=%d", len(body), len(own.body)), own
	}
	replaceBody(r, shorter)
	g.metrics.compacted.WithLabelValues("yes").Inc()
	return fmt.Sprintf("yes; %s; bytes=%d; sent=%d", what, len(body), len(shorter)), nil
}

func replaceBody(r *http.Request, body []byte) {
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = int64(len(body))
	r.Header.Set("Content-Length", fmt.Sprint(len(body)))
}

func (g *Gateway) says(reason string) string {
	g.metrics.compacted.WithLabelValues(reason).Inc()
	return "no; reason=" + reason
}

// take reads a body into the copy. body is nil where there is no room, or the client leaves; rest has all of it either way.
func (x *exchange) take(in io.ReadCloser) (body []byte, rest io.ReadCloser) {
	type both struct {
		io.Reader
		io.Closer
	}
	b := make([]byte, bufferBytes)
	for {
		n, err := in.Read(b)
		before := x.request.data
		x.request.write(b[:n])
		switch {
		case x.request.lost != "":
			return nil, both{io.MultiReader(bytes.NewReader(before), bytes.NewReader(b[:n]), broken{in, err}), in}
		case err == io.EOF:
			x.request.whole = true
			if x.request.data == nil {
				return []byte{}, in
			}
			return x.request.data, both{bytes.NewReader(x.request.data), in}
		case err != nil:
			return nil, both{io.MultiReader(bytes.NewReader(x.request.data), broken{in, err}), in}
		}
	}
}

// taken takes a request's body, in which precis's own compactions are texts; nil where there is no room, or the client leaves. The request has it all
// either way.
func (g *Gateway) taken(r *http.Request, x *exchange) []byte {
	body, rest := x.take(r.Body)
	r.Body = rest
	if body != nil && g.opts.Compactions && x.api == anthropicAPI {
		if with, changed := restored(body); changed {
			body, x.request.data = with, with
			replaceBody(r, body)
		}
	}
	return body
}

// broken goes on with a body, or with the error that it ended with.
type broken struct {
	io.Reader
	err error
}

func (b broken) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	return b.Reader.Read(p)
}

// shorter returns the request with its thread's prompt, and what is in it. Its error is asItCame where precis has answered.
func (g *Gateway) shorter(caller context.Context, x *exchange, body []byte, request object) (shorter []byte, what string, err error) {
	c, err := g.compactable(x, request)
	if err != nil {
		return nil, "", err
	}
	thread := c.threadOf(g.continued)
	switch {
	case thread == "":
		return nil, "", asItCame{asNew}
	case g.compactor.resting():
		return nil, "", asItCame{asBehind}
	}
	defer func() { g.compactor.done(caller, err) }()
	identify(key{}, c.messages)
	ctx, cancel := context.WithTimeout(caller, g.compactor.wait)
	defer cancel()
	seq, err := g.store(ctx, thread, x.agent, c.messages)
	if err != nil {
		return nil, "", err
	}
	reply, err := g.compactor.client.Context(ctx, thread, client.ContextRequest{Format: x.api.format, MinEventSeq: seq, Explain: true})
	if err != nil {
		return nil, "", err
	}
	if len(reply.SummaryIDs) == 0 {
		return nil, "", asItCame{asWhole}
	}
	list, _, err := spliced(c.messages, reply)
	if err != nil {
		return nil, "", err
	}
	shorter, err = replaceMember(body, x.api.list, asList(list))
	if err != nil {
		return nil, "", asItCame{asShape}
	}
	if len(shorter) >= len(body) { // the client has cleared more than summaries would
		return nil, "", asItCame{asWhole}
	}
	what = fmt.Sprintf("summaries=%d", len(reply.SummaryIDs))
	if x.runs {
		with, added := withOriginal(x.api, shorter, request, thread)
		if added {
			return with, what + "; tool=" + originalTool, nil
		}
	}
	return shorter, what, nil
}

// compactable reads a request that nothing is in doubt about.
func (g *Gateway) compactable(x *exchange, request object) (*conversation, error) {
	switch {
	case x.bad != nil:
		return nil, asItCame{asThread}
	case x.requestCoding != "":
		return nil, asItCame{asCoding}
	}
	if request == nil {
		return nil, asItCame{asShape}
	}
	if err := g.knows(x, request); err != nil {
		return nil, err
	}
	if request[x.api.list].Kind() != jsontext.KindBeginArray {
		return nil, asItCame{asShape}
	}
	c, err := x.api.of(g.reader, request)
	if err != nil {
		return nil, asItCame{asShape}
	}
	if c.compacted() {
		return nil, asItCame{asProvider}
	}
	x.names(c)
	return c, nil
}

// knows checks that each member of a request is known.
func (g *Gateway) knows(x *exchange, request object) error {
	for name := range request {
		switch {
		case !request.has(name), slices.Contains(x.api.known, name):
		case name == "previous_response_id", name == "conversation", name == "thread": // the last is Anthropic's
			return asItCame{asKept}
		case g.opts.Compactions && x.wantsCompaction(request): // only precis reads it
			if name == "compaction" && strings.TrimSpace(objectOf(request[name]).text("instructions")) != "" {
				return unknownMember(name)
			}
		case name == "context_management" && g.edited(x.api, request[name]):
		default:
			return unknownMember(name)
		}
	}
	return nil
}

// store publishes messages and returns the sequence of the last when all of them are stored. The worker does it, so that what earlier
// exchanges of the conversation said is published before.
func (g *Gateway) store(ctx context.Context, thread, agent string, list []*message) (seq uint64, err error) {
	type sent struct {
		receipts []*events.Receipt
		err      error
	}
	done := make(chan sent, 1)
	reason := g.enqueue(func() {
		var s sent
		for _, m := range list {
			r, err := g.send(thread, agent, m)
			if err != nil {
				s.err = err
				break
			}
			if r != nil {
				s.receipts = append(s.receipts, r)
			}
		}
		done <- s
	})
	if reason != "" {
		return 0, errors.New(reason)
	}
	select {
	case s := <-done:
		if s.err != nil {
			return 0, s.err
		}
		for _, r := range s.receipts {
			at, err := r.Wait(ctx)
			if err != nil {
				return 0, err
			}
			seq = max(seq, at)
		}
		return seq, nil
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}
