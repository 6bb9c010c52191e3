package sessions

import (
	"bytes"
	"cmp"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"precis/events"
)

// Transcript is a thread to be written as a session of Claude Code.
type Transcript struct {
	Thread string
	CWD    string // the session's directory, where no message has one
	Turns  []Turn
}

// Turn is one message in Anthropic's shape.
type Turn struct {
	Message *events.Message // as published; nil: made for the provider, as the call of a result that has none
	Role    string
	Content jsontext.Value
	Lone    bool // the call of this result is such a one
}

// ownMembers are those of an event for which Claude Code has no place. A record has them in its member "precis", where the reader would give
// another value, or null where it would give one and the event has none.
var ownMembers = []string{
	"message_id", "agent_id", "parent_thread_id", "policy", "pinned", "created_at", "metadata", "usage", "model", "exit_code",
	"relevant_range", "tool_name", "arguments",
}

// claudeRecord is a line of a session.
type claudeRecord struct {
	ParentUUID   *string        `json:"parentUuid"`
	Logical      string         `json:"logicalParentUuid,omitempty"`
	IsSidechain  bool           `json:"isSidechain"`
	UserType     string         `json:"userType"`
	CWD          string         `json:"cwd"`
	SessionID    string         `json:"sessionId"`
	Version      string         `json:"version"`
	GitBranch    string         `json:"gitBranch,omitempty"`
	AgentID      string         `json:"agentId,omitempty"`
	Type         string         `json:"type"`
	Subtype      string         `json:"subtype,omitempty"`
	Content      string         `json:"content,omitempty"`
	Compact      *claudeCompact `json:"compactMetadata,omitempty"`
	Message      *claudeMessage `json:"message,omitempty"`
	Attachment   *claudeQueued  `json:"attachment,omitempty"`
	IsMeta       bool           `json:"isMeta,omitzero"`
	IsCompaction bool           `json:"isCompactSummary,omitzero"`
	UUID         string         `json:"uuid"`
	Timestamp    string         `json:"timestamp"`
	Precis       object         `json:"precis,omitempty"`
}

type claudeMessage struct {
	Model string         `json:"model,omitempty"`
	ID    string         `json:"id,omitempty"`
	Type  string         `json:"type,omitempty"`
	Role  string         `json:"role"`
	Body  jsontext.Value `json:"content"`
	Usage object         `json:"usage,omitempty"`
}

type claudeCompact struct {
	Trigger   jsontext.Value `json:"trigger,omitempty"`
	PreTokens jsontext.Value `json:"preTokens,omitempty"`
}

type claudeQueued struct {
	Type   string         `json:"type"`
	Prompt jsontext.Value `json:"prompt"`
	Mode   string         `json:"commandMode"`
}

// writtenVersion is that of Claude Code whose records these are, where no message says one.
const writtenVersion = "2.1.0"

// claudeWriter writes one session.
type claudeWriter struct {
	out    io.Writer
	thread string
	base   claudeRecord   // what all records have
	parent string         // uuid of the record before
	at     string         // its time
	begun  bool           // a message has been written
	made   map[string]int // how often each turn that no message says was written: they may be equal
	err    error
}

// WriteClaudeCode writes a session that Claude Code resumes, and that reads as the same thread again. The file belongs at
// projects/<directory>/<session>.jsonl; it returns the session's id and directory.
func WriteClaudeCode(out io.Writer, t Transcript) (session, cwd string, err error) {
	w := &claudeWriter{out: out, thread: t.Thread, made: map[string]int{}, at: "1970-01-01T00:00:00.000Z", base: claudeRecord{
		UserType: "external", CWD: t.CWD, Version: writtenVersion,
	}}
	parent, agent, sub := strings.Cut(t.Thread, "/")
	switch {
	case isUUID(t.Thread):
		w.base.SessionID = t.Thread
	case sub && isUUID(parent) && (strings.HasPrefix(agent, "agent-") || isUUID(agent)):
		w.base.SessionID, w.base.IsSidechain = parent, true
		w.base.AgentID, _ = strings.CutPrefix(agent, "agent-")
		if isUUID(agent) {
			w.base.AgentID = ""
		}
	default:
		w.base.SessionID = uuidOf(t.Thread)
	}
	w.about(t.Turns)
	for _, turn := range t.Turns {
		if turn.Role == events.RoleAssistant {
			w.assistant(turn)
		} else {
			w.user(turn)
		}
	}
	return w.base.SessionID, w.base.CWD, w.err
}

