package rules

import (
	"regexp"
	"strings"

	"precis/summarize/lex"
	"precis/summarize/rules/call"
)

// Category is the kind of a tool's output; it decides the facts, the grouping and the head ratio.
type Category string

// The categories: six of tool outputs worth reading, acknowledgements of writes, and the rest.
const (
	FileContent      Category = "file_content"
	SearchResults    Category = "search_results"
	DirectoryListing Category = "directory_listing"
	CommandOutput    Category = "command_output"
	StructuredData   Category = "structured_data"
	WebContent       Category = "web_content"
	WriteResult      Category = "write_result"
	Other            Category = "other"
)

// HeadRatio is the beginning's share of a truncated text. The beginning of a file identifies it; the end of a listing
// or a build gives its result.
func (c Category) HeadRatio() float64 {
	switch c {
	case FileContent:
		return 0.7
	case CommandOutput:
		return 0.6
	case DirectoryListing:
		return 0.3
	default:
		return 0.5
	}
}

// Recognized returns the category that the output is given, or has by its tool's name, its call's arguments or its content.
func (in *Input) Recognized() Category {
	args := call.ParseArguments(in.Arguments)
	opened := in.withoutRequest(args).opened(args)
	return opened.recognized(args)
}

func (in *Input) recognized(args call.Arguments) Category {
	if in.Category != "" {
		return in.Category
	}
	category := categoryOf(in.ToolName, args, in.Content)
	if in.quoted && category == CommandOutput {
		return Other
	}
	return category
}

// CategoryOf recognizes the category by the tool's name, then by the call's arguments, then by the content.
func CategoryOf(toolName string, arguments []byte, content string) Category {
	return categoryOf(toolName, call.ParseArguments(arguments), content)
}

func categoryOf(toolName string, args call.Arguments, content string) Category {
	c := categoryByName(toolName)
	switch c {
	case CommandOutput:
		return categoryByCommand(args, content)
	case WriteResult:
		if strings.EqualFold(args.Text("command"), "view") {
			return FileContent // str_replace_editor and similar tools read and write under one name
		}
		return c
	case WebContent:
		if shapeOf(content) == shapeJSON {
			return StructuredData
		}
		return c
	case Other:
		return categoryByContent(args, content)
	}
	return c
}

// categoryByCommand refines a shell's output: it gets the category of its command.
func categoryByCommand(args call.Arguments, content string) Category {
	command := args.Command()
	c, known := commandCategories[commandName(command)]
	if !known {
		if len(args.Parts()) > 0 && !gitTree.MatchString(content) {
			return FileContent
		}
		if isFetch(command) || command == "" {
			return categoryByShape(shapeOf(content), CommandOutput)
		}
		if shapeOf(content) == shapeJSON {
			return StructuredData
		}
		return CommandOutput
	}
	return c
}

// gitTree matches what git shows of a directory.
var gitTree = regexp.MustCompile(`(?m)\A(?:.*\n){0,6}tree \S+:\S*\n\n`)

func categoryByContent(args call.Arguments, content string) Category {
	if c := categoryByShape(shapeOf(content), Other); c != Other {
		return c
	}
	switch {
	case args.Url() != "":
		return WebContent
	case args.Command() != "":
		return categoryByCommand(args, content)
	}
	return Other
}

func categoryByShape(s shape, otherwise Category) Category {
	switch s {
	case shapeNumbered:
		return FileContent
	case shapeMatches:
		return SearchResults
	case shapePaths:
		return DirectoryListing
	case shapeJSON:
		return StructuredData
	case shapeHTML:
		return WebContent
	default:
		return otherwise
	}
}

func isFetch(command string) bool {
	name := commandName(command)
	return name == "curl" || name == "wget" || name == "http"
}

