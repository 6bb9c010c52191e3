package sessions

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"precis/events"
)

// langChain reads messages of LangChain as it serializes them: {"type","data"} of messages_to_dict, {"lc","id","kwargs"} of dumps, and
// models as they dump themselves. A file is a list, or an object with one as messages; or lines of these.
type langChain struct {
	*output
	conversations int
	ids           map[string]bool
}

func newLangChain(out *output) reader { return &langChain{output: out, ids: map[string]bool{}} }

// langChainRoles are the roles of types of messages.
var langChainRoles = map[string]string{
	"human": events.RoleUser, "ai": events.RoleAssistant, "system": events.RoleSystem, "tool": events.RoleTool,
	"HumanMessage": events.RoleUser, "AIMessage": events.RoleAssistant, "SystemMessage": events.RoleSystem, "ToolMessage": events.RoleTool,
	"HumanMessageChunk": events.RoleUser, "AIMessageChunk": events.RoleAssistant, "SystemMessageChunk": events.RoleSystem, "ToolMessageChunk": events.RoleTool,
}

// langChainMessage takes a message out of its form; role is empty for what is none.
func langChainMessage(o object) (role string, message object) {
	if ids := o.list("id"); len(ids) > 0 && o.object("kwargs") != nil {
		return langChainRoles[textOf(ids[len(ids)-1])], o.object("kwargs")
	}
	role = langChainRoles[o.text("type")]
	if data := o.object("data"); data != nil && data.has("content") {
		return role, data
	}
	if o["content"] == nil {
		return "", nil
	}
	return role, o
}

func isLangChain(o object) bool {
	for _, name := range []string{"", "messages"} {
		if list := o.list(name); len(list) > 0 {
			role, _ := langChainMessage(objectOf(list[0]))
			return role != "" && !objectOf(list[0]).has("role")
		}
	}
	return false
}

func (l *langChain) line(o object) {
	list := slices.Concat(o.list(""), o.list("messages"))
	if len(list) == 0 {
		list = []jsontext.Value{jsonOf(o)}
	} else {
		l.conversations++
	}
	thread := cmp.Or(o.text("thread_id"), o.object("configurable").text("thread_id"))
	if !validID(thread) {
		if thread = ""; l.conversations > 1 {
			thread = fmt.Sprintf("%s-%d", l.base(), l.conversations)
		}
	}
	thread = l.thread(thread)
	for i, raw := range list {
		l.add(thread, i, objectOf(raw))
	}
}

func (l *langChain) add(thread string, i int, o object) {
	role, m := langChainMessage(o)
	if role == "" {
		l.skip("message of type " + cmp.Or(o.text("type"), "unknown"))
		return
	}
	id := m.text("id")
	if !validID(id) || l.ids[thread+"\x00"+id] {
		id = fmt.Sprintf("m%d", i+1)
	}
	l.ids[thread+"\x00"+id] = true
	data := object{"role": quote(role), "content": jsontext.Value("null")}
	data.with("content", m["content"]).with("created_at", timeOf(m["created_at"]))
	switch role {
	case events.RoleAssistant:
		l.assistant(data, m)
	case events.RoleTool:
		data.with("tool_call_id", m["tool_call_id"]).with("tool_name", m["name"])
		if m.text("status") == "error" {
			data["is_error"] = jsontext.Value("true")
		}
		if m.has("artifact") {
			l.skip("artifact of a tool")
		}
	}
	for _, name := range sortedKeys(m.object("additional_kwargs")) {
		if value := m.object("additional_kwargs")[name]; name != "tool_calls" && value.Kind() != jsontext.KindNull {
			l.skip("additional_kwargs." + name)
		}
	}
	l.message(l.at, thread, id, data, nil)
}

func (l *langChain) assistant(data, m object) {
	inContent := slices.ContainsFunc(m.list("content"), func(raw jsontext.Value) bool {
		return strings.HasPrefix(objectOf(raw).text("type"), "tool_use") || objectOf(raw).text("type") == "function_call"
	})
	var calls []jsontext.Value
	for _, raw := range m.list("tool_calls") {
		call := objectOf(raw)
		calls = append(calls, callOf(call.text("id"), call.text("name"), call["args"]))
	}
	if len(calls) > 0 && !inContent { // else they are said twice
		data["tool_calls"] = jsonOf(calls)
	}
	if len(m.list("invalid_tool_calls")) > 0 {
		l.skip("invalid_tool_calls")
	}
	if usage := m.object("usage_metadata"); usage != nil {
		details := usage.object("input_token_details")
		usage.with("cached_input_tokens", details["cache_read"]).with("cache_creation_input_tokens", details["cache_creation"])
		data.with("usage", usageOf(usage, "input_tokens", "output_tokens", "cached_input_tokens", "cache_creation_input_tokens"))
	}
	about := m.object("response_metadata")
	if model := cmp.Or(about.text("model_name"), about.text("model")); model != "" {
		data["model"] = quote(model)
	}
}

func (l *langChain) flush() {}
