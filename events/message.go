package events

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// common reads the members that the data of messages and tool results share.
func (r *reader) common() *Message {
	r.hints()
	return &Message{
		MessageID:      r.messageID(),
		Content:        r.content(),
		ToolCallID:     r.text(fieldToolCallID),
		AgentID:        r.text(fieldAgentID),
		Policy:         r.text(fieldPolicy),
		ParentThreadID: r.threadID(fieldParentThreadID),
		CreatedAt:      r.time(fieldCreatedAt),
		Metadata:       r.object(fieldMetadata),
		Pinned:         r.flag(fieldPinned),
	}
}

// hints checks the kind of the members that may repeat the subject; agree has already checked that they match it.
func (r *reader) hints() {
	r.get(fieldType, "a string", jsontext.KindString)
	r.get(fieldThreadID, "a string", jsontext.KindString)
}

func (r *reader) message() *Message {
	r.partsAsContent()
	r.carried = r.carries()
	m := r.common()
	m.Role = r.role()
	m.ToolCalls = r.toolCalls()
	r.legacy(m)
	m.Usage = r.usage()
	m.Model = r.text(fieldModel)
	m.Native = r.native()
	if m.Role == RoleUser && m.resultsAlone() {
		m.Role = RoleTool // a provider without that role has the results of calls in the user's name
	}
	if m.Role == RoleTool {
		r.result(m)
		m.answered()
	}
	return m
}

// answered takes from the parts of a result what its members don't say.
func (m *Message) answered() {
	results := m.Results()
	for _, i := range results {
		r := m.Content.list[i].Result
		if m.ToolName == "" && len(results) == 1 {
			m.ToolName = r.Name
		}
		if r.IsError && m.IsError == nil {
			m.IsError = &r.IsError
		}
	}
}

// nativeFields are members of providers' messages that are given back with the message in its provider's format.
var nativeFields = []field{
	fieldName, fieldRefusal, fieldAudio, fieldAnnotations, fieldFunctionCall, // chat completions
	fieldReasoningContent, fieldReasoningDetails, fieldReasoning, fieldThinkingBlocks, fieldReasoningText, fieldReasoningOpaque, // their dialects:
	fieldExtraContent, fieldProviderSpecificFields, fieldCacheControl, fieldImages, fieldPrefix, // other providers, routers
	fieldID, fieldStatus, fieldPhase, // items of the Responses API
	fieldProviderOptions, // the AI SDK
}

// reasonFields are those of them that hold what the model thought.
var reasonFields = []field{fieldReasoningContent, fieldReasoningDetails, fieldReasoning, fieldThinkingBlocks, fieldReasoningText, fieldReasoningOpaque}

// typeMessage is the type of a message among the items of the Responses API, and of Anthropic's response.
const typeMessage = "message"

// native returns these members as an object; nil if there are none.
func (r *reader) native() jsontext.Value {
	var b []byte
	add := func(f field) {
		b, _ = jsontext.AppendQuote(append(b, ','), f.String())
		b = append(append(b, ':'), r.members[f]...)
	}
	for _, f := range nativeFields {
		if len(r.members[f]) > 0 {
			add(f)
		}
	}
	if v := r.members[fieldType]; isString(v) && isText(v, typeMessage) {
		add(fieldType)
	}
	if isNull(r.members[fieldToolCalls]) {
		add(fieldToolCalls)
	}
	if b == nil {
		return nil
	}
	b[0] = '{'
	return append(b, '}')
}

// partsAsContent takes Gemini's word for the content.
func (r *reader) partsAsContent() {
	if parts := r.members[fieldParts]; len(r.members[fieldContent]) == 0 && len(parts) > 0 && parts[0] == '[' {
		r.members[fieldContent] = parts
	}
}

// carries reports whether an assistant's message without a content has anything else that its provider's messages may consist of.
func (r *reader) carries() bool {
	role := r.members[fieldRole]
	if !isString(role) || !isText(role, RoleAssistant) && !isText(role, roleModel) {
		return false
	}
	for _, f := range append([]field{fieldRefusal, fieldAudio, fieldFunctionCall, fieldToolCalls}, reasonFields...) {
		if says(r.members[f]) {
			return true
		}
	}
	return false
}

// says reports whether a value is a string, a list or an object with anything in it.
func says(v []byte) bool {
	switch jsontext.Value(v).Kind() {
	case jsontext.KindString:
		return len(v) > len(`""`)
	case jsontext.KindBeginObject, jsontext.KindBeginArray:
		return strings.TrimSpace(string(v[1:len(v)-1])) != ""
	}
	return false
}

