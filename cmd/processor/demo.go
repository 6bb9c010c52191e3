package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sync/errgroup"
)

// demoCmd runs the main job on samples and tells what happens.
type demoCmd struct {
	Keep string `placeholder:"DIR" help:"Keep the data in this directory for the other commands."`
	JSON bool   `name:"json" help:"Print one JSON object per line."`
}

// Help shows the command used.
func (demoCmd) Help() string {
	return `Starts a processor with an embedded NATS server on a free port. Three agents publish a session each: summaries of their large tool outputs come back, an edit and a deletion invalidate two of them, and broken events are rejected. Takes a second or two, needs nothing and leaves nothing behind.

Examples:

    processor demo
    processor demo --json
    processor demo --keep ./data`
}

// Run has the story played in a directory of its own.
func (c *demoCmd) Run(ctx context.Context, a *app) (err error) {
	dir, release, err := c.dir()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	story := newStory(a, c)
	group, ctx := errgroup.WithContext(ctx)
	played, stop := context.WithCancel(ctx)
	opened := make(chan string, 1)
	group.Go(func() error { return serveDemo(played, a, dir, opened) })
	group.Go(func() error {
		defer stop()
		return story.play(ctx, opened)
	})
	if err := group.Wait(); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	story.tryNext()
	return nil
}

// dir is where the data goes, and what is to be done with it in the end.
func (c *demoCmd) dir() (string, func() error, error) {
	if c.Keep == "" {
		dir, err := os.MkdirTemp("", "precis-demo-")
		if err != nil {
			return "", nil, fmt.Errorf("make a directory for the data: %w", err)
		}
		return dir, func() error { return os.RemoveAll(dir) }, nil
	}
	// In a directory that holds a log everything would be a duplicate.
	if entries, err := os.ReadDir(c.Keep); err == nil && len(entries) > 0 {
		return "", nil, usage("--keep %s: it is not empty; name a new directory", c.Keep)
	}
	if err := os.MkdirAll(c.Keep, 0o700); err != nil {
		return "", nil, usage("--keep: %w", err)
	}
	return c.Keep, func() error { return nil }, nil
}

// programName is how this program was started, for commands to try next.
func programName() string {
	exe, err := os.Executable()
	if err != nil || strings.Contains(exe, string(filepath.Separator)+"go-build") {
		return "go run ./cmd/processor"
	}
	return os.Args[0]
}
