package call

import (
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"precis/summarize/envelope"
	"precis/summarize/lex"
)

// Arguments are a call's arguments by name. Values are decoded only when needed: the content of a write
// can be as large as a file.
type Arguments map[string]jsontext.Value

// ParseArguments takes an object, or a JSON string that contains one; anything else gives no arguments.
func ParseArguments(raw []byte) Arguments {
	var args Arguments
	if len(raw) == 0 {
		return nil
	}
	if json.Unmarshal(raw, &args, envelope.Lenient) == nil {
		return args
	}
	var inner string
	if json.Unmarshal(raw, &inner, envelope.Lenient) != nil {
		return nil
	}
	if json.Unmarshal([]byte(inner), &args, envelope.Lenient) != nil {
		return nil
	}
	return args
}

// Text returns the first of the named arguments that is a string (or a number, as written).
func (a Arguments) Text(names ...string) string {
	for _, name := range names {
		raw, ok := a.Named(name)
		if !ok {
			continue
		}
		switch raw.Kind() {
		case '"':
			var s string
			if json.Unmarshal(raw, &s, envelope.Lenient) == nil && strings.TrimSpace(s) != "" {
				return strings.TrimSpace(s)
			}
		case '0':
			return string(raw)
		}
	}
	return ""
}

// Named finds an argument by its name in any spelling: file_path, filePath, FilePath.
func (a Arguments) Named(name string) (jsontext.Value, bool) {
	if raw, ok := a[name]; ok {
		return raw, true
	}
	name = lex.Squeeze(name)
	for _, other := range slices.Sorted(maps.Keys(a)) {
		if len(other) >= len(name) && len(other) < len(name)+4 && lex.Squeeze(other) == name {
			return a[other], true
		}
	}
	return nil, false
}

func (a Arguments) Path() string {
	return a.Text("file_path", "path", "filename", "file", "filepath", "target_file", "absolute_path", "relative_path", "notebook_path", "file_name", "directory_path", "search_path", "dir")
}

func (a Arguments) Pattern() string {
	return a.Text("pattern", "query", "regex", "search_term", "search_query", "search", "q", "glob", "glob_pattern")
}

func (a Arguments) Url() string { return a.Text("url", "uri", "link") }

// Command returns what a call runs: a shell command, or code.
func (a Arguments) Command() string {
	if s := a.ShellLine(); s != "" {
		return s
	}
	if s := a.Text("script", "code"); strings.ContainsAny(s, " \n(=") { // {"code": "JFK"} is an airport
		return s
	}
	return ""
}

// ShellLine returns the shell command, that of PowerShell in the words of another shell where it shows something.
func (a Arguments) ShellLine() string { return plainShell(a.Typed()) }

// Typed returns the shell command as it was given; some agents give a list of words (["bash","-lc","…"]), of which it is the last.
func (a Arguments) Typed() string {
	if s := a.Text("command", "cmd", "bash_command", "command_line"); s != "" {
		return s
	}
	for _, name := range []string{"command", "cmd"} {
		var words []string
		if json.Unmarshal(a[name], &words, envelope.Lenient) != nil || len(words) == 0 {
			continue
		}
		if len(words) >= 3 && strings.HasPrefix(words[1], "-") && (strings.HasSuffix(words[1], "c") || strings.EqualFold(words[1], "-command")) {
			return words[2]
		}
		return strings.Join(words, " ")
	}
	return ""
}

// NewLines returns the lines that an edit puts in, without their indentation: of a text, or of a command in several lines.
func (a Arguments) NewLines() (list []string) {
	text := a.Text("new_string", "new_str", "new_text", "replacement", "new_content", "replace", "insert_text")
	if text == "" {
		_, text, _ = strings.Cut(a.Command(), "\n")
	}
	const most, least = 400, 4
	for line := range strings.Lines(text) {
		if line = strings.Join(strings.Fields(line), " "); len(line) >= least {
			list = append(list, line)
		}
		if len(list) == most {
			break
		}
	}
	return list
}

// titles are arguments that describe a call on their own.
var titles = []string{"description", "title", "subject", "name", "query", "url", "prompt", "question", "task", "message", "input"}

// Brief describes a call without path, command or pattern: by its title, else its short arguments,
// "origin=JFK, date=2024-05-20".
func (a Arguments) Brief() (name, text string) {
	for _, title := range titles {
		switch text := a.Text(title); {
		case text == "":
		case title == "url":
			return "URL", lex.OneLine(text) // beside links it would pass for one of that name
		default:
			return "About", lex.OneLine(text)
		}
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(a)) {
		raw := a[name]
		if len(raw) > 200 || raw.Kind() == '{' || raw.Kind() == '[' {
			continue
		}
		value := string(raw)
		var s string
		if raw.Kind() == '"' && json.Unmarshal(raw, &s, envelope.Lenient) == nil {
			value = lex.OneLine(s)
		}
		parts = append(parts, lex.OneLine(name)+"="+value)
	}
	return "Args", strings.Join(parts, ", ")
}

// Words are those of all short arguments.
func (a Arguments) Words() map[string]bool {
	words := map[string]bool{}
	for name := range a {
		for _, w := range strings.FieldsFunc(a.Text(name), func(r rune) bool { return strings.ContainsRune(` ,'"()`, r) }) {
			words[w] = true
		}
	}
	delete(words, "")
	return words
}
