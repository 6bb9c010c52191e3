// Package ledger computes compactions by rules: what happened in a span of a thread, kept as data separate from
// prose, and as a text that replaces the messages in a prompt.
//
// # What is kept
//
// A [Ledger] holds, verbatim where they are statements: the user's requests and lasting instructions (requests.go), the
// assistant's decisions and plans and the calls that the user refused (said.go), the runs of commands with their
// outcomes, commits, branches and processes in the background (runs.go, shell.go), the calls of other tools in their order
// (calls.go), the assistant's own task list
// (tasks.go), the files and what changed in them (files.go), and what takes back what stands in these lists (undone.go).
//
// # Life cycle
//
//   - [Collect] reads a span's messages, once, and returns its ledger.
//   - [Merge] joins the ledgers of adjoining spans, older first. It is associative and loses nothing,
//     so leaves can be rolled up in any grouping; a model's prose about a span never enters it.
//   - [Ledger.Trim] bounds what is stored. The first request stays, and written files go last.
//   - [Render] writes a ledger, and optional prose, within a number of characters.
//
// The same messages give the same bytes.
//
// # How a text is made
//
// A text has sections in a fixed order: goal, instructions that hold, requests, decisions and dead ends (sections.go), state
// (state.go), files (filelist.go), errors (errors.go), what comes next. Each has a share of the room and writes itself in
// whatever room it is given; what it does not want goes to the others (text.go). What later messages overtook is left out or
// marked (holds.go). A model's lines are added to the sections
// whose titles they stand under (prose.go).
//
// # Limits
//
// Instructions, decisions and corrections are recognized by English words, and what an answer chose only in its own span. What a tool does is inferred from its name and its
// arguments; a tool that writes files under an unusual name with unusual arguments is listed only by its call.
package ledger
