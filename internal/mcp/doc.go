// Package mcp gives models tools that look behind a compacted prompt, over the Model Context Protocol: originals of messages, a search in a
// thread, what a prompt is made of, a thread's counters.
//
// A server answers by the requests of package api alone, so that it serves beside an agent (over NATS, on standard input and output)
// as in the processor (over HTTP). It changes nothing. It is for one thread, or for those that begin with a prefix; a model that names
// another one gets an error.
//
// What a tool says is text, of at most maxText characters: it costs the model's window.
package mcp
