package brokertest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// beat is the heartbeat of every pull request behind a Lag, whatever the client requests: the seconds that clients
// request are too long for a test.
const beat = 20 * time.Millisecond

// Bounds of what a follower draws.
const (
	mostHeld  = 20 // messages that it holds at a time
	mostBeats = 3  // heartbeats until it catches up; readers drop a consumer after two
	mostEmpty = 2  // consecutive consumers of a stream without a delivery; readers give up after six
)

// Lag is a relay before a single server. To clients, each consumer seems to live on a follower that lags behind the
// stream's leader: it has fewer messages pending than the stream holds, rests after them, and delivers the others later,
// after heartbeats or when the leader was asked. Some direct gets are answered by such a follower, which does not hold
// every message. What the leader answers (STREAM.INFO, STREAM.MSG.GET) is not changed.
//
// A seed decides how far each follower lags, and for how long; which frames that concerns also depends on the client.
type Lag struct {
	relay *relay

	mu    sync.Mutex
	rng   *rand.Rand
	rests int
}

// StartLag puts a Lag before the server at an address, until the test ends.
func StartLag(t testing.TB, server string, seed uint64) *Lag {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	l := &Lag{rng: rand.New(rand.NewPCG(seed, 0))}
	l.relay = newRelay(t, func() string { return u.Host }, l.edits)
	t.Cleanup(l.relay.close)
	return l
}

// URL is where clients reach the server through the Lag.
func (l *Lag) URL() string { return "nats://" + l.relay.addr() }

// Rests counts how often a follower rested: it had delivered all it held.
func (l *Lag) Rests() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.rests
}

func (l *Lag) edits() edits {
	c := &lagged{lag: l, requests: map[string]*request{}, followers: map[string]*follower{}, empty: map[string]int{}}
	locked := func(edit func(frame) []frame) func(frame) []frame {
		return func(f frame) []frame {
			l.mu.Lock()
			defer l.mu.Unlock()
			return edit(f)
		}
	}
	return edits{toServer: locked(c.toServer), toClient: locked(c.toClient)}
}

// lagged is one connection.
type lagged struct {
	lag       *Lag
	requests  map[string]*request  // by the subject of their answers
	followers map[string]*follower // by the consumer's name
	empty     map[string]int       // consumers in a row that delivered nothing, by stream
}

// request is one that the client has sent.
type request struct {
	verb, stream, consumer string
	left                   int  // messages of a direct get that the follower holds; negative: all
	sent, ended            bool // a message was sent; the end was sent
}

// follower is the replica that a consumer lives on.
type follower struct {
	stream  string
	left    int     // messages that it holds and has not delivered; negative: it does not lag
	resting bool    // it has delivered all it holds
	held    []frame // what the server has delivered since
	beats   int     // heartbeats until it catches up
	answers bool    // it also catches up when the leader answers a client
}

const (
	verbCreate = "CONSUMER.CREATE"
	verbDelete = "CONSUMER.DELETE"
	verbPull   = "CONSUMER.MSG.NEXT"
	verbGet    = "STREAM.MSG.GET"
	verbDirect = "DIRECT.GET"
)

// apiCall reads the subject of a request to JetStream.
func apiCall(subject string) *request {
	call, found := strings.CutPrefix(subject, "$JS.API.")
	if !found {
		return nil
	}
	for _, verb := range []string{verbCreate, verbDelete, verbPull, verbGet, verbDirect} {
		if names, is := strings.CutPrefix(call, verb+"."); is {
			stream, rest, _ := strings.Cut(names, ".")
			consumer, _, _ := strings.Cut(rest, ".")
			return &request{verb: verb, stream: stream, consumer: consumer, left: -1}
		}
	}
	return nil
}

var (
	heartbeat  = regexp.MustCompile(`"idle_heartbeat":\d+`)
	numPending = regexp.MustCompile(`"num_pending":(\d+)`)
)

// toServer notes requests, and shortens the heartbeats that they ask for.
func (c *lagged) toServer(f frame) []frame {
	words := f.fields()
	if len(words) < 3 || words[0] != "PUB" && words[0] != "HPUB" {
		return []frame{f}
	}
	r := apiCall(words[1])
	if r == nil {
		return []frame{f}
	}
	switch r.verb {
	case verbDelete:
		c.forget(r.consumer)
		return []frame{f}
	case verbPull:
		f = f.sized(heartbeat.ReplaceAll(f.content(), fmt.Appendf(nil, `"idle_heartbeat":%d`, beat.Nanoseconds())))
	case verbDirect:
		if c.lag.rng.IntN(2) == 0 {
			r.left = c.lag.rng.IntN(3)
		}
	}
	c.requests[words[2]] = r // the subject of the reply
	return []frame{f}
}

func (c *lagged) forget(consumer string) {
	delete(c.followers, consumer)
	for reply, r := range c.requests {
		if r.consumer == consumer {
			delete(c.requests, reply)
		}
	}
}

