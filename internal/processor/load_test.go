package processor_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"precis/internal/broker"
)

// load makes up what agents publish: messages and tool outputs, edits and deletions, some twice, some
// before their message, some that can't be accepted.
type load struct {
	rng     *rand.Rand
	threads int
	next    int
	sent    []sent
	forks   bool     // threads are forked too
	forked  []string // these
}

type sent struct{ subject, body string }

func newLoad(rng *rand.Rand) *load { return &load{rng: rng, threads: 4} }

// publish sends n events in batches of random sizes.
func (l *load) publish(t *testing.T, nc *nats.Conn, n int) {
	t.Helper()
	pub, err := broker.NewPublisher(nc, broker.PublisherConfig{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = pub.Close() }()
	for n > 0 {
		var msgs []*nats.Msg
		for range min(n, 1+l.rng.IntN(8)) {
			s := l.event()
			msgs = append(msgs, &nats.Msg{Subject: s.subject, Data: []byte(s.body)})
		}
		n -= len(msgs)
		for _, ack := range pub.PublishBatch(within(t), msgs) {
			if ack.Err != nil {
				t.Fatal(ack.Err)
			}
		}
	}
}

func (l *load) event() sent {
	if l.forks {
		switch n := l.rng.IntN(24); {
		case n < 2:
			return l.fork()
		case n < 9 && len(l.forked) > 0:
			return l.inFork()
		}
	}
	var s sent
	switch n := l.rng.IntN(20); {
	case n < 6:
		s = l.message()
	case n < 11:
		s = l.tool()
	case n < 15:
		s = l.edit(l.known())
	case n < 16:
		s = l.edit(l.next + l.rng.IntN(5)) // perhaps before its message
	case n < 18 && len(l.sent) > 0:
		return l.sent[l.rng.IntN(len(l.sent))] // the same again
	case n < 19:
		return sent{"tool.result." + l.thread(l.next), `{"message_id":"broken"`}
	default:
		return sent{"tool.result.=61", `{"message_id":"x","content":""}`}
	}
	l.sent = append(l.sent, s)
	return s
}

func (l *load) known() int { return l.rng.IntN(l.next + 1) }

// thread spreads messages over threads by their number, so that an edit finds its own.
func (l *load) thread(message int) string { return fmt.Sprintf("t%d", message%l.threads) }

func (l *load) message() sent {
	l.next++
	role := []string{"user", "assistant"}[l.next/l.threads%2] // in each thread both
	usage := "null"
	if role == "assistant" && l.next%3 > 0 {
		in := l.next * 997 % 4000
		usage = fmt.Sprintf(`{"input_tokens":%d,"output_tokens":%d,"cached_input_tokens":%d}`, in, l.next%50, in/2)
	}
	return sent{"thread.message." + l.thread(l.next), fmt.Sprintf(`{"message_id":"m%d","role":%q,"content":"note %d","usage":%s,"parent_thread_id":%q}`, l.next, role, l.rng.IntN(1000), usage, l.thread(l.next+1))}
}

func (l *load) tool() sent {
	l.next++
	return sent{"tool.result." + l.thread(l.next), fmt.Sprintf(`{"message_id":"m%d","tool_name":"bash","arguments":{"command":"make"},"content":%q}`, l.next, l.output())}
}

// output is large often enough, and sometimes just at the threshold.
func (l *load) output() string {
	var b strings.Builder
	for i := range l.rng.IntN(60) {
		fmt.Fprintf(&b, "step %d: compiled pkg/part%d.go in %d ms\n", i, l.rng.IntN(99), l.rng.IntN(9999))
	}
	if l.rng.IntN(8) == 0 {
		return strings.Repeat("x", 1499+l.rng.IntN(3))
	}
	return b.String()
}

// edit is of some message, or of one of a few, so that what was deleted is restored and what was pinned let go.
func (l *load) edit(message int) sent {
	if l.rng.IntN(3) == 0 {
		message %= 12
	}
	subject := "message.edited." + l.thread(message)
	switch l.rng.IntN(8) {
	case 7:
		if l.rng.IntN(8) > 0 { // seldom far back
			message = max(l.next-l.rng.IntN(8*l.threads), 0)
		}
		return sent{"message.edited." + l.thread(message), fmt.Sprintf(`{"message_id":"m%d","rewind":true,"edit_id":"w%d"}`, message, l.rng.IntN(1000))}
	case 5:
		return sent{subject, fmt.Sprintf(`{"message_id":"m%d","pinned":%t,"edit_id":"p%d"}`, message, l.rng.IntN(3) > 0, l.rng.IntN(1000))}
	case 6:
		message = max(l.next-l.rng.IntN(8), 0) // as a rewind deletes
		subject = "message.edited." + l.thread(message)
		return sent{subject, fmt.Sprintf(`{"message_id":"m%d","deleted":true,"edit_id":"r%d"}`, message, l.rng.IntN(1000))}
	case 0:
		return sent{subject, fmt.Sprintf(`{"message_id":"m%d","deleted":true,"edit_id":"d%d"}`, message, l.rng.IntN(1000))}
	case 1:
		return sent{subject, fmt.Sprintf(`{"message_id":"m%d","content":"short %d"}`, message, l.rng.IntN(3))}
	}
	return sent{subject, fmt.Sprintf(`{"message_id":"m%d","content":%q,"edit_id":"e%d"}`, message, l.output(), l.rng.IntN(1000))}
}

// fork forks a thread, or a fork, at any of its messages, one of another thread, or its end; sometimes one that has begun, or itself.
func (l *load) fork() sent {
	parent, name := l.thread(l.rng.IntN(l.threads+1)), fmt.Sprintf("f%d", len(l.forked))
	if n := len(l.forked); n > 0 {
		if l.rng.IntN(3) == 0 {
			parent = l.forked[l.rng.IntN(n)]
		}
		if l.rng.IntN(6) == 0 {
			name = l.forked[l.rng.IntN(n)]
		}
	}
	at := ""
	if l.rng.IntN(4) > 0 {
		at = fmt.Sprintf(`,"at_message_id":"m%d"`, max(l.next-l.rng.IntN(10*l.threads), 0))
	}
	if l.rng.IntN(12) == 0 {
		parent = "nowhere"
	}
	s := sent{"thread.forked." + name, fmt.Sprintf(`{"parent_thread_id":%q%s,"fork_id":"%s of %s"}`, parent, at, name, parent)}
	l.forked, l.sent = append(l.forked, name), append(l.sent, s)
	return s
}

// inFork is an event of a fork: a message of its own, or an edit of one that it may have inherited.
func (l *load) inFork() sent {
	name := l.forked[max(len(l.forked)-1-l.rng.IntN(3), 0)]
	var s sent
	switch l.rng.IntN(5) {
	case 0:
		s = l.edit(l.known())
	case 1:
		s = l.tool()
	case 2: // the id of what may be inherited, or not
		s = sent{"thread.message.", fmt.Sprintf(`{"message_id":"m%d","role":"user","content":"another course"}`, l.known())}
	default:
		s = l.message()
	}
	s.subject = s.subject[:strings.LastIndexByte(s.subject, '.')+1] + name
	l.sent = append(l.sent, s)
	return s
}

// Two runs of the same log differ in when its events arrived and so in every hash over that.
var clock = regexp.MustCompile(`"(created_at|event_at|invalidated_at|chain)":"[^"]*"`)

func timeless(data []byte) string { return clock.ReplaceAllString(string(data), `"$1":""`) }
