package thread_test

import (
	"fmt"
	"strconv"

	"precis/events"
	"precis/internal/thread"
)

// record folds a record in, as scripts write it: its id, and what it says.
func (b *book) record(verb, id string, o map[string]string) error {
	number := func(key string) int64 {
		n, _ := strconv.ParseInt(o[key], 10, 64) // what is not given is 0
		return n
	}
	head := events.Head{ChainSeq: b.header.ChainSeq + 1, Chain: fmt.Sprintf("chain%d", b.header.ChainSeq+1)}
	if v := number("chain"); v != 0 {
		head.ChainSeq = uint64(v)
	}
	st := b.loadRecord(o["slot"], id)
	switch verb {
	case "created":
		kind := events.KindToolResult
		if o["kind"] != "" {
			kind = o["kind"]
		}
		st.Created(&events.Summary{
			Head: head, ID: id, Kind: kind, Slot: o["slot"], Current: true, Version: uint64(number("version")),
			SourceMessageIDs: []string{o["source"]}, TokenCountBefore: number("before"), TokenCountAfter: number("after"),
		}, []byte(`{}`), number("before"))
	case "invalidated":
		st.Invalidated(&events.Invalidated{Head: head, SummaryID: id}, []byte(`{}`))
	case "started":
		st.Start(&thread.Job{Started: events.Started{
			Head: head, SummaryID: id, Slot: o["slot"], Version: uint64(number("version")), SourceMessageIDs: []string{o["source"]},
		}})
	case "failed":
		st.Failed(&events.Failed{Head: head, SummaryID: id})
	case "usage":
		rec := &events.UsageRecord{Head: head, SummaryID: id, Attempt: int(number("attempt"))}
		rec.Usage.InputTokens, rec.Usage.OutputTokens = number("in"), number("out")
		if _, known := o["cost"]; known {
			cost := number("cost")
			rec.Cost.AmountMicroUSD = &cost
		}
		st.Usage(rec)
	case "noted":
		st.Noted(head)
	case "job":
		return holds(b.jobs[id], pairs(o))
	case "slot":
		return holds(b.slots[id], pairs(o))
	default:
		return fmt.Errorf("no such command")
	}
	b.save(st)
	return nil
}

func pairs(o map[string]string) (args []string) {
	for k, v := range o {
		args = append(args, k+"="+v)
	}
	return args
}
