package outline

import (
	"regexp"
	"strings"

	"precis/summarize/lex"
)

// The outline of a code file: what it declares, with line numbers. Declarations are told by the shape of a line, which
// most languages share: modifiers, a keyword, a name; or a type, a name and parameters before a block.

// Declaration is a declaration: its name and how much of its line is its signature, in bytes.
type Declaration struct {
	Name string
	End  int
	Deep bool // a member of what stands above it
}

// deepest is how far a member of a type may be indented, in columns.
const deepest = 4

// In reads a line of code without its indentation.
func In(line string, indent int, next string) (d Declaration, ok bool) {
	if line == "" || indent > deepest || len(line) > 400 {
		return d, false
	}
	d.Deep = indent > 0
	at := 0
	plain := true // no modifier yet
	for range 8 {
		word := wordAt(line, at)
		switch {
		case word == "":
			return d, false
		case word == "data" && strings.HasPrefix(line[at:], `data "`): // Terraform's
			return d.keyword(line, at+len(word), word)
		case modifies(word):
			plain = false
			at = lex.Skip(line, at+len(word), " ")
			if at < len(line) && line[at] == '(' { // pub(crate)
				at = lex.Skip(line, at+matching(line[at:]), " ")
			}
			continue
		case line[at] == '@' || line[at] == '#' && word != "#define":
			return d, false
		case binds(word):
			return d.binding(line, at+len(word), indent, plain)
		case declares(word):
			return d.keyword(line, at+len(word), word)
		}
		return d.member(line, at, plain, next)
	}
	return d, false
}

// binds matches the words that declare a value. Only what is exported, or a function, is part of an outline.
func binds(word string) bool {
	return word == "const" || word == "let" || word == "var" || word == "val"
}

func (d Declaration) binding(line string, at, indent int, plain bool) (Declaration, bool) {
	at = lex.Skip(line, at, " ")
	d.Name = identifierAt(line, at)
	value := strings.TrimLeft(line[min(len(line), at+len(d.Name)):], " ")
	isFunction := strings.Contains(value, "=> ") || strings.HasSuffix(value, "=>") || strings.Contains(value, "= function") || strings.Contains(value, "= async") || strings.Contains(value, "(func(") || strings.Contains(value, "= struct") || strings.Contains(value, "= enum") || strings.HasPrefix(value, "= useCallback(")
	opens := strings.HasSuffix(line, "=> {") || strings.HasSuffix(line, "useCallback(") // within a component: what it does
	if d.Name == "" || indent > 0 && !(isFunction && opens) || plain && !isFunction {
		return d, false
	}
	d.End = signatureEnd(line, at+len(d.Name))
	return d, true
}

func (d Declaration) keyword(line string, at int, word string) (Declaration, bool) {
	at = lex.Skip(line, at, " *&")
	if at < len(line) && line[at] == '(' && word == "func" { // Go's receiver
		at = lex.Skip(line, at+matching(line[at:]), " ")
	}
	if at < len(line) && line[at] == '<' { // generic parameters in front
		at = lex.Skip(line, at+matching(line[at:]), " ")
	}
	kind := "" // of a Terraform block: it is named by both
	if word == "resource" || word == "data" || word == "module" || word == "variable" || word == "output" {
		if at = lex.Skip(line, at, "\""); word == "output" && line[at-1] != '"' {
			return d, false
		}
		if i := strings.Index(line[at:], `" "`); i > 0 {
			kind = line[at:at+i] + "."
			at += i + len(`" "`)
		}
	}
	if word == "CREATE" || word == "create" {
		for {
			w := wordAt(line, at)
			switch strings.ToLower(w) {
			case "or", "replace", "unique", "table", "view", "function", "index", "trigger", "type", "if", "not", "exists", "materialized", "procedure", "schema":
				at = lex.Skip(line, at+len(w), " \"`")
				continue
			}
			break
		}
	}
	d.Name = identifierAt(line, at)
	if d.Name == "" || strings.HasPrefix(line[at+len(d.Name):], ":=") || (word == "data" || word == "type" || word == "message" || word == "object" || word == "record" || word == "module" || word == "open") && strings.IndexByte("=:.,);", after(line, at+len(d.Name))) >= 0 && word != "type" {
		return d, false
	}
	if d.Deep && strings.HasSuffix(line, ",") { // of an import
		return d, false
	}
	d.End = signatureEnd(line, at+len(d.Name))
	d.Name = kind + d.Name
	return d, true
}

