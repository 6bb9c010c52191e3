package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/rs/zerolog"

	"precis/internal/broker"
	"precis/internal/processor"
)

// EVENTS is lost whole, and SUMMARIES and the store are there: nothing is written before the loss is accepted, and
// nothing is left to accept behind that.
func TestRecover(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kept")
	program(t, "", "demo", "--keep", dir).wants(t, exitDone, "", "")
	program(t, "", "recover", "--data", dir).wants(t, exitDone, "Nothing is lost", "")
	program(t, "", "recover", "--data", dir, "--accept-loss").wants(t, exitDone, "Nothing is lost", "")
	emptied(t, dir)

	for range 2 {
		program(t, "", "recover", "--data", dir).wants(t, exitWrong, "EVENTS holds the applied events up to event 0.", "--accept-loss")
	}
	program(t, "", "recover", "--data", dir, "--json").wants(t, exitWrong, `"found":true`, "")
	if _, err := os.Stat(processor.StoreDir(dir)); err != nil {
		t.Errorf("the store after a look: %v", err)
	}
	program(t, "", "recover", "--data", dir, "--accept-loss").wants(t, exitDone, "The store was renamed to "+filepath.Join(dir, "state-before-"), "")
	if _, err := os.Stat(processor.StoreDir(dir)); err == nil {
		t.Error("the store was not moved")
	}
	program(t, "", "recover", "--data", dir, "--accept-loss").wants(t, exitDone, "Nothing is lost", "")
}

// emptied makes the EVENTS of a data directory anew.
func emptied(t *testing.T, dir string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	b, err := broker.Open(ctx, broker.Options{StoreDir: processor.BrokerDir(dir), Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	defer shut(t, b)
	if err := b.JetStream().DeleteStream(ctx, broker.StreamEvents); err != nil {
		t.Fatal(err)
	}
	if _, err := broker.Provision(ctx, b.JetStream(), broker.StreamSpec{Partitions: 16}); err != nil {
		t.Fatal(err)
	}
}
