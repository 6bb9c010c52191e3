package main

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json"
)

// threadCmd shows a thread's counters.
type threadCmd struct {
	serverFlags
	Thread      string `arg:"" help:"The thread's id."`
	MinEventSeq uint64 `name:"min-event-seq" placeholder:"SEQ" help:"Wait until the event with this sequence (of a publish ack) is counted."`
}

// Help shows the command used.
func (threadCmd) Help() string {
	return `Example:

    processor thread demo-1
    processor thread demo-1 --min-event-seq 42   # after a publish: wait until that event is counted`
}

// threadReply is what of precis.thread.get's answer is shown.
type threadReply struct {
	Messages        int64   `json:"messages"`
	ToolResults     int64   `json:"tool_results"`
	Edits           int64   `json:"edits"`
	Duplicates      int64   `json:"duplicates"`
	Rejected        int64   `json:"rejected"`
	WaitingEdits    int64   `json:"waiting_edits"`
	TokensTotal     int64   `json:"tokens_total"`
	Bytes           int64   `json:"bytes"`
	TokensLive      int64   `json:"tokens_live"`
	SummariesActive int64   `json:"summaries_active"`
	SummariesStale  int64   `json:"summaries_stale"`
	SummariesMade   int64   `json:"summaries_started"`
	LLMInputTokens  int64   `json:"llm_input_tokens"`
	LLMOutputTokens int64   `json:"llm_output_tokens"`
	CostMicroUSD    *int64  `json:"cost_microusd"`
	CostUnknown     int64   `json:"calls_of_unknown_cost"`
	EventSeq        uint64  `json:"event_seq"`
	ChainHead       *string `json:"chain_head"`
}

// Run asks the processor.
func (c *threadCmd) Run(ctx context.Context, a *app) error {
	return c.withServer(ctx, a, func(ctx context.Context, s *server) error {
		reply, err := s.ask(ctx, threadEndpoint, c.Thread, map[string]uint64{"min_event_seq": c.MinEventSeq})
		if err != nil {
			return err
		}
		if c.JSON {
			a.printf("%s\n", reply)
			return nil
		}
		var t threadReply
		if err := json.Unmarshal(reply, &t); err != nil {
			return unreachable("read the answer: %w", err)
		}
		a.printf("%s", t.table(c.Thread))
		return nil
	})
}

func (t threadReply) table(thread string) *table {
	out := &table{}
	out.add("Thread", printable(thread))
	out.add("Events", list(counted(t.Messages, "message"), counted(t.ToolResults, "tool result"), counted(t.Edits, "edit")))
	out.add("Not counted", list(counted(t.Duplicates, "duplicate"), grouped(t.Rejected)+" rejected", counted(t.WaitingEdits, "pending edit")))
	out.add("Size", counted(t.Bytes, "byte")+", "+counted(t.TokensTotal, "token"))
	out.add("In a prompt", change(t.TokensTotal, t.TokensLive, "tokens"))
	out.add("Summaries", list(grouped(t.SummariesActive)+" active", grouped(t.SummariesStale)+" stale", grouped(t.SummariesMade)+" in progress"))
	if t.LLMInputTokens+t.LLMOutputTokens+t.CostUnknown > 0 {
		out.add("Model calls", fmt.Sprintf("%s tokens in, %s out, %s", grouped(t.LLMInputTokens), grouped(t.LLMOutputTokens), t.cost()))
	}
	out.add("Log", fmt.Sprintf("up to event %d", t.EventSeq))
	out.addIf("Chain", t.ChainHead)
	return out
}

// cost names what is not in the sum: unknown is not free.
func (t threadReply) cost() string {
	if t.CostUnknown == 0 {
		return dollars(t.CostMicroUSD)
	}
	return fmt.Sprintf("%s and %s of unknown cost", dollars(t.CostMicroUSD), counted(t.CostUnknown, "call"))
}
