package history

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"

	"precis/cmd/processor/console"
	"precis/internal/audit"
	"precis/internal/broker"
	"precis/internal/content"
	"precis/internal/export"
	"precis/internal/service"
	"precis/internal/sessions"
)

// form folds the thread's log, and writes what stands at its end in the form of a provider or an agent.
func (c *Export) form(ctx context.Context, a *console.App) error {
	cwd, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	return logFlags{Flags: c.Flags}.withLog(ctx, a, "", func(ctx context.Context, l *logAtHand) error {
		bar := console.NewLogProgress(a, "folding the log")
		defer bar.Done()
		story, err := audit.Tell(ctx, l.options(bar), c.Thread, audit.Moment{})
		bar.Clear()
		if errors.Is(err, audit.ErrNoThread) {
			return console.Wrong("%w", err)
		}
		if err != nil {
			return err
		}
		from := service.Reading{View: l.scratch.View(story.Partition), Log: content.Uncached{Log: broker.NewLogReader(l.js, broker.StreamEvents)}}
		messages, err := service.ReadOriginals(ctx, from, c.Thread)
		if err != nil {
			return fmt.Errorf("export: %w", err)
		}
		buffer := bufio.NewWriterSize(a.Stdout, 1<<16)
		report, err := export.Write(buffer, c.Format, export.Thread{ID: c.Thread, Messages: messages, CWD: cwd})
		if err = errors.Join(err, buffer.Flush()); err != nil {
			return fmt.Errorf("export: %w", err)
		}
		a.Note("%s", console.Counted(report.Messages, "message"))
		for _, left := range report.Left {
			a.Note("left out: %s, %s (first: %s)", left.What, console.Counted(left.Count, "time"), console.Printable(left.First))
		}
		if report.Session != "" {
			a.Note("in %s, claude --resume %s goes on with it from ~/.claude/projects/%s/%[2]s.jsonl",
				console.Printable(report.CWD), report.Session, sessions.ClaudeDirectory(report.CWD))
		}
		return nil
	})
}
