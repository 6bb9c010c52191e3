package words

import (
	"strings"
)

// fileTypes are the types by a path's extension, with the names of seed 2 where it has them.
var fileTypes = map[string]string{
	"go": "Go", "ts": "TypeScript", "tsx": "TypeScript", "js": "JavaScript", "jsx": "JavaScript", "mjs": "JavaScript", "cjs": "JavaScript",
	"py": "Python", "rs": "Rust", "java": "Java", "kt": "Kotlin", "c": "C", "h": "C", "cc": "C++", "cpp": "C++", "hpp": "C++",
	"cs": "C#", "rb": "Ruby", "php": "PHP", "swift": "Swift", "scala": "Scala", "sh": "shell", "bash": "shell", "zsh": "shell",
	"md": "Markdown", "mdx": "Markdown", "markdown": "Markdown", "rst": "reStructuredText", "adoc": "AsciiDoc", "tex": "LaTeX", "txt": "text", "json": "JSON", "jsonl": "JSON lines", "yaml": "YAML", "yml": "YAML",
	"toml": "TOML", "ini": "INI", "xml": "XML", "html": "HTML", "css": "CSS", "scss": "SCSS", "sql": "SQL", "proto": "Protobuf",
	"nix": "Nix", "lua": "Lua", "ex": "Elixir", "exs": "Elixir", "erl": "Erlang", "hs": "Haskell", "ml": "OCaml", "zig": "Zig",
	"vue": "Vue", "svelte": "Svelte", "tf": "Terraform", "ipynb": "notebook", "csv": "CSV", "log": "log", "mod": "Go module", "lock": "lock file",
}

// FileType returns the type of the file at path; empty if its extension is unknown.
func FileType(path string) string {
	base := path[strings.LastIndexByte(path, '/')+1:]
	switch strings.ToLower(base) {
	case "dockerfile":
		return "Dockerfile"
	case "makefile":
		return "Makefile"
	}
	return fileTypes[strings.ToLower(base[strings.LastIndexByte(base, '.')+1:])]
}
