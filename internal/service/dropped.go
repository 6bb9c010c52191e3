package service

import (
	"precis/api"
	"precis/internal/thread"
	"precis/summarize/prompt"
)

// namedAtMost is how many dropped messages are named one by one. Ids have at most 256 bytes, so that the list takes a
// quarter of the smallest max_payload that servers come with, 1 MiB.
const namedAtMost = 1000

// listing makes a list of dropped messages out of a thread's messages, given in order.
type listing struct {
	api.Dropped
	open bool // the last message was a dropped one
}

func (l *listing) drop(id string) {
	if l.DroppedCount++; l.DroppedCount <= namedAtMost {
		l.DroppedMessageIDs = append(l.DroppedMessageIDs, id)
	}
	if !l.open {
		l.DroppedRanges = append(l.DroppedRanges, api.DroppedRange{First: id})
		l.open = true
	}
	last := &l.DroppedRanges[len(l.DroppedRanges)-1]
	last.Last = id
	last.Count++
}

// keep passes a message that is not dropped.
func (l *listing) keep() { l.open = false }

func (l *listing) list() api.Dropped {
	if l.DroppedCount > namedAtMost {
		l.DroppedMessageIDs = nil
	} else {
		l.DroppedMessageIDs, l.DroppedRanges = orEmpty(l.DroppedMessageIDs), nil
	}
	return l.Dropped
}

// dropped are the messages that a prompt has no room for: those that it names, and, where its compaction was left out,
// those that this stands for.
func (r *reading) dropped(messages []prompt.Message, p prompt.Prompt, c *thread.Compaction) (api.Dropped, error) {
	gone := make(map[string]bool, len(p.DroppedMessageIDs))
	for _, id := range p.DroppedMessageIDs {
		gone[id] = true
	}
	l := &listing{}
	under, next := c.To(), uint64(1) // what the compaction stands for ends there; the next place to look at
	for _, m := range messages {
		if err := r.under(l, next, min(m.Ordinal, under+1), p.SummaryLeftOut); err != nil {
			return api.Dropped{}, err
		}
		if next = m.Ordinal + 1; gone[m.MessageID] {
			l.drop(m.MessageID)
		} else {
			l.keep()
		}
	}
	err := r.under(l, next, under+1, p.SummaryLeftOut)
	return l.list(), err
}

// underAtOnce is how many rows of messages under a compaction are read at once.
const underAtOnce = 1000

// under passes the messages that a compaction stands for, from a place in the thread up to before another one.
func (r *reading) under(l *listing, from, to uint64, leftOut bool) error {
	if from >= to {
		return nil
	}
	if !leftOut {
		l.keep()
		return nil
	}
	for ; from < to; from += underAtOnce {
		rows, err := r.view.Messages(r.header.Thread, from, min(to, from+underAtOnce))
		if err != nil {
			return err
		}
		for _, m := range rows {
			if !m.Deleted {
				l.drop(m.ID)
			}
		}
	}
	return nil
}
