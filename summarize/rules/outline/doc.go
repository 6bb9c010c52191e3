// Package outline recognizes declarations by the shape of a line, which most languages share, and the kind of a line: a declaration,
// a comment, an import, a heading. It reads one line at a time, without its indentation, and parses nothing.
package outline
