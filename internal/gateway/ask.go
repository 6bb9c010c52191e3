package gateway

import (
	"context"
	"errors"
	"sync"
	"time"

	client "precis/api"
	"precis/events"
)

// compactor asks for prompts, once for each exchange: while its request waits, where it may, and behind its answer otherwise. A question goes on when its
// request has left without the answer: the conversation's next request has it then.
type compactor struct {
	client   *client.Client
	slow     *client.Client // for clients that wait for a compaction
	pace     *pace
	prepared *prepared
	news     *news
	now      func() time.Time
	wait     time.Duration // how long a request waits at most
	most     time.Duration // how long precis may take to be of use to a later request

	running context.Context //nolint:containedctx // it ends the questions when the gateway is closed
	stop    context.CancelFunc
	ended   sync.WaitGroup

	mu     sync.Mutex
	asked  uint64         // so many questions
	open   map[string]int // questions without an answer, by thread
	next   time.Time      // when the next one that no request waits for may go
	all    int            // of them
	older  time.Time      // until when precis is of a version that gives whole prompts only
	closed bool
}

const (
	// askFor is how long precis may take. With one that hangs, it is how long its coming back may stay unnoticed.
	askFor = 2 * time.Second
	// olderFor is how long a processor is not asked again for what its version does not know.
	olderFor = 10 * time.Minute
	// askedAtOnce bounds the questions without an answer.
	askedAtOnce = 64
)

func newCompactor(o Options) (*compactor, error) {
	c := &compactor{
		pace: newPace(o.Brief, o.Now), now: o.Now, wait: o.Wait, most: max(askFor, o.Wait), open: map[string]int{}, news: newNews(),
		prepared: newPrepared(preparedBytes, func(change int) { o.Metrics.prepared.Add(float64(change)) }),
	}
	var err error
	if c.client, err = client.NewClient(o.Conn, client.ClientOptions{Timeout: c.most}); err != nil {
		return nil, err
	}
	if c.slow, err = client.NewClient(o.Conn, client.ClientOptions{Timeout: compactionWait}); err != nil {
		return nil, err
	}
	c.running, c.stop = context.WithCancel(context.Background())
	return c, nil
}

// close ends the questions that are open.
func (c *compactor) close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.stop()
	c.ended.Wait()
}

// begin counts a question. A request that does not wait asks only where no other one has asked for its thread.
func (c *compactor) begin(thread string, waits bool) (asked uint64, may bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.all >= askedAtOnce || !waits && c.open[thread] > 0 {
		return 0, false
	}
	c.all++
	c.open[thread]++
	c.asked++
	c.ended.Add(1)
	return c.asked, true
}

func (c *compactor) end(thread string) {
	c.mu.Lock()
	c.all--
	if c.open[thread]--; c.open[thread] == 0 {
		delete(c.open, thread)
	}
	c.mu.Unlock()
	c.ended.Done()
}

// question is a request for a prompt. reply and err are set when it is done.
type question struct {
	done  chan struct{}
	reply *client.ContextReply
	err   error
}

// prompt returns the prompt of a thread as of these messages, or the last one before where the request may not wait or precis does not answer in time:
// fresh says which.
func (g *Gateway) prompt(caller context.Context, x *exchange, thread string, list []*message) (reply *client.ContextReply, fresh bool, err error) {
	c := g.compactor
	before, there := c.prepared.of(thread)
	turn := c.pace.turn(there, c.wait)
	var q *question
	if turn.most > 0 {
		q = g.ask(x, thread, list)
		x.asked = q != nil // refused, it is asked behind the answer
		err = c.await(caller, q, turn)
	}
	var as asItCame
	switch {
	case err == nil && turn.most > 0:
		return q.reply, true, nil
	case errors.As(refused(err), &as), caller.Err() != nil:
		return nil, false, err
	case before != nil:
		return before, false, nil
	case err != nil && !errors.Is(err, errLate):
		return nil, false, err
	}
	return nil, false, asItCame{asBehind}
}

// errLate is a question that is not answered in time.
var errLate = errors.New("precis takes too long")

// await waits for the answer, for as long as the turn lasts.
func (c *compactor) await(caller context.Context, q *question, t turn) error {
	defer c.pace.ends(t)
	if q == nil {
		c.pace.back(t, 0)
		return errLate
	}
	begun := c.now()
	timer := time.NewTimer(t.most)
	defer timer.Stop()
	select {
	case <-q.done:
		c.pace.back(t, c.now().Sub(begun))
		return q.err
	case <-caller.Done():
		c.pace.back(t, 0)
		return caller.Err()
	case <-timer.C:
		c.pace.takes(t.most)
		return errLate
	}
}

// ask publishes messages and asks for the prompt that has them, for a request that waits; nil where that may not be.
func (g *Gateway) ask(x *exchange, thread string, list []*message) *question {
	x.request.hold() // the request may be answered before its messages are stored
	q := g.compactor.ask(thread, x.api.format, true, func(running context.Context) (uint64, time.Time, error) {
		ctx, cancel := context.WithTimeout(running, g.compactor.most)
		defer cancel()
		begun := g.compactor.now()
		seq, err := g.store(ctx, x, thread, list)
		return seq, begun, err
	})
	if q == nil {
		x.request.release()
	}
	return q
}

