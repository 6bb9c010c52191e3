//go:build !unix

package broker

// dirLock does nothing where there is no flock: the port is the only guard there.
type dirLock struct{}

func lockDir(string) (*dirLock, error) { return &dirLock{}, nil }

func (*dirLock) release() {}
