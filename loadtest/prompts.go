package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"

	"precis/summarize/prompt/whole"
)

// checkPrompts checks prompts of every thread, without a limit and within several, against the messages that are not
// deleted, and returns what is wrong with which.
func checkPrompts(ctx context.Context, nc *nats.Conn, all []*expectation) ([]string, error) {
	return eachThread(ctx, all, func(ctx context.Context, e *expectation) ([]string, error) { return promptsOf(ctx, nc, e) })
}

// promptsOf checks one thread's.
func promptsOf(ctx context.Context, nc *nats.Conn, e *expectation) (wrong []string, err error) {
	summaries := map[string]whole.Summary{}
	of := func(id string) (sum whole.Summary, err error) {
		sum, known := summaries[id]
		if !known {
			err = request(ctx, nc, "precis.summary.get."+token(id), nil, &sum)
			summaries[id] = sum
		}
		return sum, err
	}
	limits := []int{0}
	for i := 0; i < len(limits); i++ {
		var reply struct {
			whole.Prompt
			TokenCount int `json:"token_count"`
		}
		body := fmt.Appendf(nil, `{"format":"messages","max_tokens":%d}`, limits[i])
		err := request(ctx, nc, "precis.thread.context."+token(e.Thread), body, &reply)
		if err == nil {
			err = whole.Check(e.live, reply.Prompt, of)
		}
		if errors.Is(err, errUnreachable) {
			return wrong, err
		}
		if err != nil {
			wrong = append(wrong, fmt.Sprintf("thread %q, prompt within %d tokens: %v", e.Thread, limits[i], err))
		}
		if i == 0 {
			free := reply.TokenCount
			limits = append(limits, max(1, free*9/10), max(1, free/2), max(1, free/8))
		}
	}
	return wrong, nil
}
