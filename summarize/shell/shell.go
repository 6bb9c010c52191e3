// Package shell reads the command lines that agents write: which programs run, and how they are joined.
//
// It is no shell grammar. Quotes, here-documents, substitutions and the operators between commands are understood; what
// stands in loops and functions is taken as words.
package shell

import (
	"regexp"
	"slices"
	"strings"
)

// Step is one simple command of a line.
type Step struct {
	Op    string   // the operator before it: "", "&&", "||", "|", "&" or ";" (also for a line break)
	Words []string // without their quotes, with assignments and redirections
	Subs  []Step   // those of the substitutions in its words: $(…) and `…`
}

// longest bounds how much of a line is read, in bytes. A longer one is a script with data in it.
const longest = 16 << 10

var heredoc = regexp.MustCompile(`<<-?\s*['"]?(\w+)['"]?`)

// Steps splits a command line. The bodies of here-documents and comments are left out.
func Steps(line string) []Step {
	const deepest = 4
	return stepsOf(line[:min(len(line), longest)], deepest)
}

// stepsOf reads substitutions down to a depth.
func stepsOf(line string, depth int) []Step {
	s := splitter{deeper: depth - 1}
	until := ""
	for l := range strings.SplitSeq(line, "\n") {
		if until != "" {
			if strings.TrimSpace(l) == until {
				until = ""
			}
			continue
		}
		if s.quote == 0 || s.depth > 0 && s.inner == 0 {
			if m := heredoc.FindStringSubmatch(l); m != nil {
				until = m[1]
			}
		}
		s.read(l)
		if s.depth > 0 {
			s.sub.WriteByte('\n')
		} else if s.quote != 0 {
			s.word.WriteByte('\n')
		} else if !s.escaped {
			s.end(";")
		}
		s.escaped = false
	}
	if s.depth > 0 { // cut off, or no substitution
		s.closeSub()
	}
	s.end("")
	return s.steps
}

// splitter is the state of reading a line.
type splitter struct {
	steps   []Step
	op      string
	words   []string
	word    strings.Builder
	quoted  bool // the word has quotes, so that it counts even if it is empty
	quote   byte // the open quote
	escaped bool // the line ends with a backslash

	sub   strings.Builder // the open substitution
	depth int             // of its parentheses; 0 outside
	tick  bool            // it stands between backticks
	inner byte            // the open quote in it
	subs  []Step          // of the command's closed substitutions

	deeper int // how deep substitutions in substitutions are read
}

func (s *splitter) read(l string) {
	for i := 0; i < len(l); i++ {
		c := l[i]
		switch {
		case s.depth > 0:
			i = s.readSub(l, i)
		case s.quote != '\'' && (c == '`' || c == '$' && strings.HasPrefix(l[i:], "$(") && !strings.HasPrefix(l[i:], "$((")):
			s.depth, s.tick = 1, c == '`'
			if c == '$' {
				i++
			}
		case s.quote == '"' && c == '\\' && i+1 < len(l) && strings.IndexByte("\"\\$`", l[i+1]) >= 0:
			i++
			s.word.WriteByte(l[i])
		case s.quote != 0:
			if c == s.quote {
				s.quote = 0
			} else {
				s.word.WriteByte(c)
			}
		case c == '\\' && i+1 == len(l):
			s.escaped = true
		case c == '\\':
			i++
			s.word.WriteByte(l[i])
		case c == '"' || c == '\'':
			s.quote, s.quoted = c, true
		case c == ' ' || c == '\t':
			s.flush()
		case c == '#' && s.word.Len() == 0 && !s.quoted:
			return
		case c == '&' && (strings.HasSuffix(s.word.String(), ">") || i+1 < len(l) && l[i+1] == '>'):
			s.word.WriteByte(c) // 2>&1, &>file
		case c == '&' || c == '|' || c == ';':
			op := string(c)
			if i+1 < len(l) && l[i+1] == c {
				op += op
				i++
			}
			s.end(op)
		default:
			s.word.WriteByte(c)
		}
	}
	if s.quote == 0 && !s.escaped && s.depth == 0 {
		s.flush()
	}
}

// readSub reads a byte of a substitution and returns the index of the last byte read.
func (s *splitter) readSub(l string, i int) int {
	c := l[i]
	switch {
	case c == '\\' && s.inner != '\'' && i+1 < len(l):
		s.sub.WriteByte(c)
		i++
		c = l[i]
	case s.inner != 0:
		if c == s.inner {
			s.inner = 0
		}
	case s.tick:
		if c == '`' {
			s.closeSub()
			return i
		}
	case c == '"' || c == '\'':
		s.inner = c
	case c == '(':
		s.depth++
	case c == ')':
		if s.depth--; s.depth == 0 {
			s.closeSub()
			return i
		}
	}
	s.sub.WriteByte(c)
	return i
}

// closeSub ends a substitution. Its text stays part of the word.
func (s *splitter) closeSub() {
	text := s.sub.String()
	if s.deeper >= 0 {
		s.subs = append(s.subs, stepsOf(text, s.deeper)...)
	}
	if s.tick {
		s.word.WriteString("`" + text + "`")
	} else {
		s.word.WriteString("$(" + text + ")")
	}
	s.sub.Reset()
	s.depth, s.tick, s.inner = 0, false, 0
}

func (s *splitter) flush() {
	if s.word.Len() > 0 || s.quoted {
		s.words = append(s.words, s.word.String())
	}
	s.word.Reset()
	s.quoted = false
}

