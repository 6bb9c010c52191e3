package gateway

import (
	"bytes"
	"net/http"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// HeaderTools says that the client runs the tool for originals ("read_original"), or does not ("none"), whatever Options.Originals says.
const HeaderTools = "Precis-Tools"

// originalTool is the tool of processor mcp. A client that runs it is asked first: a call reaches no other.
const originalTool = "read_original"

// runsOriginal reports whether the client runs the tool.
func (g *Gateway) runsOriginal(h http.Header) bool {
	said := h.Get(HeaderTools)
	if said == "" {
		return g.opts.Originals
	}
	return slices.ContainsFunc(strings.Split(said, ","), func(s string) bool { return strings.EqualFold(strings.TrimSpace(s), originalTool) })
}

// withOriginal are the client's tools with the definition of that one behind them, in pieces; nil for a request without tools, or with that tool
// under any server's name.
func withOriginal(a *api, request object, thread string) []jsontext.Value {
	tools := listOf(request["tools"])
	if len(tools) == 0 || slices.ContainsFunc(tools, func(raw jsontext.Value) bool { return strings.HasSuffix(toolName(objectOf(raw)), originalTool) }) {
		return nil
	}
	return []jsontext.Value{bytes.TrimSuffix(request["tools"], []byte("]")), jsontext.Value(","), a.tool(thread), jsontext.Value("]")}
}

func toolName(tool object) string {
	if f := objectOf(tool["function"]); f != nil {
		return f.text("name")
	}
	return tool.text("name")
}

// tool is the definition in the API's shape. Its input is that of the tool of processor mcp.
func (a *api) tool(thread string) jsontext.Value {
	property := func(kind, description string) jsontext.Value {
		return object{"type": quote(kind), "description": quote(description)}.json()
	}
	properties := object{
		"thread":     object{"type": quote("string"), "enum": jsonOf([]jsontext.Value{quote(thread)})}.json(),
		"message_id": property("string", "The id in the mark: m12 in [… 41 lines; message m12]."),
		"from_line":  property("integer", "The first line to show, counted from 1."),
		"to_line":    property("integer", "The last line to show."),
		"from_char":  property("integer", "Where to begin in from_line, counted from 1, if that line is very long."),
		"search":     property("string", "Show only the lines that contain this text, in upper or lower case."),
	}
	schema := object{"type": quote("object"), "properties": properties.json(), "required": jsontext.Value(`["thread","message_id"]`)}.json()
	tool := object{
		"name":        quote(originalTool),
		"description": quote("Read the original of a message or tool output that stands shortened in the conversation, by the id in its mark."),
	}
	switch a {
	case anthropicAPI:
		tool["input_schema"] = schema
		return tool.json()
	case chatAPI:
		tool["parameters"] = schema
		return object{"type": quote("function"), "function": tool.json()}.json()
	}
	tool["type"], tool["parameters"], tool["strict"] = quote("function"), schema, jsontext.Value("false")
	return tool.json()
}
