// Package prompt makes the prompt that an agent gets: system messages, the current compaction under its
// heading, then the messages that no summary replaced, in the shape of a provider. It is pure: what it
// needs comes with the [Request].
//
// # Order
//
// The system and developer messages that open the thread, the compaction, then everything else where it
// stood; so a pinned message stays in its place. Anthropic and Gemini take system messages apart: those behind the opening stay at
// their places there, as marked texts of the user, so that the beginning stands. A compaction has
// the role that the policy gives it, never a higher one; tool outputs and their summaries stay in tool
// results, where a model takes them for data.
//
// # Parts
//
// A part of a content in the format's own shape is copied; any other is mapped, or a mark stands for it and it is listed in
// Prompt.OmittedParts (compose.go, media.go). Nothing between the shapes is modelled: what a copy has no name for is not lost.
// docs/prompts.md has the mapping.
//
// # Pairs
//
// Providers refuse a call without its result and a result without its call. A call's results stand right
// behind it, in the order of the calls, however late they came; those of one message stay in its order, except for Gemini. While a call at the end of the thread
// still waits, it and its siblings' results are held back (Prompt.WaitingMessageIDs), since no provider
// would take them; when another message comes before the result, the call gets a mark in its place. A
// result without its call gets a call made of the tool name and arguments that came with it.
//
// # Prefix
//
// The same request gives the same bytes, and appending messages leaves the bytes before them as they
// were, so that a provider's prompt cache holds. The exceptions are a new compaction, a result that comes
// after another message, and a prompt that runs into its limit. A text of Anthropic's that another message of
// the same turn joins becomes a list of one block, which is the same to the API. So:
//
//   - In "[truncated - N steps ago]", N counts the assistant's turns between the output and the event
//     that made it go (or, in last-resort trimming, the message that overflowed), not up to now: a number
//     that grew with every turn would change the prompt's middle each time.
//   - Last-resort trimming goes through the messages in order, as they came, and where one overflows the
//     limit makes room for a quarter of what can be removed. What it gave up then it gives up in every
//     later prompt, and nothing more until the limit is reached again.
//
// # Outputs kept whole
//
// An output with a Spare summary stands whole where there is room, and as that summary where there is none
// (Prompt.ShortenedMessageIDs); the largest give way first. Last-resort trimming counts what the newest outputs
// took when each message was the newest, up to half of what it can remove, so that what had to go for an output
// stays away when its summary has taken its place.
//
// # The limit
//
// MaxTokens is held by giving up, in this order: the outputs of older tool calls, older messages, the
// latest turn's outputs and the turn itself, the length of the compaction (below 50 tokens it is left
// out, with a mark). What is left is what must stay: system, pinned, the newest user message. Where that
// does not fit, it is given all the same with WithinBudget false. All that was given up is in
// DroppedMessageIDs, and beside it what the log no longer holds, which no prompt can have; SummaryLeftOut says that the
// messages of the compaction are given up too. Counts are of the texts, names and arguments, of media, of what else the format
// writes (tokens.Beside), and a few tokens for each message and call (cost.go), not of a provider's JSON.
//
// # Openings
//
// No provider takes an empty list of messages, and with Anthropic and Gemini the user has to begin. Where it does not, a line in the
// user's name opens the prompt; room for it is kept, so that it changes nothing of what is given up.
package prompt
