// Package shell reads the command lines that agents write: which programs run, and how they are joined.
//
// It is no shell grammar. Quotes, here-documents and the operators between commands are understood; what stands in
// substitutions, loops and functions is taken as words.
package shell

import (
	"regexp"
	"strings"
)

// Step is one simple command of a line.
type Step struct {
	Op    string   // the operator before it: "", "&&", "||", "|", "&" or ";" (also for a line break)
	Words []string // without their quotes, with assignments and redirections
}

// longest bounds how much of a line is read, in bytes. A longer one is a script with data in it.
const longest = 16 << 10

var heredoc = regexp.MustCompile(`<<-?\s*['"]?(\w+)['"]?`)

// Steps splits a command line. The bodies of here-documents and comments are left out.
func Steps(line string) []Step {
	if len(line) > longest {
		line = line[:longest]
	}
	s := splitter{}
	until := ""
	for l := range strings.SplitSeq(line, "\n") {
		if until != "" {
			if strings.TrimSpace(l) == until {
				until = ""
			}
			continue
		}
		if s.quote == 0 {
			if m := heredoc.FindStringSubmatch(l); m != nil {
				until = m[1]
			}
		}
		s.read(l)
		if s.quote != 0 {
			s.word.WriteByte('\n')
		} else if !s.escaped {
			s.end(";")
		}
		s.escaped = false
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
}

func (s *splitter) read(l string) {
	for i := 0; i < len(l); i++ {
		c := l[i]
		switch {
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
	if s.quote == 0 && !s.escaped {
		s.flush()
	}
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
		s.steps = append(s.steps, Step{Op: s.op, Words: s.words})
		s.words, s.op = nil, op
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

// Verb returns the first operand that is no option: the subcommand of git, go, npm. Options that take a value before
// it are those of git (-C dir, -c setting).
func Verb(operands []string) string {
	for i := 0; i < len(operands); i++ {
		switch w := operands[i]; {
		case w == "-C" || w == "-c" || w == "--prefix" || w == "--dir" || w == "--cwd" || w == "--filter" || w == "-w":
			i++
		case strings.HasPrefix(w, "-"):
		default:
			return w
		}
	}
	return ""
}
