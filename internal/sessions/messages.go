package sessions

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"precis/events"
)

// messages reads conversations in the shapes of the providers' APIs: OpenAI's chat completions and Responses, and Anthropic's messages.
// A file is a list of messages, a request or a request with its answer; or lines of these, where each line that has a list is a
// conversation and each that is a message goes on with the file's. Events accept the messages as they are.
type messages struct {
	*output
	conversations int
	sent          map[string]int // messages by thread
	ids           map[string]bool
}

func newMessages(out *output) reader {
	return &messages{output: out, sent: map[string]int{}, ids: map[string]bool{}}
}

// isAnthropic recognizes a conversation whose contents or members only Anthropic has.
func isAnthropic(o object) bool {
	if !isOpenAI(o) {
		return false
	}
	if o.has("system") || o.text("type") == "message" && o.text("role") == events.RoleAssistant && o.has("stop_reason") {
		return true
	}
	for _, m := range slices.Concat(o.list(""), o.list("messages"), []jsontext.Value{jsonOf(o)}) {
		for _, block := range objectOf(m).list("content") {
			switch objectOf(block).text("type") {
			case "tool_use", "tool_result", "thinking":
				return true
			}
		}
	}
	return false
}

// isOpenAI recognizes a message, or a list of them.
func isOpenAI(o object) bool {
	for _, name := range []string{"", "messages", "input"} {
		if list := o.list(name); len(list) > 0 {
			first := objectOf(list[0])
			return first.has("role") || name != "messages" && first.has("type") && (first.has("call_id") || first.has("content") || first.has("summary"))
		}
	}
	return o.has("role") && (o.has("content") || o.has("tool_calls"))
}

func (m *messages) line(o object) {
	switch {
	case o.has(""):
		m.conversation(o, o.list(""))
	case o["messages"].Kind() == jsontext.KindBeginArray:
		m.conversation(o, o.list("messages"))
	case o.has("input"):
		m.conversation(o, m.input(o["input"]))
	case o.has("role"):
		m.add(m.thread(m.named(o)), jsonOf(o))
	default:
		m.skip("line without messages")
	}
}

// input is the Responses API's, which may be a text.
func (m *messages) input(v jsontext.Value) []jsontext.Value {
	if v.Kind() == jsontext.KindString {
		return []jsontext.Value{jsonOf(object{"role": quote(events.RoleUser), "content": v})}
	}
	return listOf(v)
}

// named is the conversation's id, as files have it.
func (m *messages) named(o object) string {
	for _, name := range []string{"thread_id", "conversation_id", "session_id", "conversation"} {
		if id := o.text(name); validID(id) {
			return id
		}
	}
	return ""
}

// conversationNames are members that events stand for, or that say nothing of their own.
var conversationNames = []string{
	"", "messages", "input", "system", "instructions", "choices", "output", "usage", "model", "thread_id", "conversation_id", "session_id",
	"conversation", "id", "object",
}

// conversation publishes a list, with what stands before and behind it.
func (m *messages) conversation(o object, list []jsontext.Value) {
	m.conversations++
	thread := m.named(o)
	if thread == "" && m.conversations > 1 {
		thread = fmt.Sprintf("%s-%d", m.base(), m.conversations)
	}
	thread = m.thread(thread)
	for _, name := range []string{"system", "instructions"} {
		if o.has(name) {
			m.add(thread, jsonOf(object{"role": quote(events.RoleSystem), "content": o[name]}))
		}
	}
	m.turns(thread, list, nil)
	switch {
	case len(o.list("choices")) == 1: // a chat completion beside its request
		answer := objectOf(o.list("choices")[0]).object("message")
		if answer != nil {
			m.add(thread, jsonOf(answer.with("usage", o["usage"]).with("model", o["model"])))
		}
	case o.has("output"):
		m.turns(thread, o.list("output"), o["usage"])
	}
	for _, name := range sortedKeys(o) {
		if !slices.Contains(conversationNames, name) {
			m.skip("member " + name)
		}
	}
}

// turns publishes messages. What the model made in a row of items is one message, as its answer was.
func (m *messages) turns(thread string, list []jsontext.Value, usage jsontext.Value) {
	for i := 0; i < len(list); {
		o := objectOf(list[i])
		if o == nil {
			m.skip("element that is not an object")
			i++
			continue
		}
		if o.has("role") && o.text("type") != "message" || o.has("parts") {
			m.add(thread, list[i])
			i++
			continue
		}
		end := i + 1
		for byModel(o) && end < len(list) && objectOf(list[end]) != nil && byModel(objectOf(list[end])) {
			end++
		}
		data := object{"role": quote(events.RoleUser), "content": jsonOf(list[i:end])}
		switch {
		case byModel(o):
			data["role"] = quote(events.RoleAssistant)
			data.with("usage", usage)
		case o.text("type") == "message":
			data = object{"role": o["role"], "content": o["content"]}
		}
		m.add(thread, jsonOf(data))
		i = end
	}
}

// usageNames are the counts of the providers' reports.
var usageNames = []string{
	"input_tokens", "output_tokens", "cached_input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "prompt_tokens", "completion_tokens",
}

// add publishes a message. Anthropic's results of several calls in one message become an event each, so that each has a summary
// of its own.
func (m *messages) add(thread string, raw jsontext.Value) {
	o := objectOf(raw)
	if o == nil {
		m.skip("element that is not an object")
		return
	}
	id := m.id(thread, o)
	created := timeOf(o["created_at"])
	if created == nil {
		created = timeOf(o["timestamp"])
	}
	for _, name := range []string{"thread_id", "conversation_id", "session_id", "conversation", "timestamp", "created_at"} {
		delete(o, name)
	}
	o.with("created_at", created)
	if usage := o.object("usage"); usage != nil {
		delete(o, "usage")
		o.with("usage", usageWhole(usage))
	}
	if o["model"].Kind() != jsontext.KindString {
		delete(o, "model")
	}
	var results, rest []jsontext.Value
	for _, b := range o.list("content") {
		if objectOf(b).text("type") == "tool_result" {
			results = append(results, b)
		} else {
			rest = append(rest, b)
		}
	}
	if len(results) == 0 || len(results)+len(rest) == 1 {
		m.message(m.at, thread, id, o, nil)
		return
	}
	for n, b := range results {
		one := maps.Clone(o)
		one["content"] = jsonOf([]jsontext.Value{b})
		m.message(m.at, thread, part(id, n), one, nil)
	}
	if len(rest) > 0 {
		o["content"] = jsonOf(rest)
		m.message(m.at, thread, part(id, len(results)), o, nil)
	}
}

// usageWhole keeps the counts of a report, with what OpenAI has a level deeper.
func usageWhole(usage object) jsontext.Value {
	for _, details := range []string{"prompt_tokens_details", "input_tokens_details"} {
		if n, ok := usage.object(details).count("cached_tokens"); ok && !usage.has("cached_input_tokens") {
			usage["cached_input_tokens"] = jsonOf(n)
		}
	}
	return usageOf(usage, usageNames...)
}

// id is the message's own, if it has one that no other message of the thread has, else its place.
func (m *messages) id(thread string, o object) string {
	m.sent[thread]++
	own := cmp.Or(o.text("message_id"), o.text("id"))
	if !validID(own) || m.ids[thread+"\x00"+own] {
		return fmt.Sprintf("m%d", m.sent[thread])
	}
	m.ids[thread+"\x00"+own] = true
	return own
}

func (m *messages) flush() {}
