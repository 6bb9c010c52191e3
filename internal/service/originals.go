package service

import (
	"context"

	"precis/summarize/prompt"
)

// ReadOriginals returns a thread's live messages at their current revisions, in order, without what policies and summaries put in
// their places. Of a deleted tool output the mark is left that its call needs.
func ReadOriginals(ctx context.Context, from Reading, name string) ([]prompt.Message, error) {
	r, err := from.thread(name)
	if err != nil {
		return nil, err
	}
	rows, err := r.view.Messages(name, 1, r.header.Ordinals+1)
	if err != nil {
		return nil, err
	}
	if err := r.ahead(ctx, rows); err != nil {
		return nil, err
	}
	var list []prompt.Message
	for _, m := range rows {
		if leaves(m) {
			continue
		}
		msg, err := r.original(ctx, m)
		if err != nil {
			return nil, err
		}
		list = append(list, msg)
	}
	return list, nil
}
