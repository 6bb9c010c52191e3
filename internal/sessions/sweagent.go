package sessions

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"precis/events"
)

// sweAgent reads SWE-agent's trajectories (*.traj): a document whose history holds the messages. Where the model has no tools, it
// answers with an action, and the observation is the user's next message: these become a call and its result.
type sweAgent struct {
	*output
	documents int
}

func newSWEAgent(out *output) reader { return &sweAgent{output: out} }

func isSWEAgent(o object) bool {
	first := object(nil)
	if list := o.list("history"); len(list) > 0 {
		first = objectOf(list[0])
	}
	return first.has("role") && (o.has("trajectory") || first.has("agent") || first.has("message_type"))
}

func (s *sweAgent) line(o object) {
	if o["history"].Kind() != jsontext.KindBeginArray {
		s.skip("line without a history")
		return
	}
	s.documents++
	thread := s.base()
	if s.documents > 1 {
		thread = part(thread, s.documents-1)
	}
	thread = s.thread(thread)
	first := object{}
	if o.has("environment") {
		first["metadata"] = jsonOf(object{"session": jsonOf(object{"environment": o["environment"]})})
	}
	action := ""
	for i, raw := range o.list("history") {
		m := objectOf(raw)
		id := fmt.Sprintf("m%d", i+1)
		if m == nil || !m.has("role") {
			s.skip("element without a role")
			continue
		}
		data := object{"role": m["role"], "content": m["content"]}
		switch role := m.text("role"); {
		case m.has("tool_calls") && role == events.RoleAssistant:
			data["tool_calls"] = m["tool_calls"]
			action = ""
		case role == events.RoleAssistant:
			if action = ""; m.text("action") != "" {
				action = id + "/action"
				data["tool_calls"] = jsonOf([]jsontext.Value{callOf(action, "run", jsonOf(object{"command": m["action"]}))})
			}
		case role == events.RoleTool:
			if ids := m.list("tool_call_ids"); len(ids) > 0 {
				data["tool_call_id"] = ids[0]
			}
		case role == events.RoleUser && action != "":
			data["role"], data["tool_call_id"] = quote(events.RoleTool), quote(action)
			action = ""
		}
		s.message(s.at, thread, id, data, first)
	}
	for _, name := range sortedKeys(o) {
		if name != "history" && name != "environment" && name != "trajectory" { // the trajectory says the history again
			s.skip("member " + name)
		}
	}
}

func (s *sweAgent) flush() {}
