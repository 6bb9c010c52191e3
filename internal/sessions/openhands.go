package sessions

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"precis/events"
)

// openHands reads a conversation of OpenHands, which keeps a file for each event (see OpenPath): those of its SDK (version 1), which name
// their kind, and those of version 0, which are actions and observations.
type openHands struct {
	*output
	answer object            // of the model, that waits for its further calls
	group  string            // its response
	id     string            // its message
	line0  int               // its line
	places map[string]string // event: the message that it is part of, or follows
	newest string            // message
}

func newOpenHands(out *output) reader {
	return &openHands{output: out, places: map[string]string{}}
}

// openHandsKinds are those of the SDK that hold messages.
var openHandsKinds = []string{
	"SystemPromptEvent", "MessageEvent", "ActionEvent", "ObservationEvent", "AgentErrorEvent", "UserRejectObservation", "Condensation", "CondensationRequest",
	"ConversationStateUpdateEvent", "PauseEvent",
}

func isOpenHands(o object) bool {
	if !o.has("source") || !o.has("timestamp") {
		return false
	}
	return slices.Contains(openHandsKinds, o.text("kind")) || o["id"].Kind() == jsontext.KindNumber && (o.has("action") || o.has("observation"))
}

func (h *openHands) line(o object) {
	if o.has("action") && !o.has("kind") || o.has("observation") && !o.has("kind") {
		h.old(o)
		return
	}
	id := o.text("id")
	if !validID(id) {
		h.skip("event without an id")
		return
	}
	if o.text("kind") != "ActionEvent" || o.text("llm_response_id") != h.group {
		h.end()
	}
	h.branch(o)
	switch kind := o.text("kind"); kind {
	case "SystemPromptEvent":
		texts := []jsontext.Value{jsonOf(o.object("system_prompt"))}
		if o.object("dynamic_context") != nil {
			texts = append(texts, jsonOf(o.object("dynamic_context")))
		}
		h.publish(o, id, object{"role": quote(events.RoleSystem), "content": h.content(texts)})
	case "MessageEvent":
		m := o.object("llm_message")
		data := object{"role": m["role"], "content": h.content(append(m.list("content"), o.list("extended_content")...))}
		h.reasoning(data, m)
		if calls := m.list("tool_calls"); len(calls) > 0 {
			var list []jsontext.Value
			for _, c := range calls {
				list = append(list, openHandsCall(objectOf(c)))
			}
			data["tool_calls"] = jsonOf(list)
		}
		h.publish(o, id, data)
	case "ActionEvent":
		h.action(o, id)
	case "ObservationEvent":
		seen := o.object("observation")
		data := h.result(o, h.content(append(seen.list("content"), o.list("extended_content")...)))
		data.with("is_error", seen["is_error"])
		if _, ok := seen.count("exit_code"); ok {
			data["exit_code"] = seen["exit_code"]
		}
		h.publish(o, id, data)
	case "AgentErrorEvent":
		h.publish(o, id, h.result(o, quote(o.text("error"))).with("is_error", jsontext.Value("true")))
	case "UserRejectObservation":
		h.publish(o, id, h.result(o, quote("Action rejected: "+o.text("rejection_reason"))))
	case "Condensation":
		h.condensed(o, id, o, len(o.list("forgotten_event_ids")))
	default:
		h.places[id] = h.newest
		h.skip(kind)
	}
}

// branch rewinds the thread where an event follows an earlier one than the newest.
func (h *openHands) branch(o object) {
	to, known := h.places[o.text("parent_id")]
	if !known || to == "" || to == h.newest || h.answer != nil {
		return
	}
	h.rewind(h.thread(""), to, o.text("id")+"/rewind", timeOf(o["timestamp"]))
	h.newest = to
}

// action adds a call to the model's answer: those of one response are one message.
func (h *openHands) action(o object, id string) {
	if h.answer == nil {
		h.answer = object{"role": quote(events.RoleAssistant), "content": h.content(o.list("thought")), "tool_calls": jsontext.Value("[]")}
		h.answer.with("created_at", timeOf(o["timestamp"]))
		h.reasoning(h.answer, o)
		h.group, h.id, h.line0 = o.text("llm_response_id"), id, h.at
	}
	h.answer["tool_calls"] = jsonOf(append(h.answer.list("tool_calls"), openHandsCall(o.object("tool_call"))))
	h.places[id] = h.id
}

func openHandsCall(o object) jsontext.Value {
	return callOf(o.text("id"), o.text("name"), o["arguments"])
}

// end publishes the answer that waits.
func (h *openHands) end() {
	if h.answer == nil {
		return
	}
	h.message(h.line0, h.thread(""), h.id, h.answer, nil)
	h.answer, h.group, h.newest = nil, "", h.id
}

func (h *openHands) publish(o object, id string, data object) {
	data.with("created_at", timeOf(o["timestamp"]))
	h.message(h.at, h.thread(""), id, data, nil)
	h.newest, h.places[id] = id, id
}

// result is the message of a call's result.
func (h *openHands) result(o object, content jsontext.Value) object {
	return object{"role": quote(events.RoleTool), "tool_call_id": o["tool_call_id"], "content": content}.with("tool_name", o["tool_name"])
}

// condensed is a summary that OpenHands goes on from, in the user's name.
func (h *openHands) condensed(o object, id string, of object, forgotten int) {
	if of.text("summary") == "" {
		h.skip("condensation without a summary")
		return
	}
	about := object{"compaction": jsonOf(object{"forgotten_events": jsonOf(forgotten)})}
	h.publish(o, id, object{"role": quote(events.RoleUser), "content": of["summary"], "metadata": jsonOf(object{"openhands": jsonOf(about)})})
}

// content is a list of texts and images, or its text.
func (h *openHands) content(list []jsontext.Value) jsontext.Value {
	var parts []jsontext.Value
	var texts []string
	for _, p := range list {
		o := objectOf(p)
		if o.text("type") == "image" {
			for _, url := range o.list("image_urls") {
				parts = append(parts, jsonOf(object{"type": quote("image_url"), "image_url": jsonOf(object{"url": url})}))
			}
			continue
		}
		texts = append(texts, o.text("text"))
		parts = append(parts, jsonOf(object{"type": quote("text"), "text": quote(o.text("text"))}))
	}
	if len(parts) > 1 || len(texts) < len(parts) {
		return jsonOf(parts)
	}
	return quote(strings.Join(texts, ""))
}

// reasoning keeps what the model thought.
func (h *openHands) reasoning(data, o object) {
	if o.text("reasoning_content") != "" {
		data["reasoning_content"] = o["reasoning_content"]
	}
	if blocks := o.list("thinking_blocks"); len(blocks) > 0 {
		data["thinking_blocks"] = o["thinking_blocks"]
	}
	if o.object("responses_reasoning_item") != nil {
		h.skip("reasoning of Responses")
	}
}

func (h *openHands) flush() { h.end() }
