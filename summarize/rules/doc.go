// Package rules summarizes tool outputs and threads by rules: offline, free and deterministic.
//
// ToolOutput is the way in. A summary is a line of facts, `[✓ read_file: File: /app.ts | Lines: 100]`,
// then lines of the source that are likely to be needed again, then a short list of further identifiers,
// then a mark that says what is missing and where the original stands. HeadTail is what is left when even
// that is not wanted: the beginning and the end. Thread makes one text of a thread's older messages.
//
// How lines are chosen: the source is cut into fragments (a line, or a part of a long one); every
// identifier, path and number in it has a worth (weight.go: what kind it is, how it stands in the text,
// whether the thread has seen it before); and fragments are taken by the worth they add per character,
// so that a second line with the same identifiers adds nothing. Some lines are worth something for what
// they say beside their identifiers (remark.go: a state, a commit's subject, how a command ended), and
// errors of commands go before all of that. Whole lines are preferred to clipped ones (fragment.go).
//
// Invariants, held by property tests and fuzzing:
//   - the same Input gives the same bytes, under the same Version;
//   - a Text has at most MaxChars code points, and at most as many as its source;
//   - a Text is valid UTF-8 whatever the source is;
//   - nothing panics, and no megabyte of anything takes long: all passes are linear, the choice is
//     made over a bounded number of fragments.
//
// Limits: identifiers are ASCII (words of other scripts are kept as text, but not weighed); what a line
// means is told from its shape, by a parser only where Go has one for the language.
package rules
