//go:build !unix

package umask

// Private does nothing: there is no such thing here.
func Private() {}
