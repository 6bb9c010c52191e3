// Loadtest publishes as many agents at once, times what comes back, and then holds the processor to
// account: every thread's counters, one summary for every large tool output and revision, none
// twice, an invalidation for every edit of one, nothing rejected.
//
// It knows precis from outside only: the subjects and the JSON of the contract, over plain nats.go.
// What it publishes follows from its options alone (plan.go), so that any run can be repeated; what
// it expects (expect.go) is tallied as it goes, never read back from the processor.
//
// The way of a run: options → a processor, where none is given (child.go) → follower (follow.go) →
// agents (agent.go, publish.go) → waiting (settle.go) → verdict (verify.go) → report (report.go).
package main
