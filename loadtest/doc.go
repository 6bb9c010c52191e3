// Loadtest publishes as many agents at once, measures the results, and then verifies the
// processor: every thread's counters, one summary for every large tool output and revision, no
// duplicates, an invalidation for every edit of one, nothing rejected.
//
// It uses only the public contract: its subjects and JSON, over plain nats.go.
// The options alone determine what it publishes (agent.go), so that any run can be repeated; what
// it expects (expect.go) is tallied along the way, never read back from the processor.
//
// The flow of a run: options → a processor, if none is given (child.go) → follower (follow.go) →
// agents (agent.go, publish.go) → waiting (settle.go) → verdict (verify.go) → report (report.go).
// "loadtest cluster" (cluster.go) puts the same load on servers and processors of its own (party.go), and disturbs these.
package main
