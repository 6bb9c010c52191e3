// Package contents reads what messages say. Their texts stay in the log, which is read by sequence; a
// small cache keeps what has just gone by, since a tool output is judged by what stands before it.
package contents
