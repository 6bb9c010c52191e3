package gateway

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"precis/events"
)

// Headers that the gateway reads and does not pass on.
const (
	// HeaderThread names the thread, percent-encoded (RFC 3986) where its id has other bytes than a header can hold.
	HeaderThread = "Precis-Thread"
	// HeaderAgent is the agent_id of what is published.
	HeaderAgent = "Precis-Agent"
	// HeaderMode is "off" for a request that is only passed on, "observe" for one that is not compacted.
	HeaderMode = "Precis-Mode"

	ownHeaders = "Precis-"
	// metadataThread names the thread in a request's metadata.
	metadataThread = "precis_thread"
)

// conversation is what a request says.
type conversation struct {
	api      string // the conversations of two APIs are two, whatever they say
	thread   string // named by the client
	scope    string // a session's or a user's id, within which the beginning tells conversations apart
	previous string // the response that a request continues, which the provider keeps
	kept     string // the provider's id of a conversation that it keeps
	several  bool   // the client wants more than one answer
	apart    bool   // the answer will be a compaction, which is no turn of the conversation
	messages []*message
	ids      identities
	scratch  *scratch // that it is read into
}

// answer is what a provider replied.
type answer struct {
	id      string // the provider's
	message *message
}

// errThread is a thread that can't be one.
var errThread = errors.New("is not a thread id: 1 to 256 bytes of UTF-8, percent-encoded")

// named reads the header that names the thread.
func named(h http.Header) (string, error) {
	value := h.Get(HeaderThread)
	if value == "" {
		return "", nil
	}
	thread, err := url.PathUnescape(value)
	if err != nil || !utf8.ValidString(thread) || len(thread) > events.MaxIDBytes {
		return "", fmt.Errorf("%s: %w", HeaderThread, errThread)
	}
	return thread, nil
}

// sessionHeaders are those in which coding agents send the id of their session. Codex's Thread-Id tells its sub-agents apart, which share its
// Session-Id and may begin with its conversation.
var sessionHeaders = []string{"Thread-Id", "X-Claude-Code-Session-Id", "Session_id", "Session-Id", "X-Session-Id", "Conversation_id"}

// agentHeader is Claude Code's id of a sub-agent, within its session.
const agentHeader = "X-Claude-Code-Agent-Id"

// sessionOf reads the id of a session, or of a sub-agent in it, from the headers.
func sessionOf(h http.Header) string {
	for _, name := range sessionHeaders {
		v := h.Get(name)
		if v == "" {
			continue
		}
		if agent := h.Get(agentHeader); agent != "" {
			return v + "/agent-" + agent
		}
		return v
	}
	return ""
}

// userSession reads the session out of Anthropic's metadata.user_id, as Claude Code has it there. The rest of it identifies a person.
func userSession(user string) string {
	if o := objectOf([]byte(user)); o != nil {
		return o.text("session_id")
	}
	if _, session, ok := strings.Cut(user, "_session_"); ok {
		return session
	}
	return ""
}

// longestScope keeps a thread's id within its limit.
const longestScope = 128

// madeUp are answers that no model gave: Qwen Code and its sub-agents begin every conversation in a directory with the same context and one of
// these, so that they tell no two of them apart.
var madeUp = []key{
	textKey(events.RoleAssistant, "Got it. Thanks for the context!"),
	textKey(events.RoleAssistant, "Got it. Thanks for the additional context!"),
}

// threadOf recognizes the thread; empty: nothing tells it yet. Beyond names, it is told by the conversation up to its first answer: many
// conversations begin with the same words of the user.
func (c *conversation) threadOf(continued func(response string) string) string {
	switch {
	case c.thread != "":
		return c.thread
	case c.kept != "":
		return c.kept
	case c.previous != "":
		return cmp.Or(continued(c.previous), c.previous)
	}
	d := digestOf(c.api, c.scope)
	for _, m := range c.messages {
		if m.system() {
			continue
		}
		d = digestOf(string(d[:]), string(m.key[:]))
		if m.role == events.RoleAssistant && !slices.Contains(madeUp, m.key) {
			return c.name(d)
		}
	}
	return ""
}

func (c *conversation) name(beginning key) string {
	switch {
	case c.scope == "":
		return "gw-" + beginning.short()
	case len(c.scope) > longestScope || !utf8.ValidString(c.scope):
		return "gw-" + digestOf(c.scope).short()[:16] + "-" + beginning.short()[:16]
	}
	return c.scope + "-" + beginning.short()[:16]
}

// seed is what precedes the first message of a request that does not contain the conversation's beginning.
func (c *conversation) seed(answered string) key {
	switch {
	case c.previous != "":
		return digestOf("response", c.previous)
	case c.kept != "":
		return digestOf("turn", answered) // nothing in the request tells one turn from the next
	}
	return key{}
}
