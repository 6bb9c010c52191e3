package state

import (
	"errors"
	"fmt"

	"precis/events"
	"precis/internal/thread"
	"precis/summarize/ledger"
)

// Problem is something in a store that can't be: a counter that its rows don't add up to, a row that
// another one needs, a row that does not decode.
type Problem struct {
	Partition int    `json:"partition"`
	Thread    string `json:"thread"`
	Check     string `json:"check"`
	Want      string `json:"want"`
	Got       string `json:"got"`
}

// Check reads everything in the store's partitions and reports what does not fit together. It returns
// an error only where it can't read on.
func (s *Store) Check(partitions int, report func(Problem)) error {
	for id := range partitions {
		c := checker{v: s.View(id), id: id, report: report}
		if err := c.run(); err != nil {
			return fmt.Errorf("check partition %d: %w", id, err)
		}
	}
	return nil
}

type checker struct {
	v      View
	id     int
	report func(Problem)
	name   string          // the thread that is checked
	waits  map[string]bool // keys of the places of summaries' records in the outbox
}

func (c *checker) run() error {
	if err := c.partition(); err != nil {
		return err
	}
	return c.v.Headers(func(h *thread.Header) (bool, error) {
		c.name = h.Thread
		if h.Thread == "" {
			return true, nil // the partition's own chain has no messages
		}
		return true, c.thread(h)
	})
}

func (c *checker) expect(check string, want, got any) {
	if want != got {
		c.report(Problem{Partition: c.id, Thread: c.name, Check: check, Want: fmt.Sprint(want), Got: fmt.Sprint(got)})
	}
}

// partition checks what belongs to no thread.
func (c *checker) partition() error {
	meta, err := c.v.Meta()
	if err != nil {
		return err
	}
	rows, err := c.v.Outbox()
	if err != nil {
		return err
	}
	c.waits = map[string]bool{}
	for _, row := range rows {
		if row.Type == events.SummaryCreated {
			c.waits[string(c.v.placeKey(row.Thread, row.ChainSeq))] = true
		}
		if row.Number > meta.NextOutgoing {
			c.expect("outbox row's number is given out", meta.NextOutgoing, row.Number)
		}
	}
	staged, err := c.count(c.v.key(kindStaged))
	if err != nil {
		return err
	}
	c.expect("staged records", meta.Staged, staged)
	summaries, err := c.count(c.v.key(kindSummary))
	if err != nil {
		return err
	}
	c.expect("rows of summaries", summaries, meta.Summaries)
	if err := c.ledgers(); err != nil {
		return err
	}
	return errors.Join(c.sources(), c.children())
}

// children checks that each child has the parent under which it is listed.
func (c *checker) children() error {
	prefix := c.v.key(kindChild)
	return c.v.scan(prefix, prefix, func(k, b []byte) (bool, error) {
		if err := noValue(b); err != nil {
			return false, err
		}
		parent, name, ok := cutPart(k[len(prefix):])
		if !ok {
			return false, fmt.Errorf("%w: key of a child", ErrDamaged)
		}
		h, err := c.v.Header(string(name))
		if err != nil {
			return false, err
		}
		c.name = string(name)
		c.expect("a child names its parent", true, h != nil && h.Parent == parent)
		return true, nil
	})
}

// ledgers checks that stored ledgers can be read. What they hold is compared with the log.
func (c *checker) ledgers() error {
	return c.v.Ledgers(func(name, id string, data []byte) (bool, error) {
		var l ledger.Ledger
		if err := l.UnmarshalBinary(data); err != nil {
			c.report(Problem{Partition: c.id, Thread: name, Check: "ledger of " + id, Want: "one that can be read", Got: err.Error()})
		}
		return true, nil
	})
}

// sources checks that the reverse index names active summaries alone.
func (c *checker) sources() error {
	prefix := c.v.key(kindSource)
	return c.v.scan(prefix, prefix, func(k, b []byte) (bool, error) {
		if err := noValue(b); err != nil {
			return false, err
		}
		name, rest, ok := cutPart(k[len(prefix):])
		if !ok {
			return false, fmt.Errorf("%w: key of a source", ErrDamaged)
		}
		_, id, ok := cutPart(rest)
		if !ok {
			return false, fmt.Errorf("%w: key of a source", ErrDamaged)
		}
		sum, err := c.v.Summary(name, string(id))
		if err != nil {
			return false, err
		}
		c.name = name
		c.expect("a source leads to an active summary "+string(id), true, sum != nil && sum.Status == thread.Active)
		return true, nil
	})
}

func (c *checker) count(prefix key) (n uint64, err error) {
	err = c.v.scan(prefix, prefix, func(_, _ []byte) (bool, error) {
		n++
		return true, nil
	})
	return n, err
}

