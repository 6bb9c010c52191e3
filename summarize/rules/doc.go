// Package rules summarizes tool outputs and threads by rules: offline, free and deterministic.
//
// ToolOutput is the entry point. A summary is a line of facts, `[✓ read_file: File: /app.ts | Lines: 100]`,
// followed by source lines that are likely to be needed again, a list of what else there is with its lines,
// and a mark that says what is missing and where the original is. HeadTail is the last resort:
// the beginning and the end.
//
// An output that is JSON around a text is summarized as that text (harness.go, package envelope).
//
// How lines are chosen: the source is split into fragments (a line, or a part of a long one); every
// identifier, path and number in it has a worth (weight.go: its kind, its occurrences in the text,
// whether the thread has seen it before); fragments are chosen by the worth they add per character,
// so that a second line with the same identifiers adds nothing. Some lines have a worth apart from
// their identifiers (remark.go: a state, a commit's subject, the end of a command), and
// errors of commands precede everything else. Whole lines are preferred to clipped ones (fragment.go), and the places of messages
// that do not fit are listed (failures.go).
//
// Some sources have a shape of their own: listings (listing.go), records in JSON (records.go), diffs (diff.go), accessibility
// trees (snapshot.go). Of others, landmarks are found (landmarks.go): declarations (outline.go), headings, files. What no
// chosen line shows is listed by section (further.go chooses, sections.go writes): landmarks, and identifiers behind them.
// How a call ended is decided by package verdict.
//
// Invariants, held by property tests and fuzzing:
//   - the same Input gives the same bytes, under the same Version;
//   - a Text has at most MaxChars code points, and at most as many as its source;
//   - a Text is valid UTF-8 whatever the source is;
//   - nothing panics, and no megabyte of input takes long: all passes are linear, and a
//     bounded number of fragments is considered.
//
// Limits: identifiers are ASCII (words of other scripts are kept as text, but not weighed); the meaning of a line
// is inferred from its shape, and by a parser only if Go has one for the language.
package rules