// askBehind asks for the prompt of an exchange's end, for the conversation's next request: what the model has read by then stands as its summary there.
// Of an exchange with nothing that it would have a summary of, none is asked for.
func (g *Gateway) askBehind(x *exchange, thread string, messages []*message, sent []*events.Receipt) {
	if x.said == nil { // nothing of it can be compacted
		return
	}
	c := g.compactor
	c.news.add(thread, messages)
	if x.asked { // its request has
		return
	}
	pause := widerApart
	if c.prepared.has(thread) {
		worth, soon := c.news.worth(thread)
		if !worth { // the prompt that is there will do
			return
		}
		if soon {
			pause = apart
		}
	}
	q := c.askInTurn(thread, x.api.format, sent, pause)
	if q == nil {
		c.news.missed(thread)
	}
}

// askInTurn asks when messages are stored and the questions before have had their turns.
func (c *compactor) askInTurn(thread, format string, sent []*events.Receipt, pause time.Duration) *question {
	return c.ask(thread, format, false, func(running context.Context) (seq uint64, begun time.Time, err error) {
		begun = c.now()
		if seq, err = c.storedAll(running, sent); err == nil {
			err = c.queue(running, pause) // which takes precis no time, and ends: at most askedAtOnce questions wait
			begun = c.now()
		}
		return seq, begun, err
	})
}

// storedAll waits until messages are stored, and returns the last one's sequence.
func (c *compactor) storedAll(running context.Context, sent []*events.Receipt) (seq uint64, err error) {
	ctx, cancel := context.WithTimeout(running, c.most)
	defer cancel()
	for _, r := range sent {
		select {
		case <-r.Done(): // no request waits, so that it may linger
		case <-ctx.Done():
			return 0, ctx.Err()
		}
		at, err := r.Wait(ctx)
		if err != nil {
			return 0, err
		}
		seq = max(seq, at)
	}
	return seq, nil
}

// Times between two questions that no request waits for. Each takes a core a millisecond or more, and as many become due at once as a batch has
// conversations: requests would wait for all of them.
const (
	apart      = 4 * time.Millisecond  // behind a question of a conversation that has a prompt, which may lack a result's summary
	widerApart = 16 * time.Millisecond // behind any other: what it brings is not urgent
)

// queue waits for the turn of a question that no request waits for.
func (c *compactor) queue(ctx context.Context, apart time.Duration) error {
	c.mu.Lock()
	now := c.now()
	turn := now
	if c.next.After(now) {
		turn = c.next
	}
	c.next = turn.Add(apart)
	c.mu.Unlock()
	timer := time.NewTimer(turn.Sub(now))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ask asks for the prompt that has what stored waits for, which bounds that by itself, and says when it began to take precis time: from then on precis has
// as long as a question may take. nil where it may not be asked.
func (c *compactor) ask(thread, format string, waits bool, stored func(running context.Context) (seq uint64, begun time.Time, err error)) *question {
	asked, may := c.begin(thread, waits)
	if !may {
		return nil
	}
	q := &question{done: make(chan struct{})}
	go func() {
		defer c.end(thread)
		defer close(q.done)
		seq, begun, err := stored(c.running)
		if err == nil {
			ctx, cancel := context.WithTimeout(c.running, c.most-c.now().Sub(begun))
			defer cancel()
			q.reply, err = c.context(ctx, thread, client.ContextRequest{Format: format, MinEventSeq: seq, Explain: true})
		}
		q.err = err
		c.heard(thread, asked, c.now().Sub(begun), q)
	}()
	return q
}

// context asks for a prompt without the messages that the request has. A processor of a version that can't leave them out refuses that: it is asked for all
// of them then, and for some time to come.
func (c *compactor) context(ctx context.Context, thread string, request client.ContextRequest) (*client.ContextReply, error) {
	c.mu.Lock()
	request.OnlySummaries = !c.now().Before(c.older)
	c.mu.Unlock()
	reply, err := c.client.Context(ctx, thread, request)
	if !request.OnlySummaries || !errors.Is(err, client.ErrBadRequest) {
		return reply, err
	}
	request.OnlySummaries = false
	reply, err = c.client.Context(ctx, thread, request)
	if err == nil || errors.Is(err, client.ErrNotFound) || errors.Is(err, client.ErrTooLarge) { // that one was understood
		c.mu.Lock()
		c.older = c.now().Add(olderFor)
		c.mu.Unlock()
	}
	return reply, err
}

// heard notes what became of a question.
func (c *compactor) heard(thread string, asked uint64, took time.Duration, q *question) {
	var as asItCame
	switch {
	case q.err == nil:
		c.prepared.keep(thread, asked, q.reply)
	case errors.As(refused(q.err), &as):
		c.prepared.keep(thread, asked, nil)
	case c.running.Err() != nil:
		return
	case errors.Is(q.err, context.DeadlineExceeded):
		c.news.missed(thread)
		c.pace.silent()
		c.pace.took(took)
		return
	default: // precis is not there, which is said at once
		c.news.missed(thread)
		return
	}
	c.pace.answered()
	c.pace.took(took)
}

// made notes how a compaction fared, which waits for longer than a question may take.
func (c *compactor) made(caller context.Context, err error) {
	var as asItCame
	switch {
	case err == nil, errors.As(refused(err), &as):
		c.pace.answered()
	case caller.Err() == nil:
		c.pace.silent()
	}
}
