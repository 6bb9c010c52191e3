// Package ledger computes compactions by rules: what happened in a span of a thread, kept as data separate from
// prose, and as a text that replaces the messages in a prompt.
//
// # What is kept
//
// A [Ledger] holds the artifacts (files written, created, read, deleted), the commands and their outcomes,
// the errors and whether they recurred, the open and done tasks, the user's requests and standing
// instructions, and, for rendering, the source lines that are most likely to be needed again, with
// statistics of their identifiers.
//
// # Life cycle
//
//   - [Leaf] reads a span's messages, once, and returns its ledger and its text.
//   - [Merge] joins the ledgers of adjoining spans, older first. It is associative and loses nothing,
//     so leaves can be rolled up in any grouping; a model's prose about a span never enters it.
//   - [Ledger.Trim] bounds what is stored. It drops files last.
//   - [RollUp] computes the thread's current compaction from its leaves. It takes the messages that stay
//     verbatim after it as a hint, so as not to repeat them.
//   - [Render] writes a ledger, and optional prose, within a number of characters.
//
// The same messages give the same bytes.
//
// # How a text is chosen
//
// Each section has a share of the budget: the user's requests, files, tasks, errors, commands. The rest
// goes to source lines, ranked by the probability that an identifier in them is used again per character
// of their cost; a line whose identifiers are already present adds nothing. Sentences are quoted whole, code by
// its densest stretch; quotes from a changed file stand under its name among the files. The
// probabilities come from a logistic model over a dozen features (weigh.go) that describe how a word occurs
// in the thread, not the word itself. At most a quarter goes to a bare list of further identifiers.
//
// # Limits
//
// Identifiers are ASCII. What a tool does is inferred from its name and its arguments (verbs.go); a tool that
// writes files under an unusual name with unusual arguments is listed only by its call.
package ledger
