// Package words finds identifiers in texts, splits them into subwords and numbers those of a document; Seen remembers those of a thread.
//
// An identifier is ASCII: letters, digits and underscores, joined by single . / : or -. Both a whole and its parts count. Tables and
// filters of its own take half the time and memory of maps, which matters at some hundred thousand lookups per large output.
package words
