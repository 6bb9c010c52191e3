package manual

import (
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// Candidates that stand for names in the file system, which the shell completes itself.
const (
	Files       = ":files"
	Directories = ":dirs"
)

// A Candidate is a word that may stand where the cursor is.
type Candidate struct {
	Word string
	Help string // empty: it says itself
}

// Complete returns what the last of words, which is empty or begun, may become. The words are those behind the name of the
// program. As bash breaks words at "=", a flag may be a word of its own before it; its value is then completed alone.
func Complete(app *kong.Application, words []string) []Candidate {
	if len(words) == 0 {
		words = []string{""}
	}
	before, current := words[:len(words)-1], words[len(words)-1]
	l := line{node: app.Node}
	for _, word := range before {
		l.read(word)
	}
	if current == "=" && l.waiting != nil {
		current = ""
	}
	name, value, assigned := strings.Cut(current, "=")
	switch {
	case l.waiting != nil:
		return begun(valuesOf(l.waiting.Value, l.waiting.PlaceHolder), current)
	case l.rest:
		return begun(l.argument(), current)
	case assigned && strings.HasPrefix(name, "--"):
		return l.assigned(name, value)
	case strings.HasPrefix(current, "-"):
		return begun(l.flags(app), current)
	case l.node == app.Node:
		return begun(commands(app), current)
	default:
		return begun(l.argument(), current)
	}
}

// line is how far a command line has been read.
type line struct {
	node    *kong.Node
	waiting *kong.Flag // the flag whose value comes next
	given   int        // positional arguments
	rest    bool       // behind "--" there are only arguments
}

func (l *line) read(word string) {
	switch {
	case l.waiting != nil && word == "=":
	case l.waiting != nil:
		l.waiting = nil
	case l.rest:
		l.given++
	case word == "--":
		l.rest = true
	case strings.HasPrefix(word, "-"):
		name, _, assigned := strings.Cut(word, "=")
		if f := l.flag(name); f != nil && !assigned && !f.IsBool() {
			l.waiting = f
		}
	case l.node.Type == kong.ApplicationNode:
		for _, child := range l.node.Children {
			if child.Name == word {
				l.node = child
			}
		}
	default:
		l.given++
	}
}

// all are the flags that may stand here: the command's and those of the program; before a command, those of the default one.
func (l *line) all() []*kong.Flag {
	flags := slices.Clone(l.node.Flags)
	if l.node.Parent != nil {
		return append(flags, l.node.Parent.Flags...)
	}
	if l.node.DefaultCmd != nil {
		return append(flags, l.node.DefaultCmd.Flags...)
	}
	return flags
}

func (l *line) flag(name string) *kong.Flag {
	for _, f := range l.all() {
		if "--"+f.Name == name || f.Short != 0 && "-"+string(f.Short) == name {
			return f
		}
	}
	return nil
}

func (l *line) flags(app *kong.Application) (list []Candidate) {
	for _, f := range l.all() {
		if !f.Hidden {
			list = append(list, Candidate{Word: "--" + f.Name, Help: f.Help})
		}
	}
	return list
}

func (l *line) assigned(name, value string) (list []Candidate) {
	f := l.flag(name)
	if f == nil {
		return nil
	}
	for _, c := range begun(valuesOf(f.Value, f.PlaceHolder), value) {
		if c.Word != Files && c.Word != Directories {
			c.Word = name + "=" + c.Word
		}
		list = append(list, c)
	}
	return list
}

func (l *line) argument() []Candidate {
	args := l.node.Positional
	if len(args) == 0 {
		return nil
	}
	at := min(l.given, len(args)-1)
	if l.given > at && !args[at].IsCumulative() {
		return nil
	}
	return valuesOf(args[at], "")
}

func commands(app *kong.Application) (list []Candidate) {
	for _, child := range app.Children {
		if !child.Hidden {
			list = append(list, Candidate{Word: child.Name, Help: child.Help})
		}
	}
	return list
}

// valuesOf are the values that a flag or an argument may have, as far as they can be told.
func valuesOf(v *kong.Value, placeholder string) (list []Candidate) {
	if v.Enum != "" {
		for _, word := range v.EnumSlice() {
			list = append(list, Candidate{Word: word})
		}
		return list
	}
	switch {
	case placeholder == "DIR" || v.Tag.Type == "existingdir" || v.Name == "dir":
		return []Candidate{{Word: Directories}}
	case placeholder == "FILE" || v.Tag.Type == "existingfile" || v.Tag.Type == "path" || v.Name == "file":
		return []Candidate{{Word: Files}}
	}
	return nil
}

// begun are the candidates that begin with what is typed.
func begun(list []Candidate, typed string) []Candidate {
	return slices.DeleteFunc(list, func(c Candidate) bool {
		return c.Word != Files && c.Word != Directories && !strings.HasPrefix(c.Word, typed)
	})
}
