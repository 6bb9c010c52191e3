package rules

import "testing"

func TestCategoryOf(t *testing.T) {
	const (
		numbered = "     1→package a\n     2→\n     3→func A() {}\n     4→type B int\n"
		matches  = "a/b.go:12:x\na/b.go:13:y\nc/d.go:1:z\n"
		paths    = "a/b.go\na/c.go\nd.txt\n"
		object   = `{"id": 1, "name": "x"}`
		html     = "<!DOCTYPE html><html><head></head></html>"
		prose    = "Nothing special here.\nJust words.\n"
	)
	for _, c := range []struct {
		tool, args, content string
		want                Category
	}{
		// Seed 0's table.
		{"read", "", prose, FileContent}, {"cat", "", prose, FileContent},
		{"grep", "", prose, SearchResults}, {"rg", "", prose, SearchResults}, {"search", "", prose, SearchResults},
		{"ls", "", prose, DirectoryListing}, {"find", "", prose, DirectoryListing}, {"fd", "", prose, DirectoryListing},
		{"bash", "", prose, CommandOutput}, {"sh", "", prose, CommandOutput},
		{"nix-search", "", prose, StructuredData}, {"gh", "", prose, StructuredData},
		{"web-search", "", prose, WebContent}, {"web-fetch", "", prose, WebContent},
		// Seeds 1 and 2.
		{"read_file", "", prose, FileContent}, {"execute_bash", "", prose, CommandOutput}, {"search_files", "", prose, SearchResults},
		{"create_file", "", prose, WriteResult}, {"edit_file", "", prose, WriteResult},
		// Names in actual use.
		{"Read", `{"file_path":"/a.go"}`, prose, FileContent}, {"Grep", "", prose, SearchResults}, {"Glob", "", prose, DirectoryListing},
		{"Edit", "", prose, WriteResult}, {"Write", "", prose, WriteResult}, {"MultiEdit", "", prose, WriteResult},
		{"WebFetch", "", prose, WebContent}, {"WebSearch", "", prose, WebContent}, {"Task", `{"description":"x"}`, prose, Other},
		{"open", `{"command":"open a.py"}`, prose, FileContent}, {"find_file", "", prose, DirectoryListing}, {"search_dir", "", prose, SearchResults},
		{"mcp__fs__read_file", "", prose, FileContent}, {"mcp__my_server__list_directory", "", prose, DirectoryListing},
		{"functions.shell", `{"command":["bash","-lc","go vet ./..."]}`, prose, CommandOutput},
		// Recognized by an argument.
		{"str_replace_editor", `{"command":"view","path":"/a.go"}`, prose, FileContent},
		{"str_replace_editor", `{"command":"create","path":"/a.go"}`, prose, WriteResult},
		{"bash", `{"command":"cd /src && cat a.go"}`, prose, FileContent},
		{"bash", `{"command":"cat a.go | grep x"}`, prose, FileContent},
		{"bash", `{"command":"FOO=1 timeout 5 grep -rn x ."}`, prose, SearchResults},
		{"bash", `{"command":"git -C /src grep x"}`, prose, SearchResults},
		{"bash", `{"command":"ls -la"}`, prose, DirectoryListing},
		{"bash", `{"command":"go test ./..."}`, prose, CommandOutput},
		{"bash", `"{\"command\":\"ls\"}"`, prose, DirectoryListing},
		{"shell", `{"command":["bash","-lc","rg -n x"]}`, prose, SearchResults},
		{"fetcher", `{"url":"https://example.org"}`, prose, WebContent},
		// Recognized by the content.
		{"whatever", "", numbered, FileContent}, {"whatever", "", matches, SearchResults}, {"whatever", "", paths, DirectoryListing},
		{"whatever", "", object, StructuredData}, {"whatever", "", html, WebContent}, {"whatever", "", prose, Other}, {"", "", "", Other},
		{"whatever", "", "[12] link \"x\"\n[13] text", Other}, {"whatever", "", "[1, 2]", StructuredData},
		{"bash", `{"command":"curl -s https://example.org/api"}`, object, StructuredData},
		{"bash", `{"command":"curl -s https://example.org"}`, html, WebContent},
		// Invalid arguments count as none.
		{"bash", `{"command":`, prose, CommandOutput}, {"bash", `[1]`, prose, CommandOutput},
	} {
		if got := CategoryOf(c.tool, []byte(c.args), c.content); got != c.want {
			t.Errorf("%s %s %.20q: %s, want %s", c.tool, c.args, c.content, got, c.want)
		}
	}
}

func TestHeadRatio(t *testing.T) {
	for c, want := range map[Category]float64{ // seed 0's table
		FileContent: 0.7, SearchResults: 0.5, DirectoryListing: 0.3, CommandOutput: 0.6, StructuredData: 0.5, WebContent: 0.5,
	} {
		if got := c.HeadRatio(); got != want {
			t.Errorf("%s: %v, want %v", c, got, want)
		}
	}
}