// legacy reads the one call of a message, and its result, as chat completions had them before tools: without an id, so that the
// result belongs to the call of the same name.
func (r *reader) legacy(m *Message) {
	if v := r.members[fieldFunctionCall]; r.rej == nil && m.Role == RoleAssistant && len(v) > 0 && v[0] == '{' {
		o := objectOf(v)
		name, arguments := o.text("name"), o["arguments"]
		if name != "" && (len(arguments) == 0 || isNull(arguments) || isString(arguments) || arguments[0] == '{') {
			m.legacy = &ToolCall{ID: anonymous(name), Name: name, Arguments: clonePresent(arguments)}
		}
	}
	if role := r.members[fieldRole]; m.Role == RoleTool && isString(role) && unquote(role) == roleFunction && m.ToolCallID == "" {
		if v := r.members[fieldName]; isString(v) && says(v) {
			m.ToolCallID = anonymous(unquote(v))
			if !r.present(fieldToolName) {
				r.members[fieldToolName] = r.members[fieldName]
			}
		}
	}
}

func (r *reader) toolResult() *Message {
	m := r.common()
	m.Role = RoleTool
	m.Native = r.native()
	r.result(m)
	m.answered()
	return m
}

// result reads the members of a tool result; a message with role tool may have them too.
func (r *reader) result(m *Message) {
	m.ToolName = r.text(fieldToolName)
	m.Arguments = r.arguments(fieldArguments)
	m.IsError = r.boolean(fieldIsError)
	if code := r.integer(fieldExitCode); code != nil {
		exit := int(*code)
		m.ExitCode = &exit
	}
	m.RelevantRange = r.lineRange()
}

func (r *reader) edit() *Edit {
	r.partsAsContent()
	r.hints()
	e := &Edit{MessageID: r.messageID()}
	e.Deleted = r.flag(fieldDeleted)
	e.Rewind = r.flag(fieldRewind)
	e.Pinned = r.boolean(fieldPinned)
	stands := len(r.members[fieldContent]) > 0
	switch {
	case e.Rewind && (stands || e.Deleted || e.Pinned != nil):
		r.fail("rewind", "must stand alone: a content, a deletion or a pin is an edit of its own")
	case e.Pinned != nil && (stands || e.Deleted):
		r.fail("pinned", "must stand alone: a content or a deletion is an edit of its own")
	case e.Deleted && stands && !isNull(r.members[fieldContent]): // null is how a deletion is written with every member
		r.fail("deleted", "must stand alone: a content is an edit of its own")
	case stands || e.Contents() && !e.Deleted:
		e.Content = r.content()
	}
	e.EditID = r.text(fieldEditID)
	e.AgentID = r.text(fieldAgentID)
	e.CreatedAt = r.time(fieldCreatedAt)
	return e
}

// fork reads a fork of the given thread.
func (r *reader) fork(thread string) *Fork {
	r.hints()
	if r.rej == nil && !r.present(fieldParentThreadID) {
		r.fail("parent_thread_id", "required")
	}
	f := &Fork{ParentThreadID: r.threadID(fieldParentThreadID)}
	switch {
	case f.ParentThreadID == "":
		r.fail("parent_thread_id", "must be 1 to %d bytes, is 0", MaxIDBytes)
	case f.ParentThreadID == thread:
		r.fail("parent_thread_id", "must be another thread")
	}
	f.AtMessageID = r.text(fieldAtMessageID)
	if n := len(f.AtMessageID); n > MaxIDBytes || n == 0 && r.present(fieldAtMessageID) {
		r.fail("at_message_id", "must be 1 to %d bytes, is %d", MaxIDBytes, n)
	}
	f.ForkID = r.text(fieldForkID)
	f.AgentID = r.text(fieldAgentID)
	f.CreatedAt = r.time(fieldCreatedAt)
	return f
}

func (r *reader) role() string {
	parts := r.members[fieldParts] // Gemini's contents may have no role
	gemini := len(parts) > 0 && parts[0] == '['
	if r.rej == nil && !r.present(fieldRole) {
		if gemini {
			return RoleUser
		}
		r.fail("role", "required")
	}
	role := r.text(fieldRole)
	switch role {
	case roleModel:
		return RoleAssistant
	case roleFunction:
		if gemini {
			return RoleUser
		}
		return RoleTool
	case RoleSystem, RoleDeveloper, RoleUser, RoleAssistant, RoleTool:
	default:
		r.fail("role", "must be system, developer, user, assistant, tool, model or function")
	}
	return role
}

func (r *reader) toolCalls() []ToolCall {
	list := r.get(fieldToolCalls, "an array", jsontext.KindBeginArray)
	if list == nil {
		return nil
	}
	var calls []ToolCall
	r.walk(list, "tool_calls", func(_, element []byte) {
		calls = append(calls, r.toolCall(fmt.Sprintf("tool_calls[%d]", len(calls)), element))
	})
	return calls
}

// Roles in the words of a provider.
const (
	roleModel    = "model"    // Gemini: the assistant
	roleFunction = "function" // chat completions before tools, and Gemini: the results of calls
)

