package sessions

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"precis/events"
)

// codex reads ~/.codex/sessions/**/rollout-*.jsonl. A line has a timestamp, a type and a payload; those of type response_item hold items
// of the Responses API. Files of the first versions have the items alone.
type codex struct {
	*output
	id     string // the session's
	name   string // the thread
	first  object
	model  jsontext.Value
	answer *codexAnswer
	order  []string
	turns  []string // user messages that begin a turn
	user   string   // the newest message of the user
	total  string   // the newest total of tokens: it is repeated
}

// codexAnswer is what the model made in a row, with the results of its calls: the usage is written behind them.
type codexAnswer struct {
	at      int
	items   []jsontext.Value
	time    jsontext.Value
	results []codexResult
}

type codexResult struct {
	at   int
	data object
}

func newCodex(out *output) reader { return &codex{output: out, first: object{}} }

func (c *codex) line(o object) {
	raw := o["payload"]
	payload := objectOf(raw)
	switch kind := o.text("type"); {
	case payload == nil:
		c.bare(o)
	case kind == "session_meta":
		c.meta(payload, o)
	case kind == "turn_context":
		if payload["model"].Kind() == jsontext.KindString {
			c.model = payload["model"]
		}
	case kind == "response_item":
		c.item(raw, payload, timeOf(o["timestamp"]))
	case kind == "compacted":
		c.compacted(payload, timeOf(o["timestamp"]))
	case kind == "event_msg":
		c.event(payload, timeOf(o["timestamp"]))
	default:
		c.skip(cmp.Or(kind, "record without a type"))
	}
}

// bare is a line of a file without payloads.
func (c *codex) bare(o object) {
	switch {
	case o.has("record_type"):
		c.skip("record_type/" + o.text("record_type"))
	case o.text("type") == "" && o.has("id"):
		c.meta(o, o)
	case o.text("type") == "":
		c.skip("record without a type")
	case !slices.Contains(firstItems, o.text("type")):
		c.skip(o.text("type"))
	default:
		c.item(jsonOf(o), o, timeOf(o["timestamp"]))
	}
}

// firstItems are the items of files without payloads: what other agents keep has types, too.
var firstItems = []string{"message", "reasoning", "function_call", "function_call_output", "local_shell_call", "local_shell_call_output", "custom_tool_call", "custom_tool_call_output", "web_search_call"}

// meta names the thread. A fork has its parent's too, and a session that is continued its own again.
func (c *codex) meta(m, line object) {
	if c.name != "" {
		if m.text("id") != c.id {
			c.skip("session_meta of another session")
		}
		return
	}
	id := m.text("id")
	if !validID(id) {
		id = ""
	}
	c.id, c.name = m.text("id"), c.thread(id)
	about := object{}.with("version", m["cli_version"])
	for _, name := range []string{"cwd", "originator", "git", "forked_from_id"} {
		about.with(name, m[name])
	}
	if len(about) > 0 {
		c.first["metadata"] = jsonOf(object{"session": jsonOf(about)})
	}
	if parent := m.object("source").object("subagent").object("thread_spawn").text("parent_thread_id"); validID(parent) && parent != c.name {
		c.first["parent_thread_id"] = quote(parent)
	}
	instructions := m.object("base_instructions").text("text")
	if instructions = cmp.Or(instructions, m.text("instructions")); instructions != "" {
		created := timeOf(m["timestamp"])
		if created == nil {
			created = timeOf(line["timestamp"])
		}
		c.publish(c.at, object{"role": quote(events.RoleSystem), "content": quote(instructions)}.with("created_at", created))
	}
}

// publish adds a message, which is named by its line: not every item has an id.
func (c *codex) publish(at int, data object) {
	if c.name == "" {
		c.name = c.thread("")
	}
	id := fmt.Sprintf("line-%d", at)
	c.order = append(c.order, id)
	c.message(at, c.name, id, data, c.first)
}

func (c *codex) item(raw jsontext.Value, item object, created jsontext.Value) {
	kind := item.text("type")
	switch {
	case kind == "ghost_snapshot":
		c.skip("response_item/" + kind)
	case byModel(item):
		if c.answer != nil && len(c.answer.results) > 0 {
			c.endAnswer(nil)
		}
		if c.answer == nil {
			c.answer = &codexAnswer{at: c.at, time: created}
		}
		c.answer.items = append(c.answer.items, raw)
	case kind == "message":
		c.endAnswer(nil)
		role := item.text("role")
		if role != events.RoleUser && role != events.RoleDeveloper && role != events.RoleSystem {
			c.skip("response_item/message of role " + role)
			return
		}
		c.publish(c.at, object{"role": item["role"], "content": item["content"]}.with("created_at", created))
		if role == events.RoleUser {
			c.user = c.order[len(c.order)-1]
		}
	default:
		data := object{"role": quote(events.RoleUser), "content": jsonOf([]jsontext.Value{raw})}
		data.with("created_at", created).with("exit_code", codexExit(item["output"]))
		if c.answer == nil {
			c.publish(c.at, data)
			return
		}
		c.answer.results = append(c.answer.results, codexResult{at: c.at, data: data})
	}
}

