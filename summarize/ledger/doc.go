// Package ledger makes compactions by rules: what happened in a span of a thread, kept as data apart from
// any prose, and as a text that stands in a prompt where the messages stood.
//
// # What is kept
//
// A [Ledger] holds the artifacts (files written, created, read, deleted), the commands and how they
// ended, the errors and whether they came back, the open and done tasks, what the user asked for and the
// standing instructions, and, so that a text can be made of it, the lines of the source that carry most
// of what is likely to be needed again, with statistics of the identifiers in them.
//
// # How it is carried on
//
//   - [Leaf] reads a span's messages, once, and gives its ledger and its text.
//   - [Merge] joins the ledgers of adjoining spans, older first. It is associative and loses nothing,
//     so leaves can be rolled up in any grouping; a model's prose about a span never enters it.
//   - [Ledger.Trim] bounds what is stored. Files come last in what it gives up.
//   - [RollUp] makes the thread's current compaction out of its leaves, and takes the messages that stay
//     verbatim behind it as a hint: what stands there anyway is not said twice.
//   - [Render] writes a ledger, and prose by whoever, within a number of characters.
//
// The same messages give the same bytes.
//
// # How a text is chosen
//
// Sections have their share of the budget: what the user wants, files, tasks, errors, commands. The rest
// goes to lines of the source, taken by the chance that an identifier in them is used again per character
// they cost; a line whose identifiers are already there adds nothing. Sentences are quoted whole, code by
// the stretch that says most; what is quoted of a changed file stands under its name among the files. The
// chances come from a logistic model over a dozen features (weigh.go) that know nothing about a word but
// how it stands in the thread. At most a quarter goes to a bare list of further identifiers.
//
// # Limits
//
// Identifiers are ASCII. What a tool does is told from its name and its arguments (verbs.go); a tool that
// writes files under a name and arguments that nobody would guess is listed by its call alone.
package ledger