// ClaudeDirectory is the name under which Claude Code keeps the sessions of a directory.
func ClaudeDirectory(cwd string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x80 && (r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z') {
			return r
		}
		return '-'
	}, cwd)
}

// uuidOf is the same id for the same names.
func uuidOf(names ...string) string {
	return uuid.NewSHA1(uuid.NameSpaceOID, []byte(strings.Join(names, "\x00"))).String()
}

// madeID is the id of a turn that no message says: the same whenever the thread is written.
func (w *claudeWriter) madeID(kind string, turn Turn) string {
	names := []string{w.thread, kind, string(turn.Content)}
	name := strings.Join(names, "\x00")
	if n := w.made[name]; n > 0 {
		names = append(names, strconv.Itoa(n))
	}
	w.made[name]++
	return uuidOf(names...)
}

// about takes what a session says of itself from its messages.
func (w *claudeWriter) about(turns []Turn) {
	for _, turn := range turns {
		if turn.Message == nil {
			continue
		}
		about := objectOf(turn.Message.Metadata).object("session")
		if cwd := about.text("cwd"); cwd != "" {
			w.base.CWD, w.base.GitBranch = cwd, about.text("git_branch")
			w.base.Version = cmp.Or(about.text("version"), w.base.Version)
			return
		}
	}
}

// record begins one behind the last.
func (w *claudeWriter) record(kind, id string, m *events.Message) claudeRecord {
	r := w.base
	r.Type, r.UUID, r.Timestamp = kind, id, w.at
	if w.parent != "" {
		parent := w.parent
		r.ParentUUID = &parent
	}
	if m != nil && !m.CreatedAt.IsZero() {
		r.Timestamp = m.CreatedAt.UTC().Format("2006-01-02T15:04:05.000Z")
	}
	return r
}

func (w *claudeWriter) write(r claudeRecord) {
	line, err := json.Marshal(r, json.Deterministic(true))
	if err == nil && w.err == nil {
		_, err = w.out.Write(append(line, '\n'))
	}
	if w.err == nil {
		w.err = err
	}
	w.parent, w.at = r.UUID, r.Timestamp
}

// assistant writes a record for each block, as Claude Code does.
func (w *claudeWriter) assistant(turn Turn) {
	m := turn.Message
	id, own := "", object{"made": jsontext.Value("true")}
	if m != nil {
		id, own = m.MessageID, nil
	} else {
		id = w.madeID("call", turn)
	}
	api, _, _ := strings.Cut(id, "#")
	message := claudeMessage{Model: "unknown", ID: api, Type: "message", Role: events.RoleAssistant, Usage: object{
		"input_tokens": jsontext.Value("0"), "output_tokens": jsontext.Value("0"),
	}}
	if m != nil {
		message.Model = cmp.Or(m.Model, message.Model)
		if m.Usage != nil {
			message.Usage = anthropicUsage(m.Usage)
		}
		have := object{"message_id": quote(api), "usage": jsonOf(message.Usage), "model": quote(message.Model)}
		own = w.own(turn, w.record("assistant", id, m), have)
	}
	blocks := listOf(turn.Content)
	if len(blocks) == 0 {
		blocks = []jsontext.Value{jsonOf(object{"type": quote("text"), "text": turn.Content})}
	}
	for n, b := range blocks {
		at := uuidOf(w.thread, id, part("block", n))
		if n == 0 && isUUID(id) {
			at = id
		}
		r := w.record("assistant", at, m)
		one := message
		one.Body = jsonOf([]jsontext.Value{b})
		r.Message, r.Precis = &one, own
		w.write(r)
	}
}

// anthropicUsage is a report in Anthropic's terms, in which the input leaves out what came from or went into the cache.
func anthropicUsage(u *events.TokenUsage) object {
	return object{
		"input_tokens":            jsonOf(max(u.InputTokens-u.CachedInputTokens-u.CacheCreationInputTokens, 0)),
		"cache_read_input_tokens": jsonOf(u.CachedInputTokens), "cache_creation_input_tokens": jsonOf(u.CacheCreationInputTokens),
		"output_tokens": jsonOf(u.OutputTokens),
	}
}

