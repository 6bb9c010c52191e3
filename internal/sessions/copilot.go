package sessions

import (
	"regexp"

	"github.com/go-json-experiment/json/jsontext"

	"precis/events"
)

// copilot reads ~/.copilot/session-state/<session>/events.jsonl of the Copilot CLI: a line per event, with its data. It does not say how
// many tokens a call's prompt had, so no usage is published.
type copilot struct {
	*output
	name  string
	first object
}

func newCopilot(out *output) reader { return &copilot{output: out, first: object{}} }

func isCopilot(o object) bool {
	data := o.object("data")
	switch t := o.text("type"); {
	case data == nil:
		return false
	case t == "session.start":
		return data.has("sessionId")
	case t == "user.message", t == "assistant.message":
		return o.has("id") && data.has("content")
	}
	return false
}

func (c *copilot) line(o object) {
	data, id := o.object("data"), o.text("id")
	kind := o.text("type")
	message := object{}.with("created_at", timeOf(o["timestamp"]))
	switch {
	case kind == "session.start" && data != nil:
		c.begin(data)
		return
	case data == nil || !validID(id):
		c.skip(kind)
		return
	case kind == "system.message":
		message.with("role", quote(events.RoleSystem)).with("content", data["content"])
	case kind == "user.message":
		message.with("role", quote(events.RoleUser)).with("content", data["content"]).with("content", data["transformedContent"]) // what the model saw
	case kind == "assistant.message":
		c.assistant(message, data)
	case kind == "tool.execution_complete":
		c.result(message, data)
	default:
		c.skip(kind)
		return
	}
	if c.name == "" {
		c.name = c.thread("")
	}
	c.message(c.at, c.name, id, message, c.first)
}

func (c *copilot) begin(data object) {
	if c.name != "" {
		return // the session goes on
	}
	id := data.text("sessionId")
	if !validID(id) {
		id = ""
	}
	c.name = c.thread(id)
	about := object{}.with("version", data["copilotVersion"])
	for _, name := range []string{"cwd", "branch"} {
		about.with(name, data.object("context")[name])
	}
	if len(about) > 0 {
		c.first["metadata"] = jsonOf(object{"session": jsonOf(about)})
	}
}

func (c *copilot) assistant(message, data object) {
	message["role"] = quote(events.RoleAssistant)
	message["content"] = quote(data.text("content"))
	message.with("reasoning_text", data["reasoningText"]).with("reasoning_opaque", data["reasoningOpaque"])
	if data["model"].Kind() == jsontext.KindString {
		message["model"] = data["model"]
	}
	var calls []jsontext.Value
	for _, raw := range data.list("toolRequests") {
		request := objectOf(raw)
		calls = append(calls, callOf(request.text("toolCallId"), request.text("name"), request["arguments"]))
	}
	if len(calls) > 0 {
		message["tool_calls"] = jsonOf(calls)
	}
}

// copilotExit is how the results of commands end.
var copilotExit = regexp.MustCompile(`<exited with exit code (0|[1-9]\d{0,8})>\s*$`)

func (c *copilot) result(message, data object) {
	message["role"] = quote(events.RoleTool)
	message["tool_call_id"] = quote(data.text("toolCallId"))
	text := textOf(data["result"])
	if result := data.object("result"); result != nil {
		text = result.text("content")
	}
	if text == "" {
		text = data.object("error").text("message")
	}
	message["content"] = quote(text)
	if data["success"].Kind() == jsontext.KindFalse {
		message["is_error"] = jsontext.Value("true")
	}
	if m := copilotExit.FindStringSubmatch(text); m != nil {
		message["exit_code"] = jsontext.Value(m[1])
	}
}

func (c *copilot) flush() {}

// callOf is a call as events have it.
func callOf(id, name string, arguments jsontext.Value) jsontext.Value {
	call := object{"id": quote(id), "name": quote(name)}
	if k := arguments.Kind(); k == jsontext.KindBeginObject || k == jsontext.KindString {
		call["arguments"] = arguments
	}
	return jsonOf(call)
}