// member matches a method or a function without a keyword: "async load(id: string): T {", "static int total(int n)".
func (d Declaration) member(line string, at int, plain bool, next string) (Declaration, bool) {
	open := strings.IndexByte(line, '(')
	if open <= at || open+1 < len(line) && strings.IndexByte("\"'`*(", line[open+1]) >= 0 {
		return d, false
	}
	head := line[at:open]
	if strings.ContainsAny(head, "=\"'`;{}+|%!/\\") || strings.Contains(head, ". ") || strings.Contains(head, ", ") && !strings.Contains(head, "<") {
		return d, false
	}
	name := strings.TrimRight(head, " ")
	if i := strings.LastIndexByte(name, '<'); i > 0 && strings.HasSuffix(name, ">") {
		name = name[:i]
	}
	types := strings.TrimRight(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789$#~?!-")
	name = name[len(types):]
	if name == "" || lex.IsDigit(name[0]) || controls(name) || controls(wordAt(head, 0)) || strings.HasSuffix(types, ".") && !strings.Contains(types, " ") {
		return d, false
	}
	end := open + matching(line[open:])
	below := false
	if end == open { // parameters on the lines below
		end, below = len(line), typedParameter.MatchString(next)
	}
	rest := strings.TrimSpace(line[end:])
	block := below || strings.HasSuffix(line, "{") || rest == "" && strings.HasPrefix(next, "{") || strings.HasSuffix(line, "=>")
	typed := strings.TrimSpace(types) != ""
	if strings.HasSuffix(rest, ";") && !block || strings.HasPrefix(rest, ".") || !(block || typed && !plain && (rest == "" || strings.HasPrefix(rest, "throws"))) || strings.Contains(rest, "=> {") && !d.Deep {
		return d, false
	}
	if !d.Deep && !typed && plain && strings.TrimSpace(line[open:end]) != "()" && rest != "{" {
		return d, false // a call with a block
	}
	if d.Deep && plain && !typed && strings.HasPrefix(rest, "=>") {
		return d, false
	}
	d.Name, d.End = name, signatureEnd(line, open)
	return d, true
}

// typedParameter matches a parameter on a line of its own: "jobId: string,".
var typedParameter = regexp.MustCompile(`^(?:(?:public|private|protected|readonly) )*\w+\??: [\w.<>\[\]| ]+,?$`)

// controls matches the words that begin statements.
func controls(word string) bool {
	switch word {
	case "if", "for", "while", "switch", "catch", "return", "else", "elif", "do", "with", "function", "await", "new", "throw", "match", "try", "case", "when", "unless", "until", "yield",
		"delete", "typeof", "assert", "print", "describe", "it", "test", "beforeEach", "afterEach", "beforeAll", "afterAll", "super", "defer", "go", "select", "foreach", "using", "lock", "loop", "and", "or", "not", "in", "import", "from", "require", "echo", "raise", "sizeof", "expect", "async":
		return true
	}
	return false
}

// wordAt returns the word that begins at a byte, up to a space, a bracket or a quote.
func wordAt(line string, at int) string {
	if at >= len(line) {
		return ""
	}
	rest := line[at:]
	if i := strings.IndexAny(rest, " ({<\"'=;,\t"); i >= 0 {
		return rest[:i]
	}
	return rest
}

// identifierAt returns the identifier that begins at a byte; it may be qualified by dots.
func identifierAt(line string, at int) string {
	end := at
	for end < len(line) && (lex.WordByte[line[end]] || line[end] == '$' || line[end] == '.' && end+1 < len(line) && lex.WordByte[line[end+1]] || line[end] == '-' && end+1 < len(line) && lex.IsLower(line[end+1]) && at < end) {
		end++
	}
	name := line[min(at, len(line)):end]
	if name == "" || lex.IsDigit(name[0]) {
		return ""
	}
	return name
}

func after(line string, at int) byte {
	if at >= len(line) {
		return 0
	}
	return line[at]
}

// matching returns the end of the brackets that open s; 0 if they don't close.
func matching(s string) int {
	depth := 0
	for i := range len(s) {
		switch s[i] {
		case '(', '<', '[':
			depth++
		case ')', '>', ']':
			if s[i] == '>' && i > 0 && (s[i-1] == '-' || s[i-1] == '=') {
				continue
			}
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}

// longestSignature bounds what is shown of a declaration, in bytes.
const longestSignature = 88

// signatureEnd returns where a declaration's own line may be cut: before its block, or after its parameters if it is
// long, or after its name.
func signatureEnd(line string, named int) int {
	end := max(named, len(strings.TrimRight(line, " {:")))
	if end <= longestSignature {
		return end
	}
	if i := strings.IndexByte(line[named:], '('); i >= 0 && i < 30 {
		if n := matching(line[named+i:]); n > 0 && named+i+n <= longestSignature {
			return named + i + n
		}
		return named + i + 1
	}
	return named
}

// declares matches words that begin declarations in the languages that agents read most.
func declares(word string) bool {
	switch word {
	case "func", "function", "def", "class", "type", "interface", "struct", "enum", "fn", "trait", "impl", "const", "var", "let",
		"module", "mod", "record", "namespace", "macro_rules!", "object", "protocol", "extension", "typedef", "union", "val",
		"CREATE", "message", "service", "rpc", "resource", "variable", "output", "#define", "defmodule", "defp", "defmacro", "fun", "mixin", "actor", "primitive", "input", "typealias", "sub", "create", "be":
		return true
	}
	return false
}

// modifies matches words that precede those.
func modifies(word string) bool {
	switch word {
	case "export", "default", "async", "fileprivate", "data", "mutating", "lateinit", "companion", "synchronized", "implicit", "case", "local", "public", "private", "protected", "static", "final", "abstract", "pub", "pub(crate)", "unsafe",
		"extern", "inline", "virtual", "override", "declare", "readonly", "sealed", "partial", "internal", "open", "suspend":
		return true
	}
	return false
}
