// Package umask sets the modes of the files that the program creates.
package umask