// user writes a prompt or results.
func (w *claudeWriter) user(turn Turn) {
	m := turn.Message
	if m == nil {
		r := w.record("user", w.madeID("made", turn), nil)
		r.Message, r.Precis = &claudeMessage{Role: events.RoleUser, Body: turn.Content}, object{"made": jsontext.Value("true")}
		w.write(r)
		return
	}
	id := m.MessageID
	if !isUUID(id) {
		id = uuidOf(w.thread, id)
	}
	about := objectOf(m.Metadata).object("claude_code")
	have := object{"message_id": quote(id)}
	if blocks := listOf(turn.Content); len(blocks) == 1 && objectOf(blocks[0]).is("is_error") {
		have.with("exit_code", exitCodeOf(contentText(objectOf(blocks[0])["content"])))
	}
	compaction := about.object("compaction")
	if compaction != nil {
		w.boundary(id, m, compaction)
	}
	r := w.record("user", id, m)
	r.IsMeta, r.IsCompaction = about.is("meta"), compaction != nil
	if about.is("queued") {
		r.Type, r.Attachment = "attachment", &claudeQueued{Type: "queued_command", Prompt: turn.Content, Mode: "prompt"}
	} else {
		r.Message = &claudeMessage{Role: events.RoleUser, Body: turn.Content}
	}
	if len(about) > 0 && w.begun {
		have["metadata"] = jsonOf(object{"claude_code": jsonOf(about)})
	}
	r.Precis = w.own(turn, r, have)
	if results(turn.Content) && len(listOf(turn.Content)) > 1 { // the reader would make an event of each
		r.Precis["whole"] = jsontext.Value("true")
	}
	w.write(r)
}

func results(content jsontext.Value) bool {
	for _, block := range listOf(content) {
		if objectOf(block).text("type") == "tool_result" {
			return true
		}
	}
	return false
}

// boundary is what Claude Code writes before a summary: it resumes from the last one.
func (w *claudeWriter) boundary(id string, m *events.Message, compaction object) {
	r := w.record("system", uuidOf(w.thread, id, "boundary"), m)
	if r.ParentUUID != nil {
		r.Logical, r.ParentUUID = *r.ParentUUID, nil
	}
	r.Subtype, r.Content = "compact_boundary", "Conversation compacted"
	r.Compact = &claudeCompact{Trigger: compaction["trigger"], PreTokens: compaction["pre_tokens"]}
	w.write(r)
}

// own are the members that the record does not say. have are those that the reader would give the event.
func (w *claudeWriter) own(turn Turn, r claudeRecord, have object) object {
	m := turn.Message
	have["agent_id"], have["created_at"] = quote("claude-code"), timeOf(quote(r.Timestamp))
	if !w.begun {
		session := object{"cwd": quote(r.CWD), "version": quote(r.Version)}
		if r.GitBranch != "" {
			session["git_branch"] = quote(r.GitBranch)
		}
		have["metadata"] = jsonOf(object{"session": jsonOf(session)})
		if r.IsSidechain {
			have["parent_thread_id"] = quote(r.SessionID)
		}
	}
	want := objectOf(jsonOf(m))
	if m.Usage != nil {
		want["usage"] = jsonOf(anthropicUsage(m.Usage))
	}
	if !m.CreatedAt.IsZero() {
		want["created_at"] = quote(m.CreatedAt.UTC().Format(time.RFC3339Nano))
	}
	if !turn.Lone { // the call says these
		delete(want, "tool_name")
		delete(want, "arguments")
	}
	if !m.Pinned {
		delete(want, "pinned")
	}
	if m.AgentID == "" { // what is read has one
		delete(have, "agent_id")
	}
	own := object{}
	for _, name := range ownMembers {
		switch {
		case same(want[name], have[name]):
		case want.has(name):
			own[name] = want[name]
		case have.has(name):
			own[name] = jsontext.Value("null")
		}
	}
	if !w.begun && !r.IsSidechain && r.SessionID != w.thread {
		own["thread_id"] = quote(w.thread)
	}
	w.begun = true
	return own
}

// same reports whether two values are the same JSON, or both absent.
func same(a, b jsontext.Value) bool {
	if len(a) == 0 || len(b) == 0 {
		return len(a) == len(b)
	}
	a, b = a.Clone(), b.Clone()
	return a.Canonicalize() == nil && b.Canonicalize() == nil && bytes.Equal(a, b)
}

// ownOf gives an event the members that a record has of its own; its ids are read by the caller.
func (c *claudeCode) ownOf(o, data, first object) {
	own := o.object("precis")
	for _, name := range ownMembers {
		value, said := own[name]
		switch {
		case !said || name == "message_id" || name == "agent_id":
		case value.Kind() == jsontext.KindNull:
			delete(data, name)
			delete(first, name)
		default:
			data[name] = value
			delete(first, name)
		}
	}
	c.agent = own.text("agent_id")
}
