package ledger

import "testing"

// What a text must not say of work that later messages overtook, or that they do not show.
func TestToldOnlyAsFarAsKnown(t *testing.T) {
	const editPier = `call Edit {"file_path":"/w/quay/pier.go","old_string":"a","new_string":"x"}` + "\nok: done\n"
	play(t, []scenario{
		// Errors that passed are mended in the files that they name, if those are known.
		{"an error of a file that nothing mended", askFerry + editPier + claude("git stash push --keep-index && go build ./...") + `fail: Exit code 1\nquay/pier.go:12:3: declared and not used: rope` + "\n" + editFerry + claude("go build ./...") + "ok: \n" + claude("go test ./...") + `ok: ok  \tferry/quay\t0.2s` + "\n",
			[]string{"go test ./... → passed"}, []string{"fixed in book.go"}},
		{"an error mended where it stands", askFerry + editPier + claude("go vet ./...") + `fail: Exit code 1\nquay/pier.go:12:3: declared and not used: rope` + "\n" + editFerry + editPier + claude("go vet ./...") + "ok: \n",
			[]string{"fixed in pier.go: quay/pier.go:12:3"}, nil},
		{"a test mended in what it tests", askFerry + claude("go test ./...") + `fail: Exit code 1\n--- FAIL: TestBerth (0.01s)\n    book_test.go:7: got 1, want 2\nFAIL\tferry/quay\t0.02s` + "\n" + editFerry + claude("go test ./...") + `ok: ok  \tferry/quay\t0.2s` + "\n",
			[]string{"fixed in book.go"}, nil},
	})
}
