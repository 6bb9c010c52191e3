package gateway

import (
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/hashicorp/golang-lru/v2/simplelru"

	client "precis/api"
)

// prepared has the last prompt of each thread, for requests that do not wait for one of their own: such a request takes the summaries of the messages that the
// prompt accounts for, and has its newer ones whole behind them. What it would be otherwise is the request as it came, which holds all that the summaries
// were made from, so that an old prompt says nothing that the client does not say itself.
type prepared struct {
	room int              // bytes
	held func(change int) // notes what it holds

	mu    sync.Mutex
	bytes int
	list  *simplelru.LRU[string, *preparedPrompt]
}

// preparedPrompt is what precis said last of a thread.
type preparedPrompt struct {
	asked uint64               // a later one replaces it
	reply *client.ContextReply // nil: precis has no prompt
	bytes int
}

const (
	preparedBytes   = 64 << 20
	preparedThreads = 1 << 16
)

func newPrepared(room int, held func(change int)) *prepared {
	p := &prepared{room: room, held: held}
	var err error
	p.list, err = simplelru.NewLRU(preparedThreads, func(_ string, q *preparedPrompt) { p.count(-q.bytes) })
	if err != nil {
		panic(err) // only a size below 1 is an error
	}
	return p
}

func (p *prepared) count(change int) {
	p.bytes += change
	p.held(change)
}

// of returns a thread's prompt; there: precis has said something of the thread, if only that it has none.
func (p *prepared) of(thread string) (reply *client.ContextReply, there bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	q, there := p.list.Get(thread)
	if !there {
		return nil, false
	}
	return q.reply, true
}

// has reports whether precis has said anything of a thread.
func (p *prepared) has(thread string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.list.Contains(thread)
}

// keep takes what precis says of a thread, nil where it has no prompt, unless that was asked for before what is kept.
func (p *prepared) keep(thread string, asked uint64, reply *client.ContextReply) {
	q := &preparedPrompt{asked: asked, bytes: len(thread) + preparedOverhead}
	if reply != nil {
		var size int
		q.reply, size = slim(reply)
		q.bytes += size
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if old, there := p.list.Peek(thread); there {
		if old.asked > asked {
			return
		}
		p.list.Remove(thread)
	}
	if q.bytes > p.room/2 { // it would leave no room for others
		return
	}
	p.count(q.bytes)
	p.list.Add(thread, q)
	for p.bytes > p.room {
		p.list.RemoveOldest()
	}
}

// Rough sizes of what the runtime adds.
const (
	preparedOverhead = 512
	idOverhead       = 32
)

// slim is what spliced reads of a prompt, and about how much memory it takes. Messages that stand whole are left out: the client sends them.
func slim(p *client.ContextReply) (reply *client.ContextReply, bytes int) {
	ids := func(lists ...[]string) {
		for _, list := range lists {
			bytes += idOverhead
			for _, id := range list {
				bytes += len(id) + idOverhead
			}
		}
	}
	messages := listOf(p.Messages)
	for i := range messages {
		if i < len(p.Sources) && len(p.Sources[i].SummaryIDs) == 0 && len(p.Sources[i].MessageIDs) > 0 {
			messages[i] = jsontext.Value("null")
		}
	}
	reply = &client.ContextReply{
		Messages: asList(messages), SummaryIDs: p.SummaryIDs, Dropped: client.Dropped{DroppedCount: p.DroppedCount}, WaitingMessageIDs: p.WaitingMessageIDs,
		OmittedParts: p.OmittedParts, Sources: p.Sources, SystemSource: p.SystemSource,
	}
	bytes += len(reply.Messages)
	ids(p.SummaryIDs, p.WaitingMessageIDs)
	for _, s := range p.Sources {
		ids(s.MessageIDs, s.SummaryIDs)
	}
	for _, o := range p.OmittedParts {
		ids([]string{o.MessageID, o.Type, o.Reason})
	}
	if p.Explain == nil {
		return reply, bytes
	}
	reply.Explain = &client.Explanation{LeftOut: p.Explain.LeftOut}
	for _, s := range p.Explain.Summaries {
		reply.Explain.Summaries = append(reply.Explain.Summaries, client.ExplainedSummary{ID: s.ID, MessageIDs: s.MessageIDs})
		ids([]string{s.ID}, s.MessageIDs)
	}
	for _, l := range p.Explain.LeftOut {
		ids([]string{l.ID, l.Reason})
	}
	return reply, bytes
}
