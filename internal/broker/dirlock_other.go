//go:build !unix

package broker

// dirLock does nothing on systems without flock: there only the port guards the directory.
type dirLock struct{}

func lockDir(string) (*dirLock, error) { return &dirLock{}, nil }

func (*dirLock) release() {}
