// Package manual writes what belongs to a command line besides its help, from the same model: the manual page, and what a
// shell needs to complete words.
//
// The scripts for the shells hold no command or flag: they ask the program for candidates, so that they fit whichever version
// is installed.
package manual
