// Package cut decides how much of a thread a compaction replaces: which messages, and when it is
// worth doing at all. It is pure: no clock, no storage, no contents, only what each message weighs.
//
// # What is replaced
//
// A cut is a position before a message. What lies before it is replaced, except what has to stay
// verbatim where it stood: pinned messages, system and developer messages (unless the policy has
// summarize_system), the latest user message, and the latest assistant turn with its results. What
// lies behind it stays. The position is safe: no tool call stands on one side and its result on the
// other, and no call before it still waits. The best position is before a user message; where a long
// autonomous run has none, before an assistant message, since a turn of the loop ends there.
//
// # Calls and results
//
// A result belongs to the oldest open call with its id. It may come late, out of order among parallel
// calls, or (when publishers race) before its call; no cut is made between the two. One message may have the results of several
// calls, and a text beside them: as the latest user message it stays verbatim without its calls, as a pinned result does. A call whose
// result has not come within [Patience] messages is taken for abandoned, or a crashed tool would make
// its thread uncompactable for ever. If the result comes after all, it is a result without a call,
// which the prompt quotes as text.
//
// # Flat cost
//
// [State] is what a caller stores per thread: a few counters, the open calls, and the positions that
// are still inside the part to keep ([maxPending] at most). [State.Apply] costs the same for the
// 100,000th message as for the first and needs none of the messages before it; [State.Facts] says what
// a compaction could remove right now, which [Fires] holds against the policy's condition. Only when
// that fires are the messages since the last cut read, at most what the trigger's threshold let
// through, and summarized; [State.Replace] then moves the counters on. [Boundary] is the same State
// folded over a list, so there is no second implementation of the rules.
//
// An edit changes a message's weight: [State.Adjust]. Callers give in Item.Tokens what the message
// weighs in the prompt: where a tool output's summary stands in for it, the summary's tokens.
//
// A caller that can't replace so much at once asks [State.Short] for an earlier place, and [State.Before] for the
// position there.
//
// # Limits
//
// Where calls overlap without a gap (many tools always in flight), no position is safe until one of
// them is abandoned. With keep.tokens over many small messages the positions inside the kept part are
// thinned out, so a cut can keep somewhat more than asked, never less.
package cut
