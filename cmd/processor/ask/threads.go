package ask

import (
	"context"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"precis/api"
	"precis/cmd/processor/console"
	"precis/cmd/processor/remote"
)

// Threads lists threads.
type Threads struct {
	remote.Flags
	Search  string  `arg:"" optional:"" help:"A part of the threads' ids; ASCII letters match in either case."`
	Sort    string  `enum:"recent,size,prompt,cost,stale" default:"recent" help:"What comes first: the last event (recent), the most tokens (size), the largest prompt, the highest cost, or the most stale summaries (${default})."`
	Reverse bool    `help:"The least first: with --sort recent the threads that have been idle longest."`
	Limit   int     `default:"20" placeholder:"N" help:"How many; 0: all (${default})."`
	Prefix  string  `placeholder:"TEXT" help:"Only threads whose ids begin with this."`
	Agent   *string `placeholder:"ID" help:"Only threads that this agent_id started."`
	Policy  *string `placeholder:"NAME" help:"Only threads that this policy serves."`
	Stale   bool    `help:"Only threads with a stale summary."`
}

// Help shows the command used.
func (Threads) Help() string {
	return `Prints one line per thread: its tokens (all messages, and what a compacted prompt holds), its summaries (active, stale), what they cost, the age of its last event, its id and its agent. With --json it prints one object per thread.

Examples:

    processor threads
    processor threads fix- --sort cost --limit 5
    processor threads --stale --json
    processor threads --sort recent --reverse --agent reviewer`
}

// most is how many threads one request may ask for.
const most = 1000

// Run asks page by page.
func (c *Threads) Run(ctx context.Context, a *console.App) error {
	if c.Limit < 0 {
		return console.Usage("--limit %d: give a number of threads, or 0 for all", c.Limit)
	}
	return c.With(ctx, a, func(ctx context.Context, s *remote.Server) error {
		request := api.ThreadsRequest{
			Prefix: c.Prefix, Search: c.Search, AgentID: c.Agent, Policy: c.Policy, Stale: c.Stale, Sort: c.Sort, Ascending: c.Reverse,
		}
		out := a.NumberColumns()
		if !c.JSON {
			fmt.Fprint(out, "TOKENS\tPROMPT\tACTIVE\tSTALE\tCOST\tAGE\t THREAD · AGENT\n")
		}
		for shown := 0; ; {
			request.Limit = most
			if c.Limit > 0 {
				request.Limit = min(most, c.Limit-shown)
			}
			reply, err := list(ctx, s, request)
			if err != nil {
				return err
			}
			for i := range reply.Threads {
				if c.JSON {
					a.JSON(&reply.Threads[i])
					continue
				}
				fmt.Fprintln(out, threadLine(&reply.Threads[i], time.Now()))
			}
			shown += len(reply.Threads)
			if reply.Next == nil || shown == c.Limit {
				if !c.JSON {
					_ = out.Flush() // a failed write is the output's error
					a.Printf("\n%s of %s\n", console.Grouped(shown), console.Counted(reply.Matched, "thread"))
				}
				return nil
			}
			request.After = *reply.Next
		}
	})
}

func list(ctx context.Context, s *remote.Server, request api.ThreadsRequest) (reply api.ThreadsReply, err error) {
	raw, err := s.AskAt(ctx, api.ThreadsList, request)
	if err != nil {
		return reply, err
	}
	if err := json.Unmarshal(raw, &reply); err != nil {
		return reply, console.Unreachable("read the answer: %w", err)
	}
	return reply, nil
}

// threadLine is a row; what comes from events holds no tab that would be a cell of its own.
func threadLine(t *api.ThreadRow, now time.Time) string {
	name := console.Printable(t.ThreadID)
	if t.AgentID != nil {
		name += " · " + console.Printable(*t.AgentID)
	}
	cost := console.Dollars(&t.CostMicroUSD)
	if t.CostUnknown > 0 {
		cost += "+?"
	}
	return fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t%s\t %s", console.Grouped(t.TokensTotal), console.Grouped(t.TokensLive), console.Grouped(t.SummariesActive),
		console.Grouped(t.SummariesStale), cost, console.Age(now.Sub(t.LastEventAt)), name)
}
