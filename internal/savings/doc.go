// Package savings computes whether precis paid: at each turn of a thread's assistant, what the compacted prompt held against what all
// messages of the thread would have held, at the prices of the model that the thread uses, less what changed beginnings of prompts
// cost at the provider's cache prices, and less precis's own calls.
//
//   - A Tracker observes one partition's fold (fold.Options.Saving) and makes a Turn of each of the assistant's.
//   - A Ledger prices turns and adds them up for each thread, model and policy; Report groups them.
//
// A turn's prompt is what precis.thread.context would have given just before the assistant's message: the counters tokens_live
// (held) and tokens_total (whole). Whether the agent sent that prompt is another question, which the usage that providers
// report answers, where there is any (Reported.Sent).
//
// What the provider reads from its cache is the part of a prompt before its first difference from the prompt of the thread's turn
// before, if that is not longer ago than Options.CacheFor. Everything behind it is written to the cache. Of a compacted prompt that
// place is where a message was edited or removed, where an output's summary has come to stand in for it or ceased to, or behind the
// system messages that open the thread, where another compaction stands than before. Without precis, only edits and removals move it.
//
// # Invariants
//
// Amounts are whole micro-dollars, each prompt rounded half up once. net = whole - held - own, and saved = whole - held + prefix.
// A model without a price makes amounts null, never 0, and its turns are counted apart.
//
// # Limits
//
// Only what precis sees is weighed, by the policy's tokenizer: system prompts that are no message, tool definitions and what a
// provider adds to each message weigh alike on both sides and are left out, as are the answers. A provider's minimum for caching
// (1,024 tokens and more), and prompts older than the last that its cache may hold, are left out too. The memory of a tracker grows
// with the number of threads, by some 600 bytes each.
package savings
