// Package clean makes the raw bytes of a tool readable: valid UTF-8, no terminal controls, no progress lines.
package clean
