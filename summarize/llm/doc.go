// Package llm makes summaries by models, and falls back where they fail.
//
// A Ladder runs Jobs. One job climbs down its rungs until one holds: the first provider, the next
// provider, the rules, truncation; or it fails, where the policy says so. Nothing that a model says is
// taken on trust: a text is adopted only when its finish reason, its length and its lines pass the
// checks of check.go, and facts that the rules rank highest are put back where it left them out.
//
// What leaves the process is masked first and fenced: the material stands between two lines with a mark
// that is derived from it and does not occur in it, so that instructions inside it stay text.
//
// Every call is told, with its usage and cost, also the failed and the refused ones: an Outcome's Calls
// are what usage.recorded events are made from. The caller that persists them restores what was spent through
// a Ledger, so that a daily budget survives a restart. A Job's Begin is told of each call before it leaves, so
// that one whose answer a crash loses can be recorded too.
//
// Invariants, held by tests against a server that speaks both wire formats and misbehaves:
//   - a job always ends, within its context, its attempts and their timeouts, in exactly one Outcome;
//   - an adopted text is within the job's budget and shorter than its source;
//   - a secret that the mask knows is neither sent nor in a text that is given back;
//   - the clients retry nothing: every HTTP request is one Call.
//
// Limits: usage of a call whose answer was lost is an estimate. A provider that bills errors is not
// known here. Limits and budgets are per process, not shared between processors.
package llm
