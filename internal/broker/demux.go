package broker

import (
	"context"
	"strings"
)

// demux finds the lane of a stored subject. Partition filters ("3.>") are looked
// up by their first token; other filters are compared one by one.
type demux struct {
	byFirst  map[string]*lane
	patterns []pattern
}

type pattern struct {
	filter string
	lane   *lane
}

func newDemux(lanes []*lane) *demux {
	d := &demux{byFirst: make(map[string]*lane, len(lanes))}
	for _, l := range lanes {
		for _, f := range l.Filters {
			first, rest, _ := strings.Cut(f, ".")
			if rest == ">" && first != "*" && first != ">" {
				d.byFirst[first] = l
			} else {
				d.patterns = append(d.patterns, pattern{filter: f, lane: l})
			}
		}
	}
	return d
}

// laneOf returns nil if no lane matches the subject.
func (d *demux) laneOf(subject string) *lane {
	if first, _, more := strings.Cut(subject, "."); more {
		if l := d.byFirst[first]; l != nil {
			return l
		}
	}
	for _, p := range d.patterns {
		if subjectMatches(p.filter, subject) {
			return p.lane
		}
	}
	return nil
}

// subjectMatches reports whether filter matches subject by the server's rules. A
// stored subject may contain "*" and ">" as literal tokens.
func subjectMatches(filter, subject string) bool {
	for {
		f, restF, moreF := strings.Cut(filter, ".")
		if f == ">" && !moreF {
			return subject != ""
		}
		s, restS, moreS := strings.Cut(subject, ".")
		if f != "*" && f != s || moreF != moreS {
			return false
		}
		if !moreF {
			return true
		}
		filter, subject = restF, restS
	}
}

// Lane is one totally ordered sequence of a stream: a partition, or the strays.
type Lane struct {
	Name    string
	Filters []string // subjects as stored
}

// Lanes is the Subscriber's view of the store, which knows what is durable.
//
// For one lane all methods but List are called from that lane's goroutine, one
// after the other; different lanes call concurrently.
type Lanes interface {
	// List is called once, when consuming starts. Names are unique.
	List() []Lane
	// Position is the last stream sequence that is durable in the lane, and the mark that Flush passed with it; delivery
	// starts after it. 0: from the start.
	Position(lane string) (last uint64, by Mark, err error)
	// Flush ends a batch: all messages acked and turns run since the last Flush must become durable, in order and
	// atomically, together with last: the stream sequence up to which the lane is complete, and thus its next
	// Position. That is the lane's last acked message, except in a lane that was idle while 10,000 messages of
	// others passed: there it is further on, possibly without any ack. by is the mark of the last message of any lane
	// up to there: it identifies the stream that last is a sequence of. Flush is never called while a message is in
	// flight. An error is fatal: no lane delivers any more.
	Flush(ctx context.Context, lane string, last uint64, by Mark) error
	// Turns yields work to run in the lane's goroutine between two messages. It
	// is called once per lane; nil means none. A Flush follows at the next pause.
	Turns(lane string) <-chan func()
	// Reached is called once per lane, when everything that the stream held for it when
	// consuming started is flushed: up to last, whose mark is by.
	Reached(lane string, last uint64, by Mark)
}
