//go:build unix

package datadir

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// nobody is the user of a service.
const nobody = 65534

// What root has made in a service's directory is given to the service, and nothing that stands elsewhere is, by whatever link.
func TestEntrust(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root alone gives files away")
	}
	dir, outside := filepath.Join(t.TempDir(), "data"), t.TempDir()
	write := func(path string) string {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte("x"), 0o600))
		return path
	}
	own, secret, listed := write(filepath.Join(dir, "nats", "1.blk")), write(filepath.Join(outside, "secret")), write(filepath.Join(outside, "list", "file"))
	others := write(filepath.Join(dir, "another's"))
	require.NoError(t, os.Chown(others, 4711, 4711))
	require.NoError(t, os.Chown(dir, nobody, nobody))
	require.NoError(t, os.Symlink(secret, filepath.Join(dir, "soft")))
	require.NoError(t, os.Symlink(filepath.Dir(listed), filepath.Join(dir, "list")))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	require.NoError(t, Entrust(dir))
	hard := filepath.Join(dir, "nats", "0-hard")
	require.NoError(t, os.Link(secret, hard))
	late := write(filepath.Join(dir, "nats", "2.blk"))
	require.ErrorContains(t, Entrust(dir), hard, "the error names it")
	for path, want := range map[string]uint32{own: nobody, filepath.Dir(own): nobody, late: nobody, others: 4711, secret: 0, listed: 0, filepath.Dir(listed): 0} {
		st, err := owner(path)
		require.NoError(t, err)
		require.Equal(t, want, st.Uid, path)
	}
}

// A directory of root's in one of the service's is the service's.
func TestEntrustWithin(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root alone gives files away")
	}
	dir := t.TempDir()
	require.NoError(t, os.Chown(dir, nobody, nobody))
	within := filepath.Join(dir, "nats")
	require.NoError(t, os.Mkdir(within, 0o700))
	require.NoError(t, Entrust(within))
	st, err := owner(within)
	require.NoError(t, err)
	require.EqualValues(t, nobody, st.Uid)
}
