package sessions

import (
	"cmp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"precis/events"
)

// claudeCode reads ~/.claude/projects/<project>/<session>.jsonl and its sub-agents' files. A line is a record; those of type user and
// assistant hold messages in Anthropic's shape. An answer of several blocks takes a line per block, which all have its message.id. Each
// record names its parent: a user who goes back to an earlier prompt makes a branch.
type claudeCode struct {
	*output
	session string                 // the file's thread
	threads map[string]*claudeSide // by thread
	places  map[string]claudePlace // by a record's uuid
	compact jsontext.Value         // of the boundary that the next summary belongs to
}

// claudePlace is the message that a record is part of, or follows.
type claudePlace struct{ thread, message string }

// claudeSide is the session itself, or a sub-agent.
type claudeSide struct {
	parent  string         // thread of the agent that started this one
	order   []string       // messages, without those that a rewind removed
	turns   map[string]int // those of them that a user or the model wrote, by their place in order
	answer  *claudeAnswer  // waits for its further blocks
	answers map[string]int // message.id: how many messages it has
}

// claudeAnswer is an answer of the model.
type claudeAnswer struct {
	at          int
	api, id     string // message.id, and the id of the event
	blocks      []jsontext.Value
	usage       jsontext.Value
	model, time jsontext.Value
	first       object
	record      object // the first, for what it has of its own
}

func newClaudeCode(out *output) reader {
	return &claudeCode{output: out, threads: map[string]*claudeSide{}, places: map[string]claudePlace{}}
}

func (c *claudeCode) line(o object) {
	kind := o.text("type")
	switch {
	case o.object("precis").is("made"): // by an export, for the provider
		c.places[o.text("uuid")] = c.before(o)
	case kind == "user" && o.object("message") != nil:
		c.user(o)
	case kind == "assistant" && o.object("message") != nil:
		c.assistant(o)
	case kind == "attachment" && o.object("attachment").text("type") == "queued_command" && o.object("attachment").has("prompt"):
		c.queued(o)
	default:
		c.other(kind, o)
	}
}

// other follows the chain of parents through a record that holds no message.
func (c *claudeCode) other(kind string, o object) {
	c.places[o.text("uuid")] = c.before(o)
	switch sub := o.text("subtype"); {
	case kind == "system" && sub == "compact_boundary":
		c.endAnswer(c.side(o))
		c.compact = jsonOf(object{}.with("trigger", o.object("compactMetadata")["trigger"]).with("pre_tokens", o.object("compactMetadata")["preTokens"]))
	case kind == "system" && (sub == "turn_duration" || sub == "stop_hook_summary"): // the turn is over
		c.endAnswer(c.side(o))
		c.skip(kind + "/" + sub)
	case kind == "attachment":
		c.skip(kind + "/" + o.object("attachment").text("type"))
	case sub != "":
		c.skip(kind + "/" + sub)
	case kind == "":
		c.skip("record without a type")
	default:
		c.skip(kind)
	}
}

// before is the place that a record follows.
func (c *claudeCode) before(o object) claudePlace {
	if p, ok := c.places[o.text("parentUuid")]; ok {
		return p
	}
	return c.places[o.text("logicalParentUuid")]
}

// side is the thread of a record: the file's, or that of a sub-agent, which is told by its id, or in older files by the first
// record of its chain.
func (c *claudeCode) side(o object) (string, *claudeSide) {
	if c.session == "" {
		session := o.text("sessionId")
		if isUUID(c.base()) {
			session = c.base()
		}
		if own := o.object("precis").text("thread_id"); validID(own) {
			session = own
		}
		c.session = c.thread(session)
	}
	thread := c.session
	if o.is("isSidechain") {
		agent := o.text("agentId")
		before := c.before(o).thread
		switch {
		case validID(agent):
			thread = c.session + "/agent-" + agent
		case before != "" && before != c.session:
			thread = before
		case validID(o.text("uuid")):
			thread = c.session + "/" + o.text("uuid")
		}
	}
	s := c.threads[thread]
	if s == nil {
		s = &claudeSide{turns: map[string]int{}, answers: map[string]int{}}
		if thread != c.session {
			s.parent = c.session
		}
		c.threads[thread] = s
	}
	return thread, s
}

// isUUID reports whether a name has the form of a session's id.
func isUUID(s string) bool {
	return len(s) == 36 && strings.Trim(s, "0123456789abcdefABCDEF-") == "" && strings.Count(s, "-") == 4
}

// first are the members of a thread's first event.
func (s *claudeSide) first(o object) object {
	first := object{}
	about := object{}.with("cwd", o["cwd"]).with("git_branch", o["gitBranch"]).with("version", o["version"])
	if len(about) > 0 {
		first["metadata"] = jsonOf(object{"session": jsonOf(about)})
	}
	if s.parent != "" {
		first["parent_thread_id"] = quote(s.parent)
	}
	return first
}

