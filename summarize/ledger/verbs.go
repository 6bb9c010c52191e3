package ledger

import (
	"regexp"
	"strings"
)

// What a tool does with its file, inferred from its name: agents name their tools in a few ways
// (Write, write_file, str_replace_editor, fs.edit, apply_patch, NotebookEdit, mcp__files__create_file).
var (
	writes  = regexp.MustCompile(`(?i)write|edit|create|replace|patch|insert|append|save|update|modify`)
	creates = regexp.MustCompile(`(?i)create`)
	deletes = regexp.MustCompile(`(?i)delete|remove|unlink`)
	reads   = regexp.MustCompile(`(?i)read|open|view|cat|show|load|fetch|get`)
)

// pathNames are the arguments that name the file, most reliable first.
var pathNames = []string{
	"file_path", "path", "filename", "file", "filepath", "file_name", "notebook_path", "target_file",
	"relative_path", "absolute_path", "relative_workspace_path",
}

// fileCall records a call of a file tool; it returns false for any other tool.
func (c *collector) fileCall(at uint64, tool string, args arguments, end outcome) bool {
	patched := c.patches(at, args, end)
	path := args.text(pathNames...)
	if path == "" || strings.ContainsAny(path, "\n*") || len(path) > 512 {
		return patched
	}
	op := opOf(tool, args)
	if op == opNone {
		return patched
	}
	c.file(at, path, op, end)
	return true
}

type op int

const (
	opNone op = iota
	opRead
	opView // read with a tool that can also edit
	opWrite
	opCreate
	opDelete
)

// opOf returns what a tool does. A tool with several commands (view, create, str_replace …) names the command in an
// argument.
func opOf(tool string, args arguments) op {
	sub := args.text("command", "action", "mode", "operation")
	if writes.MatchString(tool) && (sub == "view" || sub == "read" || sub == "open") {
		return opView
	}
	for _, name := range []string{sub, tool} {
		switch {
		case strings.ContainsAny(name, " \n"):
		case deletes.MatchString(name):
			return opDelete
		case creates.MatchString(name):
			return opCreate
		case writes.MatchString(name):
			return opWrite
		case reads.MatchString(name):
			return opRead
		}
	}
	return opNone
}

// patched are the headings with which patches name files.
var patched = regexp.MustCompile(`(?m)^(?:\*\*\* (Add|Update|Delete) File: |(\+\+\+) b/)(\S.*)$`)

// patches records the files that a patch in the arguments changes.
func (c *collector) patches(at uint64, args arguments, end outcome) (found bool) {
	args.strings(func(_, s string) {
		if !strings.Contains(s, "*** ") && !strings.Contains(s, "+++ b/") {
			return
		}
		for _, m := range patched.FindAllStringSubmatch(s, 200) {
			o := map[string]op{"Add": opCreate, "Delete": opDelete}[m[1]]
			c.file(at, strings.TrimSpace(m[3]), max(o, opWrite), end)
			found = true
		}
	})
	return found
}

// file records one operation on a file.
func (c *collector) file(at uint64, path string, o op, end outcome) {
	f, _ := entry(c.files, &c.order.files, path)
	f.Path, f.Touched = path, at
	c.open = path
	if end.failed {
		f.Failed++
	}
	switch o {
	case opRead, opView:
		f.Read++
		f.Viewed = f.Viewed || o == opView
		return
	case opDelete:
		f.Deleted = at
		return
	case opCreate:
		f.Created = true
	}
	f.Written++
	f.Changed = at
	c.markWritten(path)
}
