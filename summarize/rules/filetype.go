package rules

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"precis/summarize/lex"

	"precis/summarize/envelope"
)

// fileTypes are the types by a path's extension, with the names of seed 2 where it has them.
var fileTypes = map[string]string{
	"go": "Go", "ts": "TypeScript", "tsx": "TypeScript", "js": "JavaScript", "jsx": "JavaScript", "mjs": "JavaScript", "cjs": "JavaScript",
	"py": "Python", "rs": "Rust", "java": "Java", "kt": "Kotlin", "c": "C", "h": "C", "cc": "C++", "cpp": "C++", "hpp": "C++",
	"cs": "C#", "rb": "Ruby", "php": "PHP", "swift": "Swift", "scala": "Scala", "sh": "shell", "bash": "shell", "zsh": "shell",
	"md": "Markdown", "mdx": "Markdown", "markdown": "Markdown", "rst": "reStructuredText", "txt": "text", "json": "JSON", "jsonl": "JSON lines", "yaml": "YAML", "yml": "YAML",
	"toml": "TOML", "ini": "INI", "xml": "XML", "html": "HTML", "css": "CSS", "scss": "SCSS", "sql": "SQL", "proto": "Protobuf",
	"nix": "Nix", "lua": "Lua", "ex": "Elixir", "exs": "Elixir", "erl": "Erlang", "hs": "Haskell", "ml": "OCaml", "zig": "Zig",
	"vue": "Vue", "svelte": "Svelte", "tf": "Terraform", "ipynb": "notebook", "csv": "CSV", "log": "log", "mod": "Go module", "lock": "lock file",
}

// fileType returns the type of the file at path; empty if its extension is unknown.
func fileType(path string) string {
	base := path[strings.LastIndexByte(path, '/')+1:]
	switch strings.ToLower(base) {
	case "dockerfile":
		return "Dockerfile"
	case "makefile":
		return "Makefile"
	}
	return fileTypes[strings.ToLower(base[strings.LastIndexByte(base, '.')+1:])]
}

// Seed 2's extractors for TypeScript and JavaScript, and equivalents for other languages.
var (
	exportLine = regexp.MustCompile(`^export\s+(?:default\s+)?(?:async\s+)?(?:abstract\s+)?(?:const|let|var|function\*?|class|interface|type|enum)\s+(\w+)`)
	importLine = regexp.MustCompile(`^(?:import\s|from\s+\S+\s+import\s|use\s+[\w:]+|#include\s|const\s+.*=\s*require\(|require(?:_once)?[\s(])`)
)

// mayImport is a cheap pretest for importLine.
func mayImport(text string) bool {
	switch text[0] {
	case 'i':
		return strings.HasPrefix(text, "import")
	case 'f':
		return strings.HasPrefix(text, "from") && strings.Contains(text, "import")
	case 'u':
		return strings.HasPrefix(text, "use")
	case '#':
		return strings.HasPrefix(text, "#include")
	case 'c':
		return strings.HasPrefix(text, "const") && strings.Contains(text, "require(")
	case 'r':
		return strings.HasPrefix(text, "require")
	}
	return false
}

func (f *facts) file(args arguments, doc *document) {
	path, _ := args.shown()
	if path == "" {
		path = doc.namedPath()
	}
	if path != "" {
		f.note("path", path)
		extent, list := extentOf(doc.parts), args.parts()
		switch {
		case extent != "":
			path += ":" + extent
		case len(list) == 1 && list[0].last > 0 && doc.total >= list[0].last:
			extent = "last " + itoa(doc.total)
		case len(list) == 1 && list[0].to > 0 && doc.total >= list[0].to:
			extent = "first " + itoa(doc.total)
		default:
			extent = doc.extent()
		}
		f.add("File", clipLeft(lex.OneLine(path), maxPath))
		if !strings.HasSuffix(path, extent) {
			f.add("Lines", extent)
		}
	} else {
		f.asked(args)
		f.add("Output", lex.Counted(doc.total, "line"))
	}
	f.note("lines", doc.total)
	if doc.shape == shapeJSON || doc.shape == shapeNumbered && fileType(path) == "JSON" {
		f.arrays(doc)
	}
	if kind := fileType(path); kind != "" {
		f.add("Type", kind)
		f.note("type", kind)
	}
	f.modules(doc)
}

// arrays states the largest array of objects in a file of JSON.
func (f *facts) arrays(doc *document) {
	text := doc.source
	if doc.shape == shapeNumbered {
		text = unnumbered(text)
	}
	if v := jsontext.Value(strings.TrimSpace(text)); v.IsValid(envelope.Lenient) {
		if a := largestArray(v, 0); a.name != "" && len(a.elements) > 1 {
			f.wide = true
			f.add("Records", lex.Thousands(len(a.elements))+" in "+lex.Clip(lex.OneLine(a.name), maxCommand/2))
		}
	}
}

// modules counts imports and names the first five exports.
func (f *facts) modules(doc *document) {
	var exports []string
	imports := 0
	for i := range doc.lines {
		l := &doc.lines[i]
		if len(l.text) < 4 || len(l.text) > 400 {
			continue
		}
		if strings.HasPrefix(l.text, "export") {
			if m := exportLine.FindStringSubmatch(l.text); m != nil {
				exports = append(exports, m[1])
			}
		} else if mayImport(l.text) && importLine.MatchString(l.text) {
			imports++
		}
	}
	f.note("has_exports", len(exports) > 0)
	f.note("has_imports", imports > 0)
	if len(exports) > 0 {
		f.add("Exports", strings.Join(exports[:min(5, len(exports))], ", "))
	}
	if imports > 0 {
		f.add("Imports", lex.Counted(imports, "module"))
	}
}

// namedPath returns the path that a viewer prints above a file ("[File: /a/b.py (1997 lines total)]").
func (d *document) namedPath() string {
	for _, l := range d.lines[:min(3, len(d.lines))] {
		if rest, ok := strings.CutPrefix(l.text, "[File: "); ok {
			path, _, _ := strings.Cut(rest, " ")
			return strings.TrimRight(path, "]")
		}
	}
	return ""
}

// extent returns the number of lines, with their range if the view begins further down.
func (d *document) extent() string {
	first, last, n := 0, 0, 0
	for i := range d.lines {
		l := &d.lines[i]
		if l.number == 0 || !l.starts {
			continue
		}
		if first == 0 {
			first = l.number
		}
		last = l.number
		n++
	}
	if first <= 1 && last == 0 || d.dotted {
		return itoa(d.total)
	}
	all := d.stated()
	switch {
	case all > last:
		return itoa(first) + "-" + itoa(last) + " of " + itoa(all)
	case first <= 1:
		return itoa(last)
	}
	return itoa(first) + "-" + itoa(last)
}

var linesTotal = regexp.MustCompile(`\((\d{1,8}) lines total\)`)

// stated returns a viewer's statement of how many lines the file has; 0 if none.
func (d *document) stated() int {
	for _, l := range d.lines[:min(3, len(d.lines))] {
		if m := linesTotal.FindStringSubmatch(l.text); m != nil {
			return lex.Atoi(m[1])
		}
	}
	return 0
}

func itoa(n int) string { return strconv.Itoa(n) }
