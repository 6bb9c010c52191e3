package service

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"precis/events"
	"precis/internal/content"
	"precis/internal/thread"
	"precis/state"
)

// summary answers precis.summary.get: the record itself, and beside its fields `status`, `replaced_by`
// and `invalidated` (the data of its summary.invalidated, or null).
func (s *Service) summary(ctx context.Context, r *request) (any, error) {
	if err := decode(r.body, &struct{}{}); err != nil {
		return nil, err
	}
	id := r.token
	if err := s.caughtUp(); err != nil {
		return nil, err
	}
	// The id does not say which thread it belongs to; each partition has its own index.
	for partition := range s.backend.Partitions() {
		if s.place(partition) != Here {
			continue
		}
		view := s.backend.View(partition)
		name, found, err := view.SummaryThread(id)
		if err != nil {
			return nil, err
		}
		if !found {
			continue
		}
		sum, err := view.Summary(name, id)
		if err != nil {
			return nil, err
		}
		if sum == nil {
			return nil, fmt.Errorf("%w: summary %q of thread %q: %w", state.ErrDamaged, id, name, state.ErrNoRow)
		}
		r.partition = partition
		record, err := content.RecordOf(ctx, view, s.backend.Records(), name, sum)
		if errors.Is(err, content.ErrGone) {
			return nil, fault(codeNotFound, "summary %q was replaced by %q, and SUMMARIES no longer holds its record", id, sum.ReplacedBy)
		}
		if err != nil {
			return nil, err
		}
		reply, err := summaryReply(sum, record)
		return s.told(ctx, partition, reply, err)
	}
	if s.shared != nil {
		place, err := s.shared.Summary(ctx, id)
		if err != nil {
			return nil, fault(codeUnavailable, "%v; retry in a second", err)
		}
		if place == Elsewhere {
			return nil, errSilent
		}
	}
	return nil, fault(codeNotFound, "no summary %q", id)
}

func summaryReply(sum *thread.Summary, record jsontext.Value) (any, error) {
	var reply map[string]jsontext.Value
	if err := json.Unmarshal(record, &reply); err != nil {
		return nil, err
	}
	status, err := json.Marshal(string(sum.Status))
	replacedBy, err2 := json.Marshal(events.OrNull(sum.ReplacedBy))
	reply["status"], reply["replaced_by"], reply["invalidated"] = status, replacedBy, orNull(sum.Invalidated)
	return reply, errors.Join(err, err2)
}
