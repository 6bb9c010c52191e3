//go:build !unix

package datadir

// Lock holds nothing on systems without flock: there only the server's port guards its directory.
func Lock(string) (release func(), err error) { return func() {}, nil }
