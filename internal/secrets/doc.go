// Package secrets finds keys, tokens and passwords in text, and masks them.
//
// What a secret looks like is gitleaks's knowledge: its rules, keywords, entropy limits and allow lists
// are taken from its configuration package, so that a newer version brings newer rules. What is done with
// them is ours. gitleaks's own detector is made for files in repositories: it runs each expression over
// the whole text (1.7 MB/s on tool outputs), skips what is marked "gitleaks:allow" by whoever wrote the
// text, wants a quote, a blank or a line end behind a token, and links decompressors for a dozen archive
// formats. Here an expression is run only around its keywords, and a token ends where no more of its
// characters follow. Three kinds of rules are ours: tokens known by how they begin, however much of them is
// left (tokens.go), values known by their name or place (own.go), and known secrets by their value (values.go).
//
// A Masker is made once, in 20 ms, and is safe for concurrent use.
//
// Invariants, held by tests and fuzzing:
//   - masking never lengthens a text, in characters or in bytes, and leaves no more lines than it had;
//   - a masked text is left as it is;
//   - no kind in package samples leaks 8 characters, and none of its look-alikes is masked;
//   - what expressions read of a text is bounded by its length. Where names stand so densely that it is not
//     enough (`secret=secret=…`), what could not be looked at is masked whole: `[masked:unread]`.
//
// Limits: a secret that looks like nothing (a short word without a name beside it, the middle of a private key)
// is not found. Rules that need a file's name are left out. Text that is encoded (base64 of a whole file) is not decoded.
package secrets
