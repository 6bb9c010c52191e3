package main

import (
	"context"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// contextCmd shows the prompt that an agent would be given.
type contextCmd struct {
	serverFlags
	Thread      string `arg:"" help:"The thread's id."`
	MaxTokens   int    `name:"max-tokens" placeholder:"N" help:"Limit in tokens; 0: no limit (0)."`
	MinEventSeq uint64 `name:"min-event-seq" placeholder:"SEQ" help:"Wait until the event with this sequence (of a publish ack) is applied."`
	Format      string `enum:"openai,responses,anthropic,gemini,messages" default:"messages" help:"Format: openai, responses, anthropic, gemini or messages (${default})."`
}

// Help shows the command used.
func (contextCmd) Help() string {
	return `Prints the compacted prompt of a thread as JSON in a provider's format: system messages, the current summary, the messages that stay verbatim, tool outputs as their summaries. For anthropic it is an object, since system stands beside the messages. What had to be left out is reported on standard error.

Example:

    processor context demo-1 --max-tokens 8000 --format anthropic`
}

// contextReply is what of precis.thread.context's answer is told beside the messages.
type contextReply struct {
	System       jsontext.Value `json:"system"`
	Messages     jsontext.Value `json:"messages"`
	TokenCount   int            `json:"token_count"`
	WithinBudget bool           `json:"within_budget"`
	Dropped      int            `json:"dropped_count"`
	Renewing     []string       `json:"renewing_summary_ids"`
	SummaryIDs   []string       `json:"summary_ids"`
}

// Run asks the processor.
func (c *contextCmd) Run(ctx context.Context, a *app) error {
	if c.MaxTokens < 0 {
		return usage("--max-tokens %d: give a number of tokens, or 0 for no limit", c.MaxTokens)
	}
	request := map[string]any{"max_tokens": c.MaxTokens, "format": c.Format, "min_event_seq": c.MinEventSeq}
	return c.withServer(ctx, a, func(ctx context.Context, s *server) error {
		reply, err := s.ask(ctx, contextEndpoint, c.Thread, request)
		if err != nil {
			return err
		}
		return c.show(a, reply)
	})
}

// body is what goes into a provider's request: the messages, or an object where system stands beside them.
func (r *contextReply) body() (jsontext.Value, error) {
	body := r.Messages
	if len(r.System) > 0 && r.System.Kind() != 'n' {
		var err error
		if body, err = json.Marshal(struct {
			System   jsontext.Value `json:"system"`
			Messages jsontext.Value `json:"messages"`
		}{r.System, r.Messages}); err != nil {
			return nil, err
		}
	}
	return body, body.Indent()
}

// print shows the prompt to people: what a provider would be sent, indented.
func (r *contextReply) print(a *app) error {
	body, err := r.body()
	if err != nil {
		return err
	}
	a.printf("%s\n", body)
	a.note("%s", list(counted(r.TokenCount, "token"), counted(len(r.SummaryIDs), "summary"), counted(r.Dropped, "message")+" dropped"))
	return nil
}

// show prints the answer; what can't be fitted into the budget is something wrong, in either form.
func (c *contextCmd) show(a *app, reply []byte) error {
	var r contextReply
	if err := json.Unmarshal(reply, &r); err != nil {
		return unreachable("read the answer: %w", err)
	}
	if c.JSON {
		a.printf("%s\n", reply)
	} else if err := r.print(a); err != nil {
		return unreachable("read the answer: %w", err)
	}
	if !r.WithinBudget {
		return wrong("the messages that must stay do not fit into %d tokens", c.MaxTokens)
	}
	return nil
}
