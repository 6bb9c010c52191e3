package feed

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"precis/cmd/processor/console"
	"precis/cmd/processor/remote"
	"precis/events"
	"precis/internal/broker"
	session "precis/internal/watch"
)

// Watch follows the session files of an agent.
type Watch struct {
	remote.Flags
	Format        string        `arg:"" name:"agent" enum:"claude-code,codex" help:"The agent: ${enum}."`
	Dir           string        `arg:"" optional:"" type:"existingdir" help:"Directory of its sessions, instead of the agent's own."`
	Agent         string        `placeholder:"ID" help:"The agent_id of the events, instead of the agent's name."`
	Since         time.Duration `default:"24h" placeholder:"TIME" help:"Publish sessions that changed within this time at once, older ones when they change (${default})."`
	State         string        `placeholder:"FILE" help:"File that keeps how far the sessions are published; by default in the user's cache directory."`
	UntilCaughtUp bool          `name:"until-caught-up" help:"Stop when everything that is there is stored."`
}

// Help shows the command used.
func (Watch) Help() string {
	return `Publishes sessions while the agent writes them: counters, summaries, savings and audits of one's own work, without a change of the agent. The mapping is that of "publish --format". Claude Code's sessions are in $CLAUDE_CONFIG_DIR/projects or ~/.claude/projects, Codex's in $CODEX_HOME/sessions or ~/.codex/sessions.

It waits for a server that is not there and for the agent's first session, and continues where it was after a restart. Prints one line per thread with something new: how many events, and how many since the start.

Examples:

    processor watch claude-code
    processor watch codex --since 720h --until-caught-up
    processor watch claude-code ./projects --json`
}

// Run follows until it is stopped, which is not an error.
func (c *Watch) Run(ctx context.Context, a *console.App) error {
	dir, err := c.directory(a)
	if err != nil {
		return err
	}
	if c.Since < 0 {
		return console.Usage("--since %s: give a time that is not negative", c.Since)
	}
	if there, err := c.begun(ctx, a, dir); !there {
		return err
	}
	s, err := c.await(ctx, a)
	if s == nil {
		return err
	}
	defer s.Close()
	return c.follow(ctx, a, s, dir)
}

// directory is where the agent keeps its sessions.
func (c *Watch) directory(a *console.App) (string, error) {
	if c.Dir != "" {
		return filepath.Abs(c.Dir)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", console.Usage("no home directory (%w): name the directory of the sessions", err)
	}
	dir := filepath.Join(cmp.Or(a.Getenv("CLAUDE_CONFIG_DIR"), filepath.Join(home, ".claude")), "projects")
	if c.Format == "codex" {
		dir = filepath.Join(cmp.Or(a.Getenv("CODEX_HOME"), filepath.Join(home, ".codex")), "sessions")
	}
	return dir, nil
}

// begun reports whether the agent has kept sessions. It waits for its first one, unless only what is there is to be published.
func (c *Watch) begun(ctx context.Context, a *console.App, dir string) (bool, error) {
	for told := false; ; {
		_, err := os.Stat(dir)
		switch {
		case err == nil:
			return true, nil
		case c.UntilCaughtUp || !errors.Is(err, fs.ErrNotExist):
			return false, console.Usage("%s has kept no sessions here (%w): name the directory of its sessions", c.Format, err)
		case !told:
			told = true
			a.Note("processor: %s has kept no sessions in %s yet: waiting for its first", c.Format, dir)
		}
		select {
		case <-ctx.Done():
			return false, nil
		case <-time.After(remote.ReconnectWait):
		}
	}
}

// await connects, and waits for a server that is not there or has no streams yet. Both are nil where ctx ends first.
func (c *Watch) await(ctx context.Context, a *console.App) (*remote.Server, error) {
	told := false
	for {
		s, err := c.Connect(a)
		if err == nil {
			err = s.HasStreams(ctx)
			if err == nil {
				return s, nil
			}
			s.Close()
		}
		if !isAway(err) {
			return nil, err
		}
		if !told {
			told = true
			a.Note("processor: %v\nprocessor: waiting; \"processor run\" in another terminal starts one", err)
		}
		select {
		case <-ctx.Done():
			return nil, nil
		case <-time.After(remote.ReconnectWait):
		}
	}
}

// isAway reports whether an error is of a server that may come.
func isAway(err error) bool {
	return errors.Is(err, nats.ErrNoServers) || errors.Is(err, nats.ErrTimeout) || errors.Is(err, jetstream.ErrStreamNotFound) ||
		errors.Is(err, context.DeadlineExceeded)
}

func (c *Watch) follow(ctx context.Context, a *console.App, s *remote.Server, dir string) error {
	stream, err := identity(ctx, s)
	if err != nil {
		return err
	}
	name, err := c.stateFile(dir, s.URL)
	if err != nil {
		return err
	}
	state, err := session.LoadState(name, stream)
	if err != nil {
		return console.Usage("--state: %w", err)
	}
	out, err := events.NewPublisher(s.Conn, events.PublisherOptions{Warn: a.WarnOnce()})
	if err != nil {
		return console.Unreachable("publish: %w", err)
	}
	a.Note("following %s", dir)
	w := session.New(session.Options{
		Dir: dir, Format: c.Format, Agent: c.Agent, Publisher: out, State: state, StateFile: name, Since: c.Since, Once: c.UntilCaughtUp,
		Report: func(p session.Progress) { c.report(a, dir, p) },
		Note:   func(format string, args ...any) { a.Note("processor: "+format, args...) },
	})
	err = w.Run(ctx)
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopPatience)
	defer cancel()
	unsent := out.Close(closing)
	err = errors.Join(err, w.Save())
	counts := w.Counts()
	a.Note("%s of %s from %s, %s", console.Counted(counts.Published, "event"), console.Counted(counts.Threads, "thread"), console.Counted(counts.Files, "file"),
		console.Counted(counts.Broken, "broken line"))
	switch {
	case err != nil:
		return err
	case unsent != nil && !errors.Is(unsent, events.ErrRefused):
		a.Note("processor: the server has not stored all of them; the next run publishes the rest")
	}
	if c.UntilCaughtUp && counts.Broken > 0 {
		return console.Wrong("%s could not be published", console.Counted(counts.Broken, "line"))
	}
	return nil
}

// identity tells this server's streams from others at the same address.
func identity(ctx context.Context, s *remote.Server) (string, error) {
	stream, err := s.JS.Stream(ctx, broker.StreamSummaries)
	if err != nil {
		return "", remote.Explain("open SUMMARIES", err)
	}
	return stream.CachedInfo().Created.UTC().Format(time.RFC3339Nano), nil
}

// stateFile is one per directory, agent and server.
func (c *Watch) stateFile(dir, url string) (string, error) {
	if c.State != "" {
		return c.State, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", console.Usage("no cache directory (%w): give --state", err)
	}
	sum := sha256.Sum256([]byte(dir + "\x00" + url + "\x00" + c.Agent))
	return filepath.Join(cache, "precis", fmt.Sprintf("watch-%s-%s.json", c.Format, hex.EncodeToString(sum[:6]))), nil
}

// report prints what was published of a thread.
func (c *Watch) report(a *console.App, dir string, p session.Progress) {
	if c.JSON {
		a.JSON(p)
		return
	}
	name, err := filepath.Rel(dir, p.File)
	if err != nil {
		name = p.File
	}
	a.Printf("%s  %s  +%s, %s in all  %s\n", console.Time(time.Now()), p.Thread, console.Grouped(p.New), console.Grouped(p.Total), name)
}
