package sessions

import (
	"cmp"

	"github.com/go-json-experiment/json/jsontext"

	"precis/events"
)

// crush reads sessions of Crush: the rows of its database (see OpenPath), or what "crush session show --json" prints, which lacks signatures and images.
type crush struct {
	*output
	sessions map[string]object // what is kept of their rows, by id
}

func newCrush(out *output) reader { return &crush{output: out, sessions: map[string]object{}} }

func isCrush(o object) bool {
	if o.text("crush") == "session" || o.text("crush") == "message" {
		return true
	}
	return o.object("meta").has("uuid") && o.object("meta").has("prompt_tokens") && o.has("messages")
}

func (c *crush) line(o object) {
	switch {
	case o.text("crush") == "session":
		c.session(o.text("id"), o)
	case o.text("crush") == "message":
		c.one(o.text("session_id"), o)
	case o.object("meta") != nil:
		meta := o.object("meta")
		c.session(meta.text("uuid"), meta)
		for _, m := range o.list("messages") {
			c.one(meta.text("uuid"), objectOf(m))
		}
	default:
		c.skip("row of another table")
	}
}

// ofSession are the members of a session's row that its thread has.
var ofSession = []string{"title", "prompt_tokens", "completion_tokens", "cost"}

// session keeps what its thread's first event says.
func (c *crush) session(id string, row object) {
	kept := object{}
	for _, name := range append(ofSession, "parent_session_id") {
		kept.with(name, row[name])
	}
	c.sessions[id] = kept
}

// first is what a thread's first event says of the session. Crush counts tokens and cost by session alone.
func (c *crush) first(session string) object {
	row, first := c.sessions[session], object{}
	about := object{}
	for _, name := range ofSession {
		about.with(name, row[name])
	}
	if len(about) > 0 {
		first["metadata"] = jsonOf(object{"session": jsonOf(about)})
	}
	if parent := row.text("parent_session_id"); validID(parent) {
		first["parent_thread_id"] = quote(parent)
	}
	return first
}

// one publishes a message: a tool's as an event for each result.
func (c *crush) one(session string, m object) {
	id := m.text("id")
	if !validID(id) || !validID(session) {
		c.skip("message without an id")
		return
	}
	parts := m.list("parts")
	if text := m.text("parts"); text != "" { // a column of the database
		value, _, err := readJSON([]byte(text))
		if err != nil {
			c.skip("parts that are not JSON")
			return
		}
		parts = listOf(value)
	}
	thread, first := c.thread(session), c.first(session)
	created := timeOf(m["created_at"])
	if created == nil {
		created = timeOf(m["created"])
	}
	if role := m.text("role"); role != events.RoleTool {
		data := c.said(role, parts)
		if data == nil {
			return
		}
		data.with("created_at", created).with("model", m["model"])
		if n, _ := m.count("is_summary_message"); n == 1 { // Crush goes on from it as if the user had said it
			data["role"] = quote(events.RoleUser)
			data["metadata"] = jsonOf(object{"crush": jsonOf(object{"compaction": jsontext.Value("{}")})})
		}
		c.message(c.at, thread, id, data, first)
		return
	}
	n := 0
	for _, p := range parts {
		kind, data := crushPart(p)
		if kind != "tool_result" {
			if kind != "finish" {
				c.skip("part " + kind + " of a tool")
			}
			continue
		}
		if data.text("data") != "" {
			c.skip("data of a tool result")
		}
		result := object{"role": quote(events.RoleTool), "content": data["content"], "tool_call_id": data["tool_call_id"]}
		result.with("created_at", created).with("is_error", data["is_error"]).with("tool_name", data["name"])
		if !data.has("content") {
			result["content"] = quote("")
		}
		c.message(c.at, thread, part(id, n), result, first)
		n++
	}
}

// crushPart is the kind of a part and its members, which the database has a level deeper.
func crushPart(p jsontext.Value) (string, object) {
	o := objectOf(p)
	if data := o.object("data"); data != nil {
		return o.text("type"), data
	}
	return o.text("type"), o
}

// said is a message of the user or the model; nil where nothing is said.
func (c *crush) said(role string, parts []jsontext.Value) object {
	var content, calls, thoughts []jsontext.Value
	data := object{"role": quote(role)}
	for _, p := range parts {
		kind, d := crushPart(p)
		switch kind {
		case "text":
			content = append(content, jsonOf(object{"type": quote("text"), "text": quote(d.text("text"))}))
		case "image_url":
			content = append(content, jsonOf(object{"type": quote("image_url"), "image_url": jsonOf(object{"url": d["url"]})}))
		case "binary":
			if d.text("Data") == "" {
				c.skip("part binary without its data")
				continue
			}
			url := quote("data:" + d.text("MIMEType") + ";base64," + d.text("Data"))
			content = append(content, jsonOf(object{"type": quote("image_url"), "image_url": jsonOf(object{"url": url})}))
		case "tool_call":
			id := d["id"]
			if d.has("tool_call_id") {
				id = d["tool_call_id"]
			}
			calls = append(calls, callOf(textOf(id), d.text("name"), quote(cmp.Or(d.text("input"), "{}"))))
		case "reasoning":
			if d.text("thinking") != "" {
				data["reasoning_content"] = d["thinking"]
			}
			if d.text("signature") != "" {
				thoughts = append(thoughts, jsonOf(object{"type": quote("thinking"), "thinking": d["thinking"], "signature": d["signature"]}))
			}
			if d.has("responses_data") || d.text("thought_signature") != "" {
				c.skip("reasoning of Responses or Gemini")
			}
		case "finish":
			if reason := d.text("reason"); reason != "end_turn" && reason != "tool_use" && reason != "stop" {
				c.skip("finish/" + reason)
			}
		default:
			c.skip("part " + kind)
		}
	}
	if len(content)+len(calls)+len(data) == 1 {
		c.skip(role + " without content")
		return nil
	}
	data["content"] = jsontext.Value("null")
	switch {
	case len(content) == 1 && objectOf(content[0]).has("text"):
		data["content"] = objectOf(content[0])["text"]
	case len(content) > 0:
		data["content"] = jsonOf(content)
	case len(calls) == 0:
		data["content"] = quote("")
	}
	if len(calls) > 0 {
		data["tool_calls"] = jsonOf(calls)
	}
	if len(thoughts) > 0 {
		data["thinking_blocks"] = jsonOf(thoughts)
	}
	return data
}

func (c *crush) flush() {}