// byModel reports whether an item of the Responses API is of the model's output.
func byModel(item object) bool {
	switch t := item.text("type"); {
	case t == "message", t == "":
		return item.text("role") == events.RoleAssistant
	case len(t) > len("_output") && t[len(t)-len("_output"):] == "_output", t == "mcp_approval_response", t == "item_reference":
		return false
	}
	return true
}

// codexExit is the exit status of a command: in the JSON that the output is, or in its first lines.
func codexExit(output jsontext.Value) jsontext.Value {
	text := textOf(output)
	if wrapped := objectOf(jsontext.Value(text)); wrapped != nil {
		if _, ok := wrapped.object("metadata").count("exit_code"); ok {
			return wrapped.object("metadata")["exit_code"]
		}
		return nil
	}
	return exitCodeOf(text)
}

// endAnswer publishes what the model made since the last message of others, and what its calls returned.
func (c *codex) endAnswer(usage jsontext.Value) {
	a := c.answer
	if a == nil {
		return
	}
	c.answer = nil
	data := object{"role": quote(events.RoleAssistant), "content": jsonOf(a.items)}
	c.publish(a.at, data.with("created_at", a.time).with("model", c.model).with("usage", usage))
	for _, r := range a.results {
		c.publish(r.at, r.data)
	}
}

// repeated are events that say again what items say.
var repeated = []string{
	"user_message", "agent_message", "agent_reasoning", "agent_reasoning_raw_content", "context_compacted", "item_completed", "item_started",
	"task_started", "turn_started",
}

func (c *codex) event(e object, created jsontext.Value) {
	switch kind := e.text("type"); {
	case kind == "token_count":
		c.tokens(e.object("info"))
	case kind == "task_complete", kind == "turn_complete", kind == "turn_aborted":
		c.endAnswer(nil)
		if kind == "turn_aborted" {
			c.skip("event_msg/" + kind)
		}
	case kind == "thread_rolled_back":
		c.endAnswer(nil)
		c.rollback(e, created)
	case kind == "user_message":
		if c.user != "" && !slices.Contains(c.turns, c.user) {
			c.turns = append(c.turns, c.user)
		}
	case slices.Contains(repeated, kind):
	default:
		c.skip("event_msg/" + kind)
	}
}

// tokens ends an answer with its usage. Codex writes it when the answer is complete, and again with each change of the limits.
func (c *codex) tokens(info object) {
	last := usageOf(info.object("last_token_usage"), "input_tokens", "output_tokens", "cached_input_tokens")
	total := string(info["total_token_usage"])
	if last == nil || total != "" && total == c.total {
		return
	}
	c.total = total
	c.endAnswer(last)
}

// rollback takes back turns of the user.
func (c *codex) rollback(e object, created jsontext.Value) {
	n, ok := e.count("num_turns")
	if !ok || n == 0 || n > int64(len(c.turns)) {
		c.skip("event_msg/thread_rolled_back over more than the file has")
		return
	}
	keep := len(c.turns) - int(n)
	at := slices.Index(c.order, c.turns[keep])
	if at < 1 {
		c.skip("event_msg/thread_rolled_back to the beginning")
		return
	}
	c.turns, c.order = c.turns[:keep], c.order[:at]
	c.rewind(c.name, c.order[at-1], fmt.Sprintf("line-%d/rewind", c.at), created)
}

// compacted is the summary that Codex goes on with: a text, or an encrypted item. The messages that it replaced are in the thread.
func (c *codex) compacted(p object, created jsontext.Value) {
	c.endAnswer(nil)
	mark := jsonOf(object{"codex": jsonOf(object{"compaction": jsontext.Value("true")})})
	if text := p.text("message"); text != "" {
		c.publish(c.at, object{"role": quote(events.RoleUser), "content": p["message"], "metadata": mark}.with("created_at", created))
		return
	}
	var items []jsontext.Value
	for _, raw := range p.list("replacement_history") {
		if t := objectOf(raw).text("type"); t == "compaction" || t == "compaction_summary" {
			items = append(items, raw)
		}
	}
	if len(items) == 0 {
		c.skip("compacted without a summary")
		return
	}
	c.publish(c.at, object{"role": quote(events.RoleAssistant), "content": jsonOf(items), "metadata": mark}.with("created_at", created))
}

func (c *codex) flush() { c.endAnswer(nil) }
