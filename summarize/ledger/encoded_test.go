package ledger

import (
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
	"testing"
)

// Encoded data and checksums are not identifiers, whatever lies between their signs; names, paths and commits are.
func TestEncodedDataHasNoNames(t *testing.T) {
	commit, sum, long := sha1.Sum([]byte("commit")), sha256.Sum256([]byte("x")), sha512.Sum512([]byte("x"))
	sha, checksum := hex.EncodeToString(commit[:]), hex.EncodeToString(sum[:])
	std, url := base64.StdEncoding.EncodeToString(long[:]), base64.RawURLEncoding.EncodeToString(long[:])
	lines := strings.Repeat(std[:64]+"\n"+std[20:84]+"\n", 3)
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"base64", "token=" + std + " in env_file", []string{"env_file"}},
		{"base64 for URLs", `{"key": "` + url + `", "id": "req_7"}`, []string{"req_7"}},
		{"an image", "data:image/png;base64," + std + ") of Cart.tsx", []string{"data:image/png", "base64", "Cart.tsx"}},
		{"lines of it", lines + "end_of_it", []string{"end_of_it"}},
		{"an integrity", `"left-pad": "sha512-` + std + `"`, []string{"left-pad"}},
		{"a checksum", checksum + "  dist/app.tar.gz", []string{"dist/app.tar.gz"}},
		{"a digest", "image@sha256:" + checksum, []string{"sha256"}},
		{"a commit", "commit " + sha + " (" + sha[:7] + "d1)", []string{sha, sha[:7] + "d1"}},
		{"an id", "550e8400-e29b-41d4-a716-446655440000", []string{"550e8400-e29b-41d4-a716-446655440000", "550e8400", "e29b", "41d4", "a716", "446655440000"}},
		{"a name", "TestReconciliationOfPartitionsAfterARestartWithoutTheirStores2", []string{"TestReconciliationOfPartitionsAfterARestartWithoutTheirStores2"}},
	} {
		var got []string
		eachWord(c.text, func(w string) { got = append(got, w) })
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}