// toolCall reads a call, {"id","name","arguments"}, or as OpenAI's chat completions have it, {"id","function":{"name","arguments"}} or
// {"id","custom":{"name","input"}}.
func (r *reader) toolCall(path string, v []byte) ToolCall {
	var id, name, arguments, function, custom []byte
	r.walk(v, path, func(member, value []byte) {
		switch string(member) {
		case "id":
			id = value
		case "name":
			name = value
		case "arguments":
			arguments = value
		case "function":
			function = value
		case "custom":
			custom = value
		}
	})
	native := len(name) == 0
	switch {
	case native && len(function) > 0 && function[0] == '{':
		path += ".function"
		r.walk(function, path, func(member, value []byte) {
			switch string(member) {
			case "name":
				name = value
			case "arguments":
				arguments = value
			}
		})
	case native && len(custom) > 0 && custom[0] == '{':
		path += ".custom"
		r.walk(custom, path, func(member, value []byte) {
			switch string(member) {
			case "name":
				name = value
			case "input":
				arguments = value
			}
		})
	}
	switch {
	case r.rej != nil:
		return ToolCall{}
	case v[0] != '{':
		r.fail(path, "must be an object")
	case !isString(id):
		r.fail(strings.TrimSuffix(strings.TrimSuffix(path, ".function"), ".custom")+".id", "must be a string")
	case !isString(name):
		r.fail(path+".name", "must be a string")
	case len(arguments) > 0 && !isNull(arguments) && !isString(arguments) && arguments[0] != '{':
		r.fail(path+".arguments", "must be an object or a string")
	default:
		call := ToolCall{ID: unquote(id), Name: unquote(name), Arguments: clonePresent(arguments)}
		if native {
			call.Raw = clonePresent(v)
		}
		return call
	}
	return ToolCall{}
}

// walk visits a value inside the data, up to the first fault.
func (r *reader) walk(v []byte, path string, visit func(name, value []byte)) {
	_, err := walk(v, func(name, value []byte) {
		if r.rej == nil {
			visit(name, value)
		}
	})
	if err != nil && r.rej == nil {
		r.rej = invalidJSON(path, err)
	}
}

func clonePresent(v []byte) jsontext.Value {
	if len(v) == 0 || isNull(v) {
		return nil
	}
	return jsontext.Value(v).Clone()
}

// usage reads the provider's usage for the call behind a message, in our form or as OpenAI, Anthropic and Gemini report it. An
// absent count is 0.
func (r *reader) usage() *TokenUsage {
	v := r.get(fieldUsage, "an object", jsontext.KindBeginObject)
	if v == nil {
		return nil
	}
	u := new(TokenUsage)
	var read int64
	anthropic := false
	r.walk(v, "usage", func(name, value []byte) {
		switch string(name) {
		case "input_tokens":
			u.InputTokens = r.count("usage.input_tokens", value, 0)
		case "output_tokens":
			u.OutputTokens = r.count("usage.output_tokens", value, 0)
		case "cached_input_tokens":
			u.CachedInputTokens = r.count("usage.cached_input_tokens", value, 0)
		case "cache_creation_input_tokens":
			u.CacheCreationInputTokens = r.count("usage.cache_creation_input_tokens", value, 0)
		case "cache_read_input_tokens":
			anthropic, read = true, reported(value)
		default:
			r.othersUsage(u, string(name), value)
		}
	})
	if anthropic { // whose input_tokens are those that no cache took part in
		u.CachedInputTokens = read
		u.InputTokens = min(u.InputTokens+read+u.CacheCreationInputTokens, maxSafeInt)
	}
	return u
}

// othersUsage reads a member of OpenAI's or Gemini's usage. These were ignored before, so a value of another kind still is.
func (r *reader) othersUsage(u *TokenUsage, name string, value []byte) {
	switch name {
	case "prompt_tokens", "promptTokenCount":
		u.InputTokens = reported(value)
	case "completion_tokens":
		u.OutputTokens = reported(value)
	case "candidatesTokenCount", "thoughtsTokenCount": // Gemini counts thoughts apart
		u.OutputTokens = min(u.OutputTokens+reported(value), maxSafeInt)
	case "cachedContentTokenCount":
		u.CachedInputTokens = reported(value)
	case "input_tokens_details", "prompt_tokens_details":
		r.walk(value, "usage."+name, func(name, value []byte) {
			if string(name) == "cached_tokens" {
				u.CachedInputTokens = reported(value)
			}
		})
	}
}

// reported is a count that is 0 where it can't be read.
func reported(v []byte) int64 {
	if jsontext.Value(v).Kind() != jsontext.KindNumber {
		return 0
	}
	if n, ok := parseInteger(string(v)); ok && n > 0 && n <= maxSafeInt {
		return n
	}
	return 0
}
