// Package secrets finds keys, tokens and passwords in text, and masks them.
//
// The knowledge of what secrets look like is gitleaks's: rules, keywords, entropy limits and allow lists come from its
// configuration package, so that a newer version brings newer rules. The search is our own. gitleaks's detector is
// made for files in repositories: it runs each expression over the whole text (0.3 to 1.3 MB/s on tool outputs of 50 to
// 300 KB: up to a second, where this search takes 20 ms), misses 108 of the 144 kinds in package samples, skips text
// that its author marks "gitleaks:allow", requires a quote, a blank or a line end after a token, and links decompressors
// for a dozen archive formats. Here an expression runs only around its keywords, and a token ends at the first character
// that can't be part of it. Three kinds of rules are our own: tokens known by their beginning, even if truncated
// (tokens.go), values known by their name or place (own.go), and known secrets by their value (values.go).
//
// A Masker is built once, in 20 ms, and is safe for concurrent use.
//
// Invariants, held by tests and fuzzing:
//   - masking never lengthens a text, in characters or in bytes, and never adds lines;
//   - masking a masked text changes nothing;
//   - no kind in package samples leaks 8 characters, and none of its look-alikes is masked;
//   - the text that expressions read is bounded by the text's length. If names are so dense that the budget runs out
//     (`secret=secret=…`), the unread rest is masked whole: `[masked:unread]`.
//
// Limits: a secret without any mark (a short word without a name beside it, the middle of a private key) is not found.
// Rules that need a file name are left out. Encoded text (base64 of a whole file) is not decoded.
package secrets
