package api

import "slices"

// AccountsFor reports whether the prompt stands for exactly these messages: whole, in a summary, or dropped to hold max_tokens. A client that has the
// thread's messages itself compares so: what is not in both is another writer's, or was not published. The request must say explain. It is false where
// the prompt does not name all of its messages, or holds some back.
func (r *ContextReply) AccountsFor(ids []string) bool {
	named, ok := r.messageIDs()
	if !ok || len(named) != len(ids) {
		return false
	}
	named, ids = slices.Sorted(slices.Values(named)), slices.Sorted(slices.Values(ids))
	return slices.Equal(named, ids)
}

// AccountsForNewest is AccountsFor of a client that keeps the newest messages alone: the prompt may stand for others that come before all of these.
func (r *ContextReply) AccountsForNewest(ids []string) bool {
	named, ok := r.messageIDs()
	missing := map[string]bool{}
	for _, id := range ids {
		missing[id] = true
	}
	all := len(missing)
	for _, id := range named {
		switch {
		case missing[id]:
			delete(missing, id)
		case len(missing) < all && !slices.Contains(r.DroppedMessageIDs, id):
			return false
		}
	}
	return ok && len(missing) == 0
}

// messageIDs are the messages that the prompt stands for, in its order, and behind them those that it drops.
func (r *ContextReply) messageIDs() (ids []string, ok bool) {
	if r.Explain == nil || len(r.WaitingMessageIDs) > 0 || len(r.DroppedMessageIDs) != r.DroppedCount {
		return nil, false
	}
	of := map[string][]string{}
	for _, s := range r.Explain.Summaries {
		if s.MessageIDs == nil {
			return nil, false
		}
		of[s.ID] = s.MessageIDs
	}
	sources := r.Sources
	if r.SystemSource != nil {
		sources = append([]Source{*r.SystemSource}, sources...)
	}
	seen := map[string]bool{}
	add := func(list []string) {
		for _, id := range list {
			if !seen[id] {
				seen[id], ids = true, append(ids, id)
			}
		}
	}
	for _, s := range sources {
		for _, summary := range s.SummaryIDs {
			add(of[summary])
		}
		add(s.MessageIDs)
	}
	add(r.DroppedMessageIDs)
	return ids, true
}
