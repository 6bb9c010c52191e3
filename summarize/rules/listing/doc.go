// Package listing reads listings of files (paths, ls -l and -R, trees) and writes them by directory, so that every path that is
// shown can be put together again.
package listing
