// Package rules summarizes tool outputs and threads by rules: offline, free and deterministic.
//
// ToolOutput is the entry point. A summary is a line of facts, `[✓ read_file: File: /app.ts | Lines: 100]`,
// followed by source lines that are likely to be needed again, a list of what else there is with its lines,
// and a mark that says what is missing and where the original is. HeadTail is the last resort:
// the beginning and the end.
//
// An output that is JSON around a text is summarized as that text (source.go, package envelope). What the call says of it is read by
// package call.
//
// First the text is read: document.go splits it into lines and finds its shape (shape.go). Each shape has a reader: package records for
// JSON, listing for names of files, outline for code, page and pages.go for HTML and accessibility trees, logs for logs, diff.go for
// diffs, digest.go for documents. Landmarks are found by which a reader finds the way (landmarks.go): declarations, headings, files; and the lines that report failures
// (failures.go). How a call ended is decided by package verdict; facts.go states it.
//
// Then lines are chosen: every identifier, path and number (package words, vocabulary.go) has a worth (features.go: its kind, its
// occurrences in the text, whether the thread has seen it before: memory.go); fragments are chosen by the worth they add per character
// (chooser.go), so that a second line with the same identifiers adds nothing. Some lines have a worth apart from their identifiers
// (remark.go: a state, a commit's subject, the end of a command), and errors of commands precede everything else. Whole lines are
// preferred to clipped ones (fragment.go). What no chosen line shows is listed by section (list.go). abridge.go puts it together, write.go
// writes it.
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
