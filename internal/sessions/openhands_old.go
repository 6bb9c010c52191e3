package sessions

import (
	"cmp"

	"github.com/go-json-experiment/json/jsontext"

	"precis/events"
)

// old maps an event of version 0: an action, or an observation of the action that it names as its cause. The model's answer, with its usage, stands in
// every action that it led to.
func (h *openHands) old(o object) {
	meta, args := o.object("tool_call_metadata"), o.object("args")
	id := "e" + string(o["id"])
	if o["id"].Kind() != jsontext.KindNumber {
		h.skip("event without an id")
		return
	}
	response := meta.object("model_response")
	group := cmp.Or(response.text("id"), meta.text("tool_call_id"))
	if !o.has("action") || group == "" || group != h.group {
		h.end()
	}
	switch action := o.text("action"); {
	case !o.has("action"):
		h.observed(o, id, meta)
	case meta.text("tool_call_id") != "":
		h.called(o, id, group, meta, response)
	case action == "system":
		h.publish(o, id, object{"role": quote(events.RoleSystem), "content": args["content"]})
	case action == "message":
		h.said(o, id, args)
	case action == "condensation":
		h.condensed(o, id, args, len(args.list("forgotten_event_ids")))
	case action == "finish" && args.text("final_thought") != "":
		h.publish(o, id, object{"role": quote(events.RoleAssistant), "content": args["final_thought"]})
	default:
		h.skip("action " + action)
	}
}

// said is a message of the user or the model without calls.
func (h *openHands) said(o object, id string, args object) {
	role := events.RoleUser
	if o.text("source") == "agent" {
		role = events.RoleAssistant
	}
	list := []jsontext.Value{jsonOf(object{"type": quote("text"), "text": quote(args.text("content"))})}
	if urls := args.list("image_urls"); len(urls) > 0 {
		list = append(list, jsonOf(object{"type": quote("image"), "image_urls": jsonOf(urls)}))
	}
	h.publish(o, id, object{"role": quote(role), "content": h.content(list)})
}

// called adds a call to the answer that made it.
func (h *openHands) called(o object, id, group string, meta, response object) {
	answer := object(nil)
	if choices := response.list("choices"); len(choices) > 0 {
		answer = objectOf(choices[0]).object("message")
	}
	if h.answer == nil {
		h.answer = object{"role": quote(events.RoleAssistant), "content": quote(o.object("args").text("thought")), "tool_calls": jsontext.Value("[]")}
		if answer.has("content") {
			h.answer["content"] = answer["content"]
		}
		h.answer.with("created_at", timeOf(o["timestamp"])).with("model", response["model"])
		if usage := response.object("usage"); usage != nil {
			h.answer.with("usage", usageWhole(usage))
		}
		h.reasoning(h.answer, answer)
		h.group, h.id, h.line0 = group, id, h.at
	}
	call := callOf(meta.text("tool_call_id"), meta.text("function_name"), jsonOf(o.object("args")))
	for _, c := range answer.list("tool_calls") { // as the model wrote it
		if objectOf(c).text("id") == meta.text("tool_call_id") {
			call = c
		}
	}
	h.answer["tool_calls"] = jsonOf(append(h.answer.list("tool_calls"), call))
}

// observed is a result.
func (h *openHands) observed(o object, id string, meta object) {
	if meta.text("tool_call_id") == "" {
		h.skip("observation " + o.text("observation"))
		return
	}
	extras := o.object("extras")
	data := object{"role": quote(events.RoleTool), "tool_call_id": meta["tool_call_id"], "content": quote(o.text("content"))}
	data.with("tool_name", meta["function_name"])
	if o.text("observation") == "error" {
		data["is_error"] = jsontext.Value("true")
	}
	if code, ok := extras.object("metadata").count("exit_code"); ok {
		data["exit_code"] = jsonOf(code)
	}
	h.publish(o, id, data)
}