// thread checks a header against the thread's rows.
func (c *checker) thread(h *thread.Header) error {
	forks := uint64(0)
	if h.Forked() {
		forks = 1
	}
	c.expect("events are accounted for",
		h.Events, h.Messages+h.ToolResults+h.Edits+h.Duplicates+h.Ignored+h.Rejected+h.Waiting+forks)
	c.expect("messages have places", h.Ordinals, h.Messages+h.ToolResults+h.Fork.Messages)
	if h.Parent != "" {
		listed, err := c.v.has(c.v.key(kindChild).part(h.Parent).rest(h.Thread))
		if err != nil {
			return err
		}
		c.expect("a child is listed under its parent", true, listed)
	}
	saved, err := c.summaries(h)
	if err != nil {
		return err
	}
	if err := c.messages(h, saved); err != nil {
		return err
	}
	return c.waiting(h)
}

// messages adds the thread's messages up, in order.
func (c *checker) messages(h *thread.Header, saved int64) error {
	var tools, next uint64 = 0, 1
	var tokens, bytes int64
	prefix := c.v.key(kindOrder).part(h.Thread)
	err := c.v.scan(prefix, prefix, func(k, id []byte) (bool, error) {
		m, err := c.v.Message(h.Thread, string(id))
		if err != nil {
			return false, err
		}
		c.expect(fmt.Sprintf("message at place %d has a row", next), true, m != nil)
		if m == nil {
			return true, nil
		}
		c.expect("places are dense", next, lastNumber(k))
		c.expect("message "+m.ID+" knows its place", lastNumber(k), m.Ordinal)
		next++
		if m.Tool {
			tools++
		}
		size := m.Size()
		tokens, bytes = tokens+size.Tokens, bytes+size.Bytes
		return true, nil
	})
	if err != nil {
		return err
	}
	rows, err := c.count(c.v.key(kindMessage).part(h.Thread))
	if err != nil {
		return err
	}
	c.expect("places", h.Ordinals, next-1)
	c.expect("message rows", h.Ordinals, rows)
	c.expect("tool results", h.Outputs(), tools)
	c.expect("tokens", tokens, h.Tokens)
	c.expect("bytes", bytes, h.Bytes)
	c.expect("live tokens", tokens-saved, h.TokensLive)
	return nil
}

// summaries checks a thread's summaries and returns what those that stand save.
func (c *checker) summaries(h *thread.Header) (saved int64, err error) {
	var active, stale uint64
	err = c.v.Summaries(h.Thread, func(sum *thread.Summary) (bool, error) {
		switch sum.Status {
		case thread.Active:
			active++
		case thread.Stale:
			stale++
		}
		if sum.Stands() {
			saved += sum.Saved()
		}
		return true, c.summary(h, sum)
	})
	c.expect("active summaries", active, h.SummariesActive)
	c.expect("stale summaries", stale, h.SummariesStale)
	return saved, err
}

func (c *checker) summary(h *thread.Header, sum *thread.Summary) error {
	if !sum.Inherited { // else the thread that made it has the id
		owner, found, err := c.v.SummaryThread(sum.ID)
		if err != nil {
			return err
		}
		c.expect("summary "+sum.ID+" is found by its id", true, found && owner == h.Thread)
	}
	if err := c.record(h, sum); err != nil {
		return err
	}
	slot, err := c.v.Slot(h.Thread, sum.Slot)
	if err != nil {
		return err
	}
	if sum.Version > slot.Version {
		c.expect("slot "+sum.Slot+" knows its versions", sum.Version, slot.Version)
	}
	if sum.Status == thread.Replaced {
		c.expect("replaced summary "+sum.ID+" serves its slot alone", sum.Serves, slot.Serving == sum.ID)
	} else {
		c.expect("slot "+sum.Slot+" is held by its last summary", sum.ID, slot.Holder)
	}
	for _, id := range sum.Sources {
		k := c.v.key(kindSource).part(h.Thread).part(messageSource(id)).rest(sum.ID)
		indexed, err := c.v.get(k, noValue)
		if err != nil {
			return err
		}
		c.expect("summary "+sum.ID+" is found by its source "+id, sum.Status == thread.Active, indexed)
	}
	return nil
}

// record checks that a summary's record is in its row unless it is replaced, and in the log, or on its way there.
func (c *checker) record(h *thread.Header, sum *thread.Summary) error {
	c.expect("summary "+sum.ID+" has its record", sum.Status != thread.Replaced || sum.Serves, len(sum.Record) > 0)
	if sum.Inherited {
		return nil
	}
	placed, err := c.v.has(c.v.placeKey(h.Thread, sum.ChainSeq))
	if err != nil {
		return err
	}
	c.expect("record of summary "+sum.ID+" is placed in SUMMARIES, or else waits in the outbox", !placed, c.waits[string(c.v.placeKey(h.Thread, sum.ChainSeq))])
	return nil
}

func (c *checker) waiting(h *thread.Header) error {
	held, err := c.count(c.v.key(kindWaiting).part(h.Thread))
	if err != nil {
		return err
	}
	deadlines, err := c.count(c.v.key(kindDeadline).part(h.Thread))
	if err != nil {
		return err
	}
	c.expect("waiting edits", h.Waiting, held)
	c.expect("deadlines of waiting edits", h.Waiting, deadlines)
	return nil
}
