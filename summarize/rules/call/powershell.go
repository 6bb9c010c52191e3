package call

import (
	"cmp"
	"strconv"
	"strings"
)

// PowerShell has programs of its own to show files and directories. What is asked for is the same as of another shell's: the line is read as if
// those were called.

// cmdlets are those programs and their short names, in lower case.
var cmdlets = map[string]string{
	"get-content": "cat", "gc": "cat", "type": "cat",
	"get-childitem": "ls", "gci": "ls", "dir": "ls",
	"select-string": "grep", "sls": "grep", "findstr": "grep",
	"select-object": "select", "select": "select",
}

// plainShell rewrites the steps of a PowerShell line that show something in the words of another shell; any other line is unchanged. So is one that does
// more than name files: runs a program behind, writes, computes what it shows.
func plainShell(typed string) string {
	line := withinPowerShell(typed)
	first, _, _ := strings.Cut(strings.TrimSpace(line), " ")
	if to := cmdlets[strings.ToLower(first)]; to == "" || to == "select" {
		return line
	}
	steps, ok := cutSteps(line)
	if !ok {
		return line
	}
	var b strings.Builder
	for _, step := range steps {
		b.WriteString(step.before)
		if len(step.words) > 0 && strings.EqualFold(step.words[0], "type") && line == typed && !strings.Contains(step.text, `\`) {
			b.WriteString(step.text) // other shells tell with it what a name is
			continue
		}
		b.WriteString(plainStep(step.words, step.text))
	}
	return b.String()
}

// withinPowerShell returns what a line gives PowerShell to run.
func withinPowerShell(line string) string {
	trimmed := strings.TrimSpace(line)
	name, rest, _ := strings.Cut(trimmed, " ")
	name = strings.ToLower(strings.TrimSuffix(name[strings.LastIndexAny(name, `/\`)+1:], ".exe"))
	if name != "powershell" && name != "pwsh" {
		return line
	}
	for {
		var word string
		word, rest, _ = strings.Cut(strings.TrimSpace(rest), " ")
		switch low := strings.ToLower(word); {
		case low == "-command" || low == "-c":
			rest = strings.TrimSpace(rest)
			if n := len(rest); n > 1 && (rest[0] == '"' || rest[0] == '\'') && rest[n-1] == rest[0] {
				rest = rest[1 : n-1]
			}
			return rest
		case low == "-executionpolicy": // with a value
			_, rest, _ = strings.Cut(strings.TrimSpace(rest), " ")
		case !strings.HasPrefix(low, "-"):
			return line
		}
	}
}

// step is one command of a line, its words without quotes, and what is between it and the one before.
type step struct {
	before, text string
	words        []string
}

// cutSteps splits a line at ; and | outside quotes. A backslash is no escape there. ok is false if something else outside quotes has a meaning.
func cutSteps(line string) (list []step, ok bool) {
	var s step
	var word strings.Builder
	quote, has, start := byte(0), false, 0
	end := func() {
		if has || word.Len() > 0 {
			s.words = append(s.words, word.String())
		}
		word.Reset()
		has = false
	}
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			} else {
				word.WriteByte(c)
			}
		case c == '"' || c == '\'':
			quote, has = c, true
		case strings.IndexByte("&<>$@(){},`", c) >= 0 || c == '|' && strings.HasPrefix(line[i+1:], "|"):
			return nil, false
		case c == ';' || c == '|' || c == '\n':
			end()
			s.text = line[start:i]
			list = append(list, s)
			s, start = step{before: string(c) + " "}, i+1
		case c == ' ' || c == '\t':
			end()
		default:
			word.WriteByte(c)
		}
	}
	end()
	s.text = line[start:]
	return append(list, s), quote == 0
}

// plainStep is one step in the words of another shell; the text as it is if it is none of the cmdlets.
func plainStep(words []string, text string) string {
	if len(words) == 0 {
		return text
	}
	to := cmdlets[strings.ToLower(words[0])]
	if to == "" {
		return text
	}
	values, flags, plain := options(words[1:], to == "grep")
	path := cmp.Or(values["-path"], values["-literalpath"])
	switch to {
	case "cat":
		paths := plain
		if path != "" {
			paths = []string{path}
		}
		first, last := cmp.Or(values["-totalcount"], values["-first"], values["-head"]), cmp.Or(values["-tail"], values["-last"])
		out := "cat"
		switch {
		case first != "":
			out = "head -n " + first
		case last != "":
			out = "tail -n " + last
		}
		return out + quoted(paths...)
	case "ls":
		out := "ls"
		if flags["-recurse"] || flags["-r"] || flags["/s"] {
			out = "find"
		}
		return out + quoted(append(plain, path)...)
	case "grep":
		pattern := values["-pattern"]
		if pattern == "" && len(plain) > 0 {
			pattern, plain = plain[0], plain[1:]
		}
		return "grep -n " + quote(pattern) + quoted(append(plain, path)...)
	}
	if len(plain)+len(flags) > 0 || values["-last"] != "" && len(values) > 1 { // properties; with -Last, -Skip counts from the end
		return text
	}
	out := ""
	if skip := values["-skip"]; skip != "" {
		out = "tail -n +" + next(skip)
	}
	if out != "" && (values["-first"] != "" || values["-last"] != "") {
		out += " | "
	}
	if first := values["-first"]; first != "" {
		out += "head -n " + first
	} else if last := values["-last"]; last != "" {
		out += "tail -n " + last
	}
	if out == "" {
		return text
	}
	return out + " "
}

// options reads the operands of a cmdlet: options with their values, those without one, and the rest. One that searches has options with a slash too.
func options(words []string, search bool) (values map[string]string, flags map[string]bool, plain []string) {
	values, flags = map[string]string{}, map[string]bool{}
	for i := 0; i < len(words); i++ {
		name := strings.ToLower(words[i])
		switch {
		case !strings.HasPrefix(name, "-") && !(search && strings.HasPrefix(name, "/")):
			plain = append(plain, words[i])
		case takesValue[name] && i+1 < len(words):
			values[name] = words[i+1]
			i++
		default:
			flags[name] = true
		}
	}
	return values, flags, plain
}

// quoted returns the paths of a step, each with a blank in front of it, and a blank behind them.
func quoted(paths ...string) string {
	var b strings.Builder
	for _, p := range paths {
		if p != "" {
			b.WriteString(" " + quote(slashes(p)))
		}
	}
	return b.String() + " "
}

// takesValue are options with a value.
var takesValue = map[string]bool{
	"-path": true, "-literalpath": true, "-totalcount": true, "-first": true, "-head": true, "-tail": true, "-last": true, "-skip": true, "-pattern": true,
	"-encoding": true, "-filter": true, "-include": true, "-exclude": true, "-depth": true, "-context": true, "-erroraction": true, "-readcount": true,
}

func slashes(path string) string { return strings.ReplaceAll(path, `\`, "/") }

// quote returns a word that another shell reads as it is.
func quote(word string) string {
	if word != "" && !strings.ContainsAny(word, " \t\"'`$&;|<>()[]{}*?#~!\\") {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// next is the number behind one.
func next(number string) string {
	n, err := strconv.Atoi(number)
	if err != nil {
		return "1"
	}
	return strconv.Itoa(n + 1)
}
