package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// Each command that prints results has --json, and docs/commands.md says what it prints then.
func TestJSONEverywhereAndDocumented(t *testing.T) {
	parser, err := kong.New(&cli{}, kong.Vars{"version": "v0"})
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(projectFile(t, "docs/commands.md"), "\n## JSON\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var documented []string
	for _, row := range regexp.MustCompile(`(?m)^\| (.*?) \|`).FindAllStringSubmatch(section, -1) {
		for _, name := range regexp.MustCompile("`(\\w+)[^`]*`").FindAllStringSubmatch(row[1], -1) {
			documented = append(documented, name[1])
		}
	}
	if !found || len(documented) < 20 {
		t.Fatalf("read %q", documented)
	}
	// They serve, or print what a shell or a reader of manuals takes.
	without := []string{"run", "gateway", "mcp", "completion", "man"}
	for _, leaf := range parser.Model.Leaves(true) {
		has := slices.ContainsFunc(leaf.Flags, func(f *kong.Flag) bool { return f.Name == "json" })
		if has == slices.Contains(without, leaf.Name) || has != slices.Contains(documented, leaf.Name) {
			t.Errorf("%s: --json %v, in docs/commands.md %v", leaf.Name, has, slices.Contains(documented, leaf.Name))
		}
		documented = slices.DeleteFunc(documented, func(name string) bool { return name == leaf.Name })
	}
	if len(documented) > 0 {
		t.Errorf("docs/commands.md has commands that there are not: %q", documented)
	}
}
