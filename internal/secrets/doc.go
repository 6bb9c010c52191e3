// Package secrets finds keys, tokens and passwords in text, and masks them.
//
// What a secret looks like is gitleaks's knowledge: its rules, keywords, entropy limits and allow lists
// are taken from its configuration package, so that a newer version brings newer rules. What is done with
// them is ours. gitleaks's own detector is made for files in repositories: it runs each expression over
// the whole text (1.7 MB/s on tool outputs), skips what is marked "gitleaks:allow" by whoever wrote the
// text, and links decompressors for a dozen archive formats. Here an expression is run only around its
// keywords, and own.go adds what leaves tell-tale words rather than entropy: passwords in URLs and
// assignments, authorization headers, private keys that were cut off.
//
// A Masker is made once, in 20 ms, and is safe for concurrent use.
//
// Invariants, held by tests and fuzzing:
//   - masking never lengthens a text, in characters or in bytes, and leaves no more lines than it had;
//   - a masked text is left as it is;
//   - what expressions read of a text is bounded by its length. Where names stand so densely that it is not
//     enough (`password=password=…`), what could not be looked at is masked whole: `[masked:unread]`.
//
// Limits: a secret that looks like nothing (a short word without a name beside it) is not found. Rules
// that need a file's name are left out. Text that is encoded (base64 of a whole file) is not decoded.
package secrets
