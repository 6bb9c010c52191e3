package ledger

import (
	"regexp"
	"strings"
)

// commandNames are the names of arguments that hold a command line.
var commandNames = []string{"command", "cmd", "script", "bash_command"}

// commandLine returns the command that a call runs; empty if none. A tool that edits files may
// have its own verb under the same name.
func (a arguments) commandLine(tool string) string {
	if list, ok := a.fields["command"].([]any); ok {
		return joinWordsOf(list)
	}
	line := a.text(commandNames...)
	if a.text(pathNames...) != "" && !strings.ContainsAny(line, " \n") {
		return ""
	}
	return line
}

// joinWordsOf joins an argument vector to a line; of ["bash","-lc","…"] it returns the last element.
func joinWordsOf(list []any) string {
	words := make([]string, 0, len(list))
	for _, e := range list {
		if s, ok := e.(string); ok {
			words = append(words, s)
		}
	}
	if len(words) == 3 && strings.HasPrefix(words[1], "-") && strings.HasSuffix(words[1], "c") {
		return words[2]
	}
	return strings.Join(words, " ")
}

var (
	changeDir = regexp.MustCompile(`^\s*cd\s+("[^"]*"|'[^']*'|\S+)\s*(?:&&|;)\s*`)
	heredoc   = regexp.MustCompile(`<<-?\s*['"]?(\w+)['"]?`)
)

// Prefixes of read-only commands and tools whose outcome says little: tools in any case,
// commands as whole words.
var (
	lookingTools = []string{
		"get", "list", "search", "find", "read", "fetch", "lookup", "view", "grep", "glob", "think", "query", "web",
	}
	lookingCommands = []string{
		"ls", "cat", "cd", "pwd", "echo", "sed -n", "grep", "rg", "find", "head", "tail", "wc", "which", "sleep", "tree",
		"open", "file", "stat", "diff", "awk", "jq", "git log", "git show", "git diff", "git status", "git branch", "git blame",
	}
)

// looks reports whether a command or a call is read-only.
func looks(line string) bool {
	for _, tool := range lookingTools {
		if len(line) >= len(tool) && strings.EqualFold(line[:len(tool)], tool) {
			return true
		}
	}
	for _, command := range lookingCommands {
		if rest, ok := strings.CutPrefix(line, command); ok && (rest == "" || !wordByte(rest[0])) {
			return true
		}
	}
	return false
}

// shell records what a command line does with files, as far as its words show.
func (c *collector) shell(at uint64, line string, end outcome) {
	if len(line) > maxScan {
		line = line[:maxScan]
	}
	c.patches(at, arguments{raw: line}, end)
	for _, cmd := range simpleCommands(line) {
		c.simple(at, cmd, end)
	}
}

// simpleCommands splits a line at its operators, without the bodies of here-documents.
func simpleCommands(line string) [][]string {
	var cmds [][]string
	until := ""
	for l := range strings.SplitSeq(line, "\n") {
		if until != "" {
			if strings.TrimSpace(l) == until {
				until = ""
			}
			continue
		}
		if m := heredoc.FindStringSubmatch(l); m != nil {
			until = m[1]
		}
		cmds = append(cmds, operators(l)...)
	}
	return cmds
}

// operators splits at && || ; and |, outside quotes, and then into words. It is not a shell grammar: what
// it splits wrongly does not look like a path.
func operators(l string) [][]string {
	var cmds [][]string
	var words []string
	var word strings.Builder
	quote := byte(0)
	flush := func() {
		if word.Len() > 0 {
			words = append(words, word.String())
			word.Reset()
		}
	}
	for i := range len(l) {
		switch c := l[i]; {
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case quote == 0 && (c == ' ' || c == '\t'):
			flush()
		case quote == 0 && (c == '&' && !strings.HasSuffix(word.String(), ">") || c == ';' || c == '|'):
			flush()
			cmds, words = append(cmds, words), nil
		default:
			word.WriteByte(c)
		}
	}
	flush()
	return append(cmds, words)
}

// simple records what one simple command does with files.
func (c *collector) simple(at uint64, words []string, end outcome) {
	words = c.redirected(at, words, end)
	if len(words) == 0 {
		return
	}
	if words[0] == "git" || words[0] == "sudo" {
		words = words[1:]
	}
	if len(words) < 2 {
		if len(words) == 1 && words[0] == "edit" && c.open != "" {
			c.file(at, c.open, opWrite, end)
		}
		return
	}
	paths := operands(words[1:])
	switch words[0] {
	case "rm", "unlink":
		c.all(at, paths, opDelete, end)
	case "touch", "create":
		c.all(at, paths, opCreate, end)
	case "tee":
		c.all(at, paths, opWrite, end)
	case "cat", "head", "tail", "less", "nl", "open":
		c.all(at, paths, opRead, end)
	case "mv", "cp":
		c.moved(at, words[0], paths, end)
	case "edit":
		if c.open != "" {
			c.file(at, c.open, opWrite, end)
		}
	case "sed":
		c.sed(at, words[1:], paths, end)
	}
}

func (c *collector) all(at uint64, paths []string, o op, end outcome) {
	for _, p := range paths {
		c.file(at, p, o, end)
	}
}

func (c *collector) moved(at uint64, verb string, paths []string, end outcome) {
	if len(paths) != 2 {
		return
	}
	if verb == "mv" {
		c.file(at, paths[0], opDelete, end)
	}
	c.file(at, paths[1], opCreate, end)
}

func (c *collector) sed(at uint64, words, paths []string, end outcome) {
	if len(paths) == 0 {
		return
	}
	o := opRead
	for _, w := range words {
		if strings.HasPrefix(w, "-i") {
			o = opWrite
		}
	}
	c.file(at, paths[len(paths)-1], o, end)
}

// redirected records the files that output is redirected to, and returns the words without them.
func (c *collector) redirected(at uint64, words []string, end outcome) []string {
	for i := 0; i < len(words); i++ {
		rest, ok := strings.CutPrefix(strings.TrimPrefix(words[i], "1"), ">")
		if !ok {
			continue
		}
		target, n := strings.TrimPrefix(rest, ">"), 1
		if target == "" && i+1 < len(words) {
			target, n = words[i+1], 2
		}
		if pathLike(target) {
			c.file(at, target, opWrite, end)
		}
		words = append(words[:i:i], words[min(i+n, len(words)):]...)
		i--
	}
	return words
}

// operands returns the words of a command that look like paths.
func operands(words []string) []string {
	var paths []string
	for _, w := range words {
		if pathLike(w) {
			paths = append(paths, w)
		}
	}
	return paths
}

var pathShape = regexp.MustCompile(`^[\w@~./+-]*[\w@-]+(?:/|\.[A-Za-z]\w{0,9})[\w@./+-]*$`)

func pathLike(w string) bool {
	return len(w) < 256 && !strings.HasPrefix(w, "-") && !strings.HasPrefix(w, "/dev/") && pathShape.MatchString(w)
}