// assistant collects the blocks of an answer. Results of its first calls may be written before its last block: what comes after them is
// a message of its own.
func (c *claudeCode) assistant(o object) {
	message := o.object("message")
	thread, s := c.side(o)
	uuid := o.text("uuid")
	if message.text("model") == "<synthetic>" { // what Claude Code says in the model's name, as errors of the API
		c.places[uuid] = c.before(o)
		c.skip("assistant/<synthetic>")
		return
	}
	id := cmp.Or(o.object("precis").text("message_id"), message.text("id"))
	if !validID(id) {
		id = uuid
	}
	if !validID(id) {
		c.skip("assistant without an id")
		return
	}
	if s.answer != nil && s.answer.api != id {
		c.endAnswer(thread, s)
	}
	if s.answer == nil {
		s.answer = &claudeAnswer{
			at: c.at, api: id, id: part(id, s.answers[id]), time: timeOf(o["timestamp"]), model: message["model"], first: s.first(o), record: o,
		}
		s.answers[id]++
	}
	a := s.answer
	c.places[uuid] = claudePlace{thread, a.id}
	if content := message["content"]; content.Kind() == jsontext.KindBeginArray {
		a.blocks = append(a.blocks, listOf(content)...)
	} else if text := textOf(content); text != "" {
		a.blocks = append(a.blocks, jsonOf(object{"type": quote("text"), "text": content}))
	}
	if s.answers[id] == 1 { // the others have the same usage: that of the call
		a.usage = usageOf(message.object("usage"), "input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
	}
}

func (c *claudeCode) endAnswer(thread string, s *claudeSide) {
	a := s.answer
	if a == nil {
		return
	}
	s.answer = nil
	if len(a.blocks) == 0 {
		c.skip("assistant without content")
		return
	}
	data := object{"role": quote(events.RoleAssistant), "content": jsonOf(a.blocks)}
	data.with("created_at", a.time).with("usage", a.usage)
	if a.model.Kind() == jsontext.KindString {
		data["model"] = a.model
	}
	s.turns[a.id] = len(s.order)
	s.order = append(s.order, a.id)
	c.ownOf(a.record, data, a.first)
	c.message(a.at, thread, a.id, data, a.first)
}

// user publishes a prompt, or results of calls: each of them is an event of its own, so that each has a summary of its own.
func (c *claudeCode) user(o object) {
	thread, s := c.side(o)
	c.endAnswer(thread, s)
	uuid := o.text("uuid")
	if !validID(uuid) {
		c.skip("user without a uuid")
		return
	}
	content := o.object("message")["content"]
	if content.Kind() != jsontext.KindString && content.Kind() != jsontext.KindBeginArray {
		c.skip("user without content")
		return
	}
	var results, rest []jsontext.Value
	whole, found := o.object("precis").is("whole"), false
	for _, block := range listOf(content) {
		result := objectOf(block).text("type") == "tool_result"
		found = found || result
		if result && !whole {
			results = append(results, block)
		} else {
			rest = append(rest, block)
		}
	}
	prompt := !found && !o.is("isMeta") && !o.is("isCompactSummary") && !o.is("queued")
	if prompt {
		c.branch(thread, s, o)
	}
	n := 0
	publish := func(content jsontext.Value, more object) {
		id := part(cmp.Or(o.object("precis").text("message_id"), uuid), n)
		n++
		data := object{"role": quote(events.RoleUser), "content": content}
		data.with("created_at", timeOf(o["timestamp"]))
		for name, value := range more {
			data[name] = value
		}
		if prompt {
			s.turns[id] = len(s.order)
		}
		s.order = append(s.order, id)
		first := s.first(o)
		c.ownOf(o, data, first)
		c.message(c.at, thread, id, data, first)
		c.places[uuid] = claudePlace{thread, id}
	}
	for _, block := range results {
		result := objectOf(block)
		more := object{}
		if result.is("is_error") {
			more.with("exit_code", exitCodeOf(contentText(result["content"])))
		}
		publish(jsonOf([]jsontext.Value{block}), more)
	}
	if len(results) > 0 && len(rest) > 0 {
		content = jsonOf(rest)
	}
	if len(results) == 0 || len(rest) > 0 {
		publish(content, c.about(o))
	}
}

// about are the members of a user's message that is not a prompt.
func (c *claudeCode) about(o object) object {
	about := object{}
	if o.is("isMeta") {
		about["meta"] = o["isMeta"]
	}
	if o.is("queued") {
		about["queued"] = o["queued"]
	}
	if o.is("isCompactSummary") {
		about["compaction"] = jsontext.Value("{}")
		about.with("compaction", c.compact)
		c.compact = nil
	}
	if len(about) == 0 {
		return nil
	}
	return object{"metadata": jsonOf(object{"claude_code": jsonOf(about)})}
}

// queued is what the user typed while the agent worked.
func (c *claudeCode) queued(o object) {
	message := object{"content": o.object("attachment")["prompt"]}
	o["message"] = jsonOf(message)
	o["queued"] = jsontext.Value("true") // it goes on with the turn, whatever its parent
	c.user(o)
}

// branch rewinds the thread where a prompt follows an earlier message than the newest turn.
func (c *claudeCode) branch(thread string, s *claudeSide, o object) {
	p, known := c.places[o.text("parentUuid")]
	if !known || len(s.order) == 0 {
		return
	}
	at := slices.Index(s.order, p.message)
	if at < 0 {
		if len(s.turns) > 0 {
			c.skip("user/branch from what no message stands for")
		}
		return
	}
	newest := -1
	for _, i := range s.turns {
		newest = max(newest, i)
	}
	if newest <= at {
		return
	}
	for id, i := range s.turns {
		if i > at {
			delete(s.turns, id)
		}
	}
	s.order = s.order[:at+1]
	c.rewind(thread, p.message, o.text("uuid")+"/rewind", timeOf(o["timestamp"]))
}

func (c *claudeCode) flush() {
	for _, thread := range sortedKeys(c.threads) {
		c.endAnswer(thread, c.threads[thread])
	}
}