// toClient makes deliveries and answers look like a follower's.
func (c *lagged) toClient(f frame) []frame {
	words := f.fields()
	if len(words) < 4 || words[0] != "MSG" && words[0] != "HMSG" {
		return []frame{f}
	}
	if a := strings.Split(words[3], "."); len(a) > 8 && a[0] == "$JS" && a[1] == "ACK" {
		consumer := a[3]
		if len(a) > 9 { // with a domain and an account
			consumer = a[5]
		}
		if w := c.followers[consumer]; w != nil {
			return c.deliver(w, f)
		}
		return []frame{f}
	}
	r := c.requests[words[1]]
	if r == nil {
		return []frame{f}
	}
	switch r.verb {
	case verbCreate:
		delete(c.requests, words[1])
		return c.created(r, f)
	case verbPull:
		if w := c.followers[r.consumer]; w != nil {
			return c.status(w, f)
		}
	case verbGet:
		delete(c.requests, words[1])
		return c.answered(r.stream, f)
	case verbDirect:
		return direct(r, f, words)
	}
	return []frame{f}
}

// created places a new consumer on a follower.
func (c *lagged) created(r *request, f frame) []frame {
	n := numPending.FindSubmatch(f.body)
	if n == nil { // an error
		return []frame{f}
	}
	w := &follower{stream: r.stream, left: -1}
	if c.empty[r.stream]++; c.empty[r.stream] <= mostEmpty {
		w.left = c.lag.holds() - 1
	}
	c.followers[r.consumer] = w
	if w.left < 0 {
		return []frame{f}
	}
	all, _ := strconv.Atoi(string(n[1]))
	if w.left == 0 {
		c.rest(w)
	}
	return []frame{f.sized(numPending.ReplaceAll(f.content(), fmt.Appendf(nil, `"num_pending":%d`, min(all, w.left))))}
}

// holds draws how many messages a follower has received; zero: it does not lag any more.
func (l *Lag) holds() int {
	if l.rng.IntN(4) == 0 {
		return 0
	}
	return 1 + l.rng.IntN(mostHeld)
}

func (c *lagged) rest(w *follower) {
	w.resting, w.beats, w.answers = true, 1+c.lag.rng.IntN(mostBeats), c.lag.rng.IntN(3) > 0
	c.lag.rests++
}

// deliver passes a message on as far as the follower holds it.
func (c *lagged) deliver(w *follower, f frame) []frame {
	if w.resting {
		w.held = append(w.held, f)
		return nil
	}
	c.empty[w.stream] = 0
	if w.left < 0 {
		return []frame{f}
	}
	if w.left--; w.left == 0 {
		c.rest(w)
	}
	return []frame{f.withPending(w.left)}
}

// withPending is a delivery whose consumer has at most so many messages behind it.
func (f frame) withPending(most int) frame {
	words := f.fields()
	a := strings.Split(words[3], ".")
	at := len(a) - 1
	if at > 9 { // with a domain, an account, and perhaps a token at the end
		at = 10
	}
	if n, err := strconv.Atoi(a[at]); err == nil {
		a[at] = strconv.Itoa(min(n, most))
	}
	words[3] = strings.Join(a, ".")
	return frame{line: []byte(strings.Join(words, " ") + crlf), body: f.body}
}

// status passes on a status message about a pull request: a heartbeat at once, any other after the messages before it.
func (c *lagged) status(w *follower, f frame) []frame {
	beats := bytes.HasPrefix(f.body, []byte("NATS/1.0 100"))
	switch {
	case !w.resting:
		return []frame{f}
	case !beats:
		w.held = append(w.held, f)
		return nil
	}
	if w.beats--; w.beats > 0 {
		return []frame{f}
	}
	return append([]frame{f}, c.catchUp(w)...)
}

// answered passes on the leader's answer, before or after what the followers that have caught up deliver.
func (c *lagged) answered(stream string, f frame) []frame {
	var caught []frame
	for _, w := range c.followers {
		if w.stream == stream && w.resting && w.answers {
			caught = append(caught, c.catchUp(w)...)
		}
	}
	if c.lag.rng.IntN(2) == 0 {
		return append(caught, f)
	}
	return append([]frame{f}, caught...)
}

// catchUp delivers what was held back, as far as the follower holds it now.
func (c *lagged) catchUp(w *follower) (out []frame) {
	held := w.held
	w.resting, w.held, w.left = false, nil, c.lag.holds()
	if w.left == 0 {
		w.left = -1
	}
	for _, f := range held {
		if bytes.Contains(f.line, []byte(" $JS.ACK.")) {
			out = append(out, c.deliver(w, f)...)
		} else {
			out = append(out, c.status(w, f)...)
		}
	}
	return out
}

// direct passes on as much of the answer to a direct get, which may be several messages, as a follower holds.
func direct(r *request, f frame, words []string) []frame {
	if r.left != 0 {
		r.left, r.sent = r.left-1, true
		return []frame{f}
	}
	if r.ended {
		return nil
	}
	r.ended = true
	status := "NATS/1.0 404 Message Not Found"
	if r.sent {
		status = "NATS/1.0 204 EOB"
	}
	status += crlf + crlf
	line := fmt.Sprintf("HMSG %s %s %d %d"+crlf, words[1], words[2], len(status), len(status))
	return []frame{{line: []byte(line), body: []byte(status + crlf)}}
}
