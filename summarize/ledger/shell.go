package ledger

import (
	"regexp"
	"slices"
	"strings"

	"precis/summarize/shell"
	"precis/summarize/verdict"
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

var changeDir = regexp.MustCompile(`^\s*cd\s+("[^"]*"|'[^']*'|\S+)\s*(?:&&|;)\s*`)

// goesTo is a line that only changes the directory.
var goesTo = regexp.MustCompile(`^\s*cd\s+("[^"]*"|'[^']*'|\S+)\s*$`)

// workDir returns the directory in which a line works, if it says so, or its call, or a line before it that only went there.
func (c *collector) workDir(line string, args arguments) string {
	if m := goesTo.FindStringSubmatch(line); m != nil {
		c.cwd = cleanDir(m[1])
	}
	dir := ""
	if m := changeDir.FindStringSubmatch(line); m != nil {
		dir = cleanDir(m[1])
	} else if dir = cleanDir(args.text("workdir", "cwd", "working_directory", "dir_path", "directory")); dir == "" {
		return c.cwd
	}
	return dir
}

// cleanDir returns a directory without quotes; nothing if only a shell knows it.
func cleanDir(dir string) string {
	dir = strings.TrimPrefix(strings.TrimSuffix(strings.Trim(dir, `"'`), "/"), "./")
	if dir == "." || dir == "-" || len(dir) > 200 || strings.ContainsAny(dir, "$`*(\n") {
		return ""
	}
	return strings.ToValidUTF8(dir, "")
}

// lookingTools are the beginnings of names of tools that only read.
var lookingTools = regexp.MustCompile(`(?i)^(?:get|list|search|find|read|fetch|lookup|view|grep|glob|think|query|web)`)

// looks reports whether a command only shows what is there, or only moves files and processes about.
func looks(steps []shell.Step) bool {
	for _, s := range steps {
		switch name, _ := s.Program(); name {
		case "cd", "echo", "pwd", "sleep", "rm", "mkdir", "cp", "mv", "touch", "chmod", "which", "kill", "pkill", "test", "true", "export":
		case "npm", "pnpm", "yarn", "pip", "gh", "curl", "wget", "kubectl", "docker", "aws", "gcloud", "az":
			return false // that another machine refuses is news
		default:
			if !verdict.Shows(s) {
				return false
			}
		}
	}
	return true
}

// shell records what a command line does with files, as far as its words show.
func (c *collector) shell(at uint64, line string, steps []shell.Step, end outcome) {
	line = head(line, maxScan)
	c.patches(at, arguments{raw: line}, end)
	end.refused = end.refused || end.failed() // whatever it would have written, it was no edit in vain
	made := madeBy(steps)
	c.newDirs = made
	for i, step := range steps {
		words := step.Words
		if name, _ := step.Program(); name == "rm" && len(made) > 0 {
			words = slices.DeleteFunc(slices.Clone(words), func(w string) bool { return made[strings.TrimSuffix(w, "/")] > i })
		}
		c.simple(at, words, end)
	}
}

// madeBy has the directories that commands make, with the last command that does.
func madeBy(steps []shell.Step) (last map[string]int) {
	for i, step := range steps {
		name, operands := step.Program()
		if name != "mkdir" && (name != "git" || !slices.Contains(operands, "clone")) {
			continue
		}
		if last == nil {
			last = map[string]int{}
		}
		for _, dir := range operands {
			dir = strings.TrimSuffix(dir, "/")
			last[dir] = i
			for end := len(dir); end > 0 && name == "mkdir"; end = strings.LastIndexByte(dir[:end], '/') {
				last[dir[:end]] = i // mkdir -p
			}
		}
	}
	return last
}

// simple records what one simple command does with files.
func (c *collector) simple(at uint64, words []string, end outcome) {
	words = c.redirected(at, words, end)
	if len(words) == 0 {
		return
	}
	if words[0] == "git" && (slices.Contains(words, "--cached") || slices.Contains(words, "-n") || slices.Contains(words, "--dry-run")) {
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
	case "rm", "unlink": // its operands are paths, whatever they look like
		c.all(at, slices.DeleteFunc(slices.Clone(words[1:]), func(w string) bool { return !pathLike(w) && (!bareName.MatchString(w) || outputs.MatchString(w)) }), opDelete, end)
	case "touch", "create":
		c.all(at, paths, opCreate, end)
	case "tee":
		c.all(at, paths, opWrite, end)
	case "cat", "head", "tail", "less", "nl", "open":
		c.all(at, paths, opRead, end)
	case "mv", "cp":
		c.moved(at, words[0], words[1:], end)
	case "edit":
		if c.open != "" {
			c.file(at, c.open, opWrite, end)
		}
	case "sed":
		c.sed(at, words[1:], inPlace(words[0], words[1:]), end)
	case "perl", "gsed", "ruby":
		if inPlace(words[0], words[1:]) {
			c.sed(at, words[1:], true, end)
		}
	}
}

func (c *collector) all(at uint64, paths []string, o op, end outcome) {
	for _, p := range paths {
		c.file(at, p, o, end)
	}
}

func (c *collector) moved(at uint64, verb string, words []string, end outcome) {
	words = slices.DeleteFunc(slices.Clone(words), func(w string) bool { return strings.HasPrefix(w, "-") || strings.ContainsAny(w, "<>|&") })
	if len(words) < 2 {
		return
	}
	target := words[len(words)-1]
	dir := strings.TrimSuffix(target, "/")
	bare := bareName.MatchString(dir) // a directory, or one of no extension
	if !pathLike(target) && (!bare || verb != "mv") {
		return
	}
	for _, path := range words[:len(words)-1] {
		isDir := verb == "mv" && c.moveDir(at, path, dir, end)
		if isDir || !pathLike(path) {
			continue
		}
		to := target
		isDir = strings.HasSuffix(target, "/") || len(words) > 2 || c.hasDir(dir)
		if isDir {
			to = dir + "/" + base(path)
		}
		switch {
		case verb == "mv" && !isDir && !strings.Contains(base(dir), "."): // it may be a directory, or the file's new name
			c.to = dir
			c.file(at, path, opDelete, end)
			c.to = ""
		case verb == "mv":
			c.move(at, path, to, end)
		default:
			c.file(at, to, opCreate, end)
		}
	}
}

// hasDir reports whether a path was seen as a directory: the current line makes it, or a file that is known is in it.
func (c *collector) hasDir(dir string) bool {
	_, isMade := c.newDirs[dir]
	return isMade || slices.ContainsFunc(c.files.list, func(f File) bool {
		return strings.HasPrefix(f.Path, dir+"/") || dir != "" && dir[0] != '/' && strings.Contains(f.Path, "/"+dir+"/")
	})
}

// moveDir records that the files of a directory that are known have other paths now. It returns false if none is.
func (c *collector) moveDir(at uint64, from, to string, end outcome) (moved bool) {
	from = strings.TrimPrefix(strings.TrimSuffix(from, "/"), "./")
	if from == "" || end.refused {
		return false
	}
	for i := range min(len(c.files.list), maxFiles) {
		f, dir, rest := c.files.list[i], to, ""
		if inside, ok := strings.CutPrefix(f.Path, from+"/"); ok {
			rest = inside
		} else if at := strings.Index(f.Path, "/"+from+"/"); from[0] != '/' && at >= 0 {
			if rest = f.Path[at+len(from)+2:]; to[0] != '/' {
				dir = f.Path[:at+1] + to
			}
		}
		if rest == "" || f.gone() {
			continue
		}
		if moved = true; f.Written > 0 {
			c.move(at, f.Path, dir+"/"+rest, end)
		}
	}
	return moved
}

// sed records the files that sed or perl reads, or rewrites in place.
func (c *collector) sed(at uint64, words []string, inPlace bool, end outcome) {
	o, given := opRead, false
	if inPlace {
		o = opWrite
	}
	var rest []string
	for i := 0; i < len(words); i++ {
		switch w := words[i]; {
		case w == "-e" || w == "-f" || strings.HasPrefix(w, "-") && strings.HasSuffix(w, "e") && !strings.HasPrefix(w, "--") && len(w) < 6:
			given = true
			i++
		case strings.HasPrefix(w, "-") || w == "":
		case !given:
			given = true // the program
		default:
			rest = append(rest, w)
		}
	}
	c.all(at, operands(rest), o, end)
}

// inPlaceSed and inPlaceScript are options of sed, and of perl and ruby, that say that files are rewritten: -i by itself, with the end
// of a backup's name, or behind letters that take no value. -Ilib is none.
var (
	inPlaceSed    = regexp.MustCompile(`^(?:-[nErsuz]*i|--in-place(?:=|$))`)
	inPlaceScript = regexp.MustCompile(`^-[0-7lanpsw]*i(?:e|~|\.\w+)?$`)
)

// inPlace reports whether the options of sed, perl or ruby say that files are rewritten; what stands behind a script is the script's.
func inPlace(name string, words []string) bool {
	if name == "sed" || name == "gsed" {
		return slices.ContainsFunc(words, inPlaceSed.MatchString)
	}
	program := false // the word before takes this one
	for _, w := range words {
		switch {
		case program:
			program = false
		case !strings.HasPrefix(w, "-"):
			return false
		case inPlaceScript.MatchString(w):
			return true
		default:
			program = strings.HasSuffix(w, "e") && len(w) < 6
		}
	}
	return false
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

// bareName is a path of one name without an extension, where only a path can stand.
var bareName = regexp.MustCompile(`^\w[\w@+-]*$`)

var pathShape = regexp.MustCompile(`^[\w@~./+-]*[\w@-]+(?:/|\.[A-Za-z]\w{0,9})[\w@./+-]*$`)

func pathLike(w string) bool {
	return len(w) < 256 && !strings.HasPrefix(w, "-") && !strings.HasPrefix(w, "/dev/") && pathShape.MatchString(w)
}
