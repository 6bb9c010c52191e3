// Command processor is precis: it runs the stream processor, and holds the commands that publish to it,
// follow it and ask it.
//
// Every command is a file of its own: a struct whose fields are its flags, with a Run that does the work
// and a Help that shows it used. run ties them together and returns the exit status, so that tests call
// the whole program without starting it:
//
//	0  done
//	1  it found something wrong: a rejected line, an unknown thread, a damaged store
//	2  wrong usage or configuration
//	3  it can't reach what it needs
//
// Results go to standard output, everything else to standard error. What comes from events is cleaned of
// control characters before it reaches a terminal: a tool's output must not be able to move its cursor.
package main
