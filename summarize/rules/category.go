package rules

import "strings"

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
	args := parseArguments(in.Arguments)
	opened := in.opened(args)
	return opened.recognized(args)
}

func (in *Input) recognized(args arguments) Category {
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
	return categoryOf(toolName, parseArguments(arguments), content)
}

func categoryOf(toolName string, args arguments, content string) Category {
	c := categoryByName(toolName)
	switch c {
	case CommandOutput:
		return categoryByCommand(args.command(), content)
	case WriteResult:
		if strings.EqualFold(args.text("command"), "view") {
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
func categoryByCommand(command, content string) Category {
	c, known := commandCategories[commandName(command)]
	if !known {
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

func categoryByContent(args arguments, content string) Category {
	if c := categoryByShape(shapeOf(content), Other); c != Other {
		return c
	}
	switch {
	case args.url() != "":
		return WebContent
	case args.command() != "":
		return categoryByCommand(args.command(), content)
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
