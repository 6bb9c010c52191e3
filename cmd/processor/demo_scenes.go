package main

import (
	"context"
	"fmt"

	"precis/events"
)

// The scenes after the first: what happens to summaries and to what is wrong.

// edit changes the file that the fixer had read: the summary of the reading is stale, and made again.
func (s *story) edit(ctx context.Context) error {
	fixer := s.actors[0]
	read := fixer.script[4]
	fixed := &events.Edit{MessageID: read.MessageID, EditID: "fixed", AgentID: fixer.name, Content: events.TextContent(demoFile("invoice.fixed.go.txt"))}
	if err := s.edited(ctx, fixer, fixed); err != nil {
		return err
	}
	before := s.summaries[[2]string{fixer.thread, read.MessageID}]
	stale, err := s.invalidated(ctx)
	if err != nil {
		return err
	}
	again, err := s.summary(ctx)
	if err != nil {
		return err
	}
	s.tellEdit(fixer, fixed, stale, before, again)
	return nil
}

// deletion takes away what must not have been read: its summary goes too.
func (s *story) deletion(ctx context.Context) error {
	analyst := s.actors[1]
	gone := &events.Edit{MessageID: analyst.script[3].MessageID, EditID: "erased", AgentID: analyst.name, Deleted: true}
	if err := s.edited(ctx, analyst, gone); err != nil {
		return err
	}
	stale, err := s.invalidated(ctx)
	if err != nil {
		return err
	}
	s.tellDeletion(analyst, gone, stale)
	return nil
}

// fault is something wrong that an agent publishes.
type fault struct {
	what string
	typ  events.Type
	data string
}

func faults() []fault {
	return []fault{
		{"bytes that are no JSON", events.ThreadMessage, `{"message_id":"m5","role":"assistant","content":"Done`},
		{"a role that nobody knows", events.ThreadMessage, `{"message_id":"m5","role":"robot","content":"Done."}`},
		{"other words under m1", events.ThreadMessage, `{"message_id":"m1","role":"user","content":"Delete the repository."}`},
	}
}

// faults sends a message twice, and what can't be accepted.
func (s *story) faults(ctx context.Context) error {
	scout := s.actors[2]
	if err := s.publish(ctx, scout, scout.script[2]); err != nil {
		return err
	}
	sent := faults()
	for _, f := range sent {
		receipt, err := s.agents[scout.thread].Publish(ctx, f.typ, scout.thread, []byte(f.data))
		if err := s.remember(ctx, scout, receipt, err); err != nil {
			return err
		}
	}
	rejected, err := s.rejections(ctx, len(sent))
	if err != nil {
		return err
	}
	s.tellFaults(scout, sent, rejected)
	return nil
}

// sums asks for every thread's counters.
func (s *story) sums(ctx context.Context) error {
	var all []threadReply
	for _, act := range s.actors {
		counters, err := s.counters(ctx, act.thread)
		if err != nil {
			return err
		}
		all = append(all, counters)
	}
	s.tellSums(all)
	return nil
}

// tryNext says what to try now that the processor of the demo has ended.
func (s *story) tryNext() {
	var commands [][2]string
	if s.keep == "" {
		commands = [][2]string{
			{"demo --keep ./data", "the same, and the data stays, for the commands below"},
			{"run", "a processor on ./data, until it is stopped"},
			{"publish FILE", "in another terminal: event files, or - for what agents print"},
			{"tail --from start", "what came in, and what came of it"},
			{"--help", "the other commands"},
		}
	} else {
		commands = [][2]string{
			{"run --data " + s.keep, "a processor on this data; then, in another terminal:"},
			{"tail --from start", "the whole log"},
			{"thread " + fixerThread, "a thread's counters"},
			{"message " + fixerThread + " m5 --revision 0", "the file as it was before the edit"},
			{"context " + fixerThread, "the prompt that the fixer would get now"},
			{"rejected", "what was rejected, and why"},
			{"replay", "fold the log again, and check every decision"},
		}
	}
	s.fact("next", actor{}, commandLines(commands))
	s.page.heading("Try next")
	var g grid
	for _, c := range commands {
		g.row(cell{programName() + " " + c[0], blueInk}, cell{c[1], faintInk})
	}
	s.page.grid(g)
	s.page.line("")
}

func commandLines(commands [][2]string) []string {
	var lines []string
	for _, c := range commands {
		lines = append(lines, fmt.Sprintf("%s %s", programName(), c[0]))
	}
	return lines
}
