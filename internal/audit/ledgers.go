package audit

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"

	"precis/events"
	"precis/internal/content"
	"precis/state"
	"precis/summarize/ledger"
)

// ledgers checks the ledgers of a store against their sources. A fold of the log adopts summaries from their records
// and stores no ledgers for them, so there are no rows to compare: each ledger is recomputed. A summary that was
// replaced or adopted has no ledger, which is not a difference.
type ledgers struct {
	store, scratch *state.Store
	log            content.Log // masked, as the processor reads it
	rules          string      // version of this program's rules
	skipped        uint64      // made by other rules, or from messages that are gone
}

func newLedgers(r *run, rules string) *ledgers {
	log := content.Log(content.New(r.events, 0))
	if r.Mask != nil {
		log = content.Masked(log, r.Mask)
	}
	return &ledgers{store: r.Store, scratch: r.Scratch, log: log, rules: rules}
}

// compare reports each ledger of a partition that differs from the recomputed one. only selects the threads.
func (l *ledgers) compare(ctx context.Context, partition int, only func(thread string) bool, report func(state.Problem)) error {
	return l.store.View(partition).Ledgers(func(name, id string, stored []byte) (bool, error) {
		if !only(name) {
			return true, nil
		}
		got, err := l.problem(ctx, partition, name, id, stored)
		if err != nil {
			return false, fmt.Errorf("ledger of %s: %w", id, err)
		}
		if got != "" {
			report(state.Problem{Partition: partition, Thread: name, Check: "row g: ledger of " + id, Want: "the one that its sources make", Got: got})
		}
		return true, nil
	})
}

// problem returns what is wrong with a ledger, or an empty string. It names no contents: without the configuration's
// secrets, the recomputed ledger may hold one.
func (l *ledgers) problem(ctx context.Context, partition int, name, id string, stored []byte) (string, error) {
	scratch := l.scratch.View(partition)
	sum, err := scratch.Summary(name, id)
	if err != nil {
		return "", err
	}
	if sum == nil {
		return "one of a summary that is not on record", nil
	}
	if len(sum.Record) == 0 {
		return "one of a summary that is replaced", nil
	}
	var rec events.Summary
	if err := json.Unmarshal(sum.Record, &rec); err != nil {
		return "", fmt.Errorf("read record: %w", err)
	}
	if rec.Kind != events.KindCompaction || rec.Slot == events.SlotCurrent {
		return "one of a summary that has none", nil
	}
	if orNone(rec.RulesVersion) != l.rules {
		l.skipped++
		return "", nil
	}
	// Recompute from the store's rows first: they include the ledgers of a node's sources, which are compared
	// themselves. If the result differs, one of those or another row may be wrong, so the log alone decides.
	want, err := l.again(ctx, l.store.View(partition), name, id)
	if err == nil && bytes.Equal(want, stored) {
		return "", nil
	}
	want, err = l.again(ctx, scratch, name, id)
	switch {
	case errors.Is(err, content.ErrGone):
		l.skipped++
		return "", nil
	case err != nil:
		return "", err
	case bytes.Equal(want, stored):
		return "", nil
	}
	return differingLedger(want, stored)
}

func (l *ledgers) again(ctx context.Context, view state.View, name, id string) ([]byte, error) {
	made, err := content.LedgerAgain(ctx, view, l.log, name, id)
	if err != nil {
		return nil, err
	}
	return made.MarshalBinary()
}

// differingLedger names the members in which two ledgers differ.
func differingLedger(want, got []byte) (string, error) {
	var a, b ledger.Ledger
	if err := a.UnmarshalBinary(want); err != nil {
		return "", err
	}
	if err := b.UnmarshalBinary(got); err != nil {
		return err.Error(), nil
	}
	x, failed := json.Marshal(a)
	y, err := json.Marshal(b)
	list, differs := differing(x, y)
	if err := cmp.Or(failed, err, differs); err != nil {
		return "", err
	}
	if len(list) == 0 {
		return "the same in another encoding", nil
	}
	var names []string
	for _, m := range list {
		names = append(names, m.name)
	}
	return "one with other " + strings.Join(names, ", "), nil
}
