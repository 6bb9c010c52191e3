package ledger

import "testing"

func TestLooks(t *testing.T) {
	for line, want := range map[string]bool{
		"ls": true, "ls -la": true, "lsof": false, "LS": false, "cat a.go": true, "catalog": false,
		"git log --oneline": true, "git logs": false, "git commit": false, "sed -n 1,5p a": true, "sed -i s/a/b/ c": false,
		"GetFile x": true, "search_files": true, "Reader": true, "go test ./...": false, "webhook": true, "file": true,
		"files": false, "": false, "g": false, "wc": true, "head-2": true, "tree_of": false,
	} {
		if looks(line) != want {
			t.Errorf("%q: %t", line, !want)
		}
	}
}