// end closes a command; op stands before the next one.
func (s *splitter) end(op string) {
	s.flush()
	if len(s.words) > 0 {
		s.steps = append(s.steps, Step{Op: s.op, Words: s.words, Subs: s.subs})
		s.words, s.subs, s.op = nil, nil, op
	} else if op != "" && op != ";" {
		s.op = op
	}
}

// wrappers run the program that their operands name.
var wrappers = map[string]bool{"sudo": true, "time": true, "env": true, "command": true, "nohup": true, "exec": true, "stdbuf": true,
	"nice": true, "xvfb-run": true, "then": true, "do": true, "else": true, "if": true, "!": true, "(": true, "{": true, "while": true}

// Program returns the name of the program that a step runs, without its directory, and its operands. Assignments, and
// what runs another program (sudo, env, timeout 5), are skipped.
func (s Step) Program() (name string, operands []string) {
	words := s.Words
	for len(words) > 0 {
		w := strings.TrimLeft(words[0], "({")
		switch {
		case w == "" || wrappers[w] || isAssignment(w):
			words = words[1:]
			for len(words) > 0 && wrappers[w] && strings.HasPrefix(words[0], "-") {
				words = words[1:]
			}
			continue
		case w == "timeout":
			words = words[1:]
			for len(words) > 0 && (strings.HasPrefix(words[0], "-") || words[0] != "" && words[0][0] >= '0' && words[0][0] <= '9') {
				words = words[1:]
			}
			continue
		}
		return strings.TrimRight(w[strings.LastIndexByte(w, '/')+1:], ")"), words[1:]
	}
	return "", nil
}

func isAssignment(w string) bool {
	name, _, ok := strings.Cut(w, "=")
	return ok && name != "" && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789") == ""
}

// takesValue are options that take a value in front of a subcommand: git -C dir, kubectl -n namespace, gh -R repository,
// docker compose -f file.
var takesValue = map[string]bool{"-C": true, "-c": true, "--prefix": true, "--dir": true, "--cwd": true, "--filter": true, "-w": true, "-n": true, "--namespace": true,
	"--context": true, "--kubeconfig": true, "--cluster": true, "-R": true, "--repo": true, "-f": true, "--file": true, "-p": true, "--project-name": true,
	"--project-directory": true, "--profile": true, "--env-file": true, "-H": true, "--host": true, "--region": true, "--git-dir": true, "--work-tree": true}

// Verb returns the first operand that is no option: the subcommand of git, go, npm.
func Verb(operands []string) string {
	verb, _ := CutVerb(operands)
	return verb
}

// CutVerb returns the subcommand and what follows it.
func CutVerb(operands []string) (verb string, rest []string) {
	for i := 0; i < len(operands); i++ {
		switch w := operands[i]; {
		case takesValue[w]:
			i++
		case strings.HasPrefix(w, "-"):
		default:
			return w, operands[i+1:]
		}
	}
	return "", nil
}

// Flat returns the simple commands of a line in the order in which they run: with those of substitutions, and with what
// xargs, find -exec, bash -c and eval run in their place. A command whose words hold a substitution follows it as if
// behind ";", since it hides the substitution's end; an assignment alone does not. A here-document that is a word, "$(cat <<EOF …)", is text.
func Flat(steps []Step) []Step {
	const deepest = 4
	return flat(nil, steps, deepest)
}

func flat(list, steps []Step, depth int) []Step {
	for _, step := range steps {
		inside, replaced := step.Subs, false
		name, operands := step.Program()
		if depth == 0 || isText(inside) {
			inside = nil
		}
		if len(inside) > 0 {
			at := len(list)
			list = flat(list, inside, depth-1)
			if at < len(list) {
				list[at].Op = step.Op
			}
			if name == "" {
				continue
			}
			step.Op = ";"
		}
		if inner := runBy(name, operands); len(inner) > 0 && depth > 0 {
			at := len(list)
			list = flat(list, inner, depth-1)
			if replaced = at < len(list); replaced {
				list[at].Op = step.Op
			}
		}
		if !replaced {
			list = append(list, step)
		}
	}
	return list
}

// isText reports whether a substitution is a here-document.
func isText(inside []Step) bool {
	if len(inside) != 1 || len(inside[0].Subs) > 0 {
		return false
	}
	name, operands := inside[0].Program()
	return name == "cat" && !slices.ContainsFunc(operands, func(w string) bool { return !strings.HasPrefix(w, "<<") })
}

// runBy returns what a program runs that is named by its operands.
func runBy(name string, operands []string) []Step {
	switch name {
	case "xargs":
		for len(operands) > 0 && strings.HasPrefix(operands[0], "-") {
			n := 1
			if w := operands[0]; len(w) == 2 && strings.IndexByte("IPnLdsaE", w[1]) >= 0 {
				n = 2
			}
			operands = operands[min(n, len(operands)):]
		}
	case "find":
		at := slices.IndexFunc(operands, func(w string) bool { return w == "-exec" || w == "-execdir" })
		if at < 0 {
			return nil
		}
		operands = operands[at+1:]
	case "bash", "sh", "zsh", "dash":
		for i, w := range operands {
			if strings.HasPrefix(w, "-") && strings.HasSuffix(w, "c") && i+1 < len(operands) {
				return Steps(operands[i+1])
			}
			if !strings.HasPrefix(w, "-") {
				break
			}
		}
		return nil
	case "eval":
		return Steps(strings.Join(operands, " "))
	case "kubectl", "oc":
		at := slices.Index(operands, "--")
		if Verb(operands) != "exec" || at < 0 {
			return nil
		}
		operands = operands[at+1:]
	default:
		return nil
	}
	if len(operands) == 0 {
		return nil
	}
	return []Step{{Words: operands}}
}
