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

	"github.com/go-json-experiment/json/jsontext"

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
	asPath     = "path"               // it asks for an operation where no provider has it: a wrong base URL
)

// Outcomes of requests that are compacted: with their own prompt, or with one of an earlier request and the newer messages whole behind it.
const (
	outcomeFresh    = "yes"
	outcomePrepared = "prepared"
)

// shortened is a request with its thread's prompt.
type shortened struct {
	body          []jsontext.Value // in pieces, most of them of the request
	outcome, what string           // what: what is in it
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
	request := placedIn(body)
	var short *shortened
	var err error
	if g.opts.Compactions && x.wantsCompaction(request.object) {
		own, err = g.compaction(r.Context(), x, request.object)
	} else {
		short, err = g.shorter(r.Context(), x, request)
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
	sent := x.replaceBody(r, short.body)
	g.metrics.compacted.WithLabelValues(short.outcome).Inc()
	return fmt.Sprintf("yes; %s; bytes=%d; sent=%d", short.what, len(body), sent), nil
}

// replaceBody has a request sent with a body in pieces, and returns its length.
func (x *exchange) replaceBody(r *http.Request, pieces []jsontext.Value) (length int) {
	length = lengthOf(pieces)
	r.Body = x.request.body(pieces...)
	r.ContentLength = int64(length)
	r.Header.Set("Content-Length", fmt.Sprint(length))
	return length
}

func lengthOf(pieces []jsontext.Value) (n int) {
	for _, p := range pieces {
		n += len(p)
	}
	return n
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
	b := lent.Get()
	for {
		n, err := in.Read(b)
		before := x.request.data
		x.request.write(b[:n])
		switch {
		case x.request.lost != "":
			return nil, both{io.MultiReader(bytes.NewReader(before), bytes.NewReader(b[:n]), broken{in, err}), in}
		case err == io.EOF:
			lent.Put(b) // where there is no copy it is still read from
			x.request.whole = true
			if x.request.data == nil {
				return []byte{}, in
			}
			return x.request.data, x.request.body(x.request.data)
		case err != nil:
			begun := x.request.body(x.request.data)
			return nil, both{io.MultiReader(begun, broken{in, err}), begun}
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
			x.replaceBody(r, []jsontext.Value{body})
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

// shorter returns the request with its thread's prompt. Its error is asItCame where precis has answered.
func (g *Gateway) shorter(caller context.Context, x *exchange, request placed) (*shortened, error) {
	c, err := g.compactable(x, request.object)
	if err != nil {
		return nil, err
	}
	x.said = c
	thread := c.threadOf(g.continued)
	if thread == "" {
		return nil, asItCame{asNew}
	}
	c.identify(key{})
	reply, fresh, err := g.prompt(caller, x, thread, c.messages)
	if err != nil {
		return nil, err
	}
	short := &shortened{outcome: outcomeFresh, what: fmt.Sprintf("summaries=%d", len(reply.SummaryIDs))}
	s, err := spliced(c.messages, reply, c.scratch)
	switch {
	case !fresh && (err != nil || len(reply.SummaryIDs) == 0):
		return nil, asItCame{asBehind} // a fresh one may have more
	case len(reply.SummaryIDs) == 0:
		return nil, asItCame{asWhole}
	case err != nil:
		return nil, err
	case fresh && s.newer > 0:
		return nil, asItCame{asDiverged}
	case !fresh:
		short.outcome, short.what = outcomePrepared, fmt.Sprintf("prepared; newer=%d; %s", s.newer, short.what)
	}
	list := listPieces(c.scratch, s.list)
	if lengthOf(list) >= len(request.object[x.api.list]) { // the client has cleared more than summaries would
		return nil, asItCame{asWhole}
	}
	members := []member{{x.api.list, list}}
	if x.runs {
		if tools := withOriginal(x.api, request.object, thread); tools != nil {
			members, short.what = append(members, member{"tools", tools}), short.what+"; tool="+originalTool
		}
	}
	if short.body, err = request.replaced(c.scratch, members...); err != nil {
		return nil, asItCame{asShape}
	}
	return short, nil
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
	c, err := x.api.of(x.reader(g.reader), request)
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
// exchanges of the conversation said is published before, and releases the request's copy then, which the messages are parts of.
func (g *Gateway) store(ctx context.Context, x *exchange, thread string, list []*message) (seq uint64, err error) {
	type sent struct {
		receipts []*events.Receipt
		err      error
	}
	done := make(chan sent, 1)
	reason := g.enqueue(func() {
		defer x.request.release()
		var s sent
		for _, m := range list {
			r, err := g.send(thread, x.agent, m)
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
		x.request.release()
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