// toolCategories are the names that agents use, in lower case, without separators.
var toolCategories = map[string]Category{
	"read": FileContent, "readfile": FileContent, "cat": FileContent, "open": FileContent, "view": FileContent,
	"viewfile": FileContent, "openfile": FileContent, "fileread": FileContent, "readmanyfiles": FileContent,
	"readmultiplefiles": FileContent, "readtextfile": FileContent, "notebookread": FileContent, "goto": FileContent,
	"scrollup": FileContent, "scrolldown": FileContent, "getfilecontents": FileContent, "viewsourcecode": FileContent,
	"strreplacebasededittool": WriteResult, "head": FileContent, "tail": FileContent, "setcursors": FileContent,

	"grep": SearchResults, "rg": SearchResults, "search": SearchResults, "searchfiles": SearchResults,
	"grepsearch": SearchResults, "searchdir": SearchResults, "searchfile": SearchResults, "codebasesearch": SearchResults,
	"searchcode": SearchResults, "searchfilecontent": SearchResults, "ripgrep": SearchResults, "codesearch": SearchResults,

	"ls": DirectoryListing, "find": DirectoryListing, "fd": DirectoryListing, "glob": DirectoryListing,
	"listdir": DirectoryListing, "listdirectory": DirectoryListing, "listfiles": DirectoryListing, "tree": DirectoryListing,
	"findfile": DirectoryListing, "filesearch": DirectoryListing, "directorytree": DirectoryListing, "globtool": DirectoryListing,
	"findfiles": DirectoryListing,

	"bash": CommandOutput, "sh": CommandOutput, "shell": CommandOutput, "executebash": CommandOutput, "zsh": CommandOutput,
	"executecommand": CommandOutput, "runcommand": CommandOutput, "runterminalcmd": CommandOutput, "terminal": CommandOutput,
	"runshellcommand": CommandOutput, "localshell": CommandOutput, "execcommand": CommandOutput, "exec": CommandOutput,
	"bashoutput": CommandOutput, "taskoutput": CommandOutput, "python": CommandOutput, "executepython": CommandOutput, "executeipython": CommandOutput,
	"runtests": CommandOutput, "powershell": CommandOutput, "unifiedexec": CommandOutput, "writestdin": CommandOutput,

	"nixsearch": StructuredData, "gh": StructuredData, "jq": StructuredData, "query": StructuredData,
	"executesql": StructuredData, "sql": StructuredData,

	"websearch": WebContent, "webfetch": WebContent, "fetch": WebContent, "browse": WebContent, "fetchurl": WebContent,
	"googlewebsearch": WebContent, "readurl": WebContent, "fetchwebpage": WebContent, "browser": WebContent,

	"write": WriteResult, "writefile": WriteResult, "createfile": WriteResult, "create": WriteResult, "edit": WriteResult,
	"editfile": WriteResult, "multiedit": WriteResult, "strreplace": WriteResult, "strreplaceeditor": WriteResult,
	"applypatch": WriteResult, "patch": WriteResult, "insert": WriteResult, "replace": WriteResult, "notebookedit": WriteResult,
	"replaceinfile": WriteResult, "writetofile": WriteResult, "applydiff": WriteResult, "searchreplace": WriteResult,
}

// commandCategories are the categories of a shell command's first program.
var commandCategories = map[string]Category{
	"cat": FileContent, "head": FileContent, "tail": FileContent, "sed": FileContent, "nl": FileContent,
	"bat": FileContent, "less": FileContent, "more": FileContent, "awk": FileContent,
	"grep": SearchResults, "rg": SearchResults, "ag": SearchResults, "ack": SearchResults, "egrep": SearchResults,
	"git grep": SearchResults,
	"ls":       DirectoryListing, "find": DirectoryListing, "fd": DirectoryListing, "tree": DirectoryListing,
	"git ls-files": DirectoryListing,
	"jq":           StructuredData,
}

// categoryByName tries the whole name first, then an MCP tool's own name, then the words in it.
func categoryByName(name string) Category {
	if i := strings.LastIndex(name, "__"); strings.HasPrefix(name, "mcp__") && i > 4 {
		name = name[i+2:]
	}
	if i := strings.LastIndexAny(name, "./:"); i >= 0 && i < len(name)-1 {
		if c, ok := toolCategories[lex.Squeeze(name[i+1:])]; ok {
			return c
		}
	}
	if c, ok := toolCategories[lex.Squeeze(name)]; ok {
		return c
	}
	if strings.Contains(strings.ToLower(name), "browser") {
		return WebContent
	}
	return Other
}

// commandName returns the first program of a shell command whose output is visible: it skips what precedes it
// (cd, environment, sudo, timeouts), and filters after a pipe don't count.
func commandName(command string) string {
	for _, part := range strings.FieldsFunc(firstPipeline(command), func(r rune) bool { return r == ';' || r == '\n' }) {
		for _, step := range strings.Split(part, "&&") {
			if name := programOf(step); name != "" && name != "cd" && name != "export" && name != "set" && name != "source" {
				return name
			}
		}
	}
	return ""
}

func firstPipeline(command string) string {
	const enough = 2000 // later steps of a script don't determine the beginning of its output
	if len(command) > enough {
		command = command[:enough]
	}
	for i := 0; i < len(command); i++ {
		if command[i] == '|' && (i+1 == len(command) || command[i+1] != '|') && (i == 0 || command[i-1] != '|') {
			return command[:i]
		}
	}
	return command
}

func programOf(step string) string {
	fields := strings.Fields(step)
	for len(fields) > 0 && (strings.Contains(fields[0], "=") || fields[0] == "sudo" || fields[0] == "time" || fields[0] == "env" || fields[0] == "command") {
		fields = fields[1:]
	}
	if len(fields) > 2 && fields[0] == "timeout" {
		fields = fields[2:]
	}
	if len(fields) == 0 {
		return ""
	}
	name := fields[0][strings.LastIndexByte(fields[0], '/')+1:]
	if name == "git" && len(fields) > 1 {
		return "git " + gitVerb(fields[1:])
	}
	return name
}

// gitVerb skips git's own options (-C dir, --no-pager).
func gitVerb(fields []string) string {
	for i := 0; i < len(fields); i++ {
		if fields[i] == "-C" || fields[i] == "-c" {
			i++
			continue
		}
		if !strings.HasPrefix(fields[i], "-") {
			return fields[i]
		}
	}
	return ""
}
