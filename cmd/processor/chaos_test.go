package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"precis/internal/processor"
	"precis/internal/race"
)

var (
	chaosEvents  = flag.Int("chaos.events", 200, "how many events of each real transcript TestAuditOfChaos publishes, where they are; edits come on top")
	chaosKills   = flag.Int("chaos.kills", 6, "how often TestAuditOfChaos kills the program")
	chaosTampers = flag.Int("chaos.tampers", 1, "how often TestAuditOfChaos changes each kind of thing")
	chaosKeep    = flag.String("chaos.keep", "", "a directory that must not exist: the data of TestAuditOfChaos is kept there as the program left it")
	chaosSeed    = flag.Uint64("chaos.seed", 0, "the seed of TestAuditOfChaos; 0 takes one of the clock")
)

// chaosConfigs are the configurations that the program is started with, one after the other. %s is the model's
// address.
var chaosConfigs = []string{
	`limits: {pending_edit_events: 12}
policies: [{name: default, tokenizer: estimate, compaction: {trigger: {any: [{messages: 40}]}, keep: {messages: 10}}}]
providers: {summarizer: {kind: anthropic, base_url: "%s", model: claude-haiku-4-5-20251001, api_key_env: CHAOS_KEY}}`,
	`limits: {pending_edit_events: 30}
policies: [{name: default, tokenizer: estimate, tool_output: {over_chars: 700, max_summary_chars: 500}, compaction: {trigger: {any: [{messages: 25}]}, keep: {messages: 6}}}]
providers: {summarizer: {kind: anthropic, base_url: "%s", model: claude-haiku-4-5-20251001, api_key_env: CHAOS_KEY}}`,
	`limits: {pending_edit_events: 30}
policies: [{name: default, mode: llm, tool_output: {over_chars: 2500}, compaction: {trigger: {any: [{tokens: 20000}, {messages: 60}]}}}]
providers: {summarizer: {kind: anthropic, base_url: "%s", model: claude-haiku-4-5-20251001, api_key_env: CHAOS_KEY}}`,
}

// Real transcripts, published by several agents at once, with edits in between, a program that is killed again
// and again, and that comes back with another configuration: the log bears out everything, a lost store is made
// again, and whatever somebody changes afterwards is found and named.
//
// All of them, with their edits some 14,500 events of 176 threads, take minutes:
//
//	go test ./cmd/processor -run Chaos -v -timeout 60m -chaos.events 20000
func TestAuditOfChaos(t *testing.T) {
	race.Slow(t)
	if testing.Short() {
		t.Skip("kills the program for many seconds")
	}
	seed := *chaosSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("go test -run TestAuditOfChaos -chaos.events %d -chaos.kills %d -chaos.seed %d", *chaosEvents, *chaosKills, seed)
	random := rand.New(rand.NewPCG(seed, 0))
	l := newLoad()
	l.addOfEach(t, *chaosEvents)
	if len(l.events) == 0 {
		t.Skip("no real transcripts beside the project (../shared/data/dev)")
	}
	l.disturb(t, random)

	v := newVictim(t, build(t))
	l.live(t, v, random)
	v.stop(t)
	v.keep(t)
	v.check(t)

	if err := os.RemoveAll(processor.StoreDir(v.dir)); err != nil {
		t.Fatal(err)
	}
	v.start(t)
	v.awaitRunning(t)
	v.stop(t) // in the middle of the rebuild, as a rule: what is there must be right
	v.check(t)
	v.start(t)
	v.awaitRunning(t)
	l.awaitApplied(t, v)
	l.checkPrompts(t, v)
	v.stop(t)
	v.check(t)
	t.Run("tampered with", func(t *testing.T) { tamperWith(t, v, random) })
}

// keep copies the data where somebody wants to look at it.
func (v *victim) keep(t *testing.T) {
	t.Helper()
	if *chaosKeep == "" {
		return
	}
	if err := os.CopyFS(*chaosKeep, os.DirFS(v.dir)); err != nil {
		t.Fatal(err)
	}
}

// live has the events published by several agents, while the program is killed and comes back configured
// otherwise.
func (l *load) live(t *testing.T, v *victim, random *rand.Rand) {
	t.Helper()
	model := newChaosModel(t)
	v.env = append(os.Environ(), "CHAOS_KEY=k")
	file := filepath.Join(t.TempDir(), "precis.yaml")
	v.args = []string{"--config", file}
	configure := func(n int) {
		text := fmt.Sprintf(chaosConfigs[n*len(chaosConfigs)/(*chaosKills+1)], model.URL)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	configure(0)
	v.start(t)
	v.awaitRunning(t)
	agents := l.agents(t, v.url(), 4)
	for n := range *chaosKills {
		agents.await(t, len(l.events)*(n+1)/(*chaosKills+2))
		<-time.After(time.Duration(random.IntN(30)) * time.Millisecond)
		configure(n + 1)
		v.restart(t)
		v.awaitRunning(t)
	}
	agents.await(t, len(l.events))
	agents.done(t)
	l.awaitApplied(t, v)
	l.checkPrompts(t, v)
	t.Logf("%d events of %d threads, %d kills", len(l.events), len(l.threads), *chaosKills)
}

// awaitApplied waits until everything that is stored is applied.
func (l *load) awaitApplied(t *testing.T, v *victim) {
	t.Helper()
	for thread := range l.threads {
		v.countersOf(t, thread)
	}
}
