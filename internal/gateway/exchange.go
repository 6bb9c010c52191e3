package gateway

import (
	"net/http"
	"time"
)

// exchange is a request and its answer, as far as they are read.
type exchange struct {
	api     *api
	at      time.Time
	named   string // the thread that the client names
	session string
	agent   string
	runs    bool  // the client runs the tool for originals
	bad     error // what is wrong with the names

	said              *conversation // the request, where compacting has read it
	asked             bool          // the request has asked precis for its prompt
	request, response copied
	requestCoding     string
	status            int
	coding, media     string
}

// begin takes from a request what identifies its conversation.
func (g *Gateway) begin(a *api, r *http.Request) *exchange {
	x := &exchange{
		api: a, at: g.opts.Now(), session: sessionOf(r.Header), agent: r.Header.Get(HeaderAgent), requestCoding: r.Header.Get("Content-Encoding"),
		request:  copied{limit: g.opts.BodyBytes, hint: int(r.ContentLength), budget: g.budget},
		response: copied{limit: g.opts.BodyBytes, budget: g.budget},
	}
	x.named, x.bad = named(r.Header)
	x.runs = g.runsOriginal(r.Header)
	return x
}

// began takes from an answer's head what is needed to read the rest.
func (x *exchange) began(r *http.Response) {
	x.response.hint = int(r.ContentLength)
	x.status, x.coding, x.media = r.StatusCode, r.Header.Get("Content-Encoding"), r.Header.Get("Content-Type")
}

// reader reads its request, for as long as the copy lasts.
func (x *exchange) reader(r *reader) *reader {
	if x.request.scratch == nil {
		x.request.scratch = newScratch()
	}
	return r.into(x.request.scratch)
}

// seal ends its copies.
func (x *exchange) seal() {
	x.request.seal()
	x.response.seal()
}

func (x *exchange) release() {
	x.request.release()
	x.response.release()
}

// answered reports whether the provider took the request.
func (x *exchange) answered() bool { return x.status >= 200 && x.status < 300 }
