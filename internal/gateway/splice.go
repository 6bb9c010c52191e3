package gateway

import (
	"errors"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	client "precis/api"
	"precis/events"
)

// splicing puts a prompt together from what the client sent and the summaries.
type splicing struct {
	messages []*message
	index    map[string]int
	made     map[string]bool     // messages for which a summary stands
	foreign  map[string]bool     // summaries of messages that the request does not have
	stands   map[string][]string // messages for which each summary stands
	others   bool                // the thread has such messages
	newer    int                 // messages of the request behind those that the prompt has; they stand whole
	renamed  bool                // calls of the request may have other ids in the prompt
	there    []bool              // messages of the request that are accounted for
	whole    []bool              // messages that are in the list as the client sent them
	last     int                 // the last message of the request that is in the list
	list     []jsontext.Value
}

// spliced is a prompt as the provider gets it: what stands whole as the client sent it, with its cache marks and reasoning, and summaries as
// precis gives them. It fails unless the prompt accounts for each message of the request, in their order, up to the first that it does not have: from
// there on they are newer than the prompt, and stand whole. Messages that the thread has beside them, of a side question or a turn that the client took
// back, are left out; it fails where a summary stands for some of both.
func spliced(messages []*message, p *client.ContextReply, from *scratch) (*splicing, error) {
	s := &splicing{
		messages: messages, index: from.indexOf(len(messages)), made: map[string]bool{}, foreign: map[string]bool{}, stands: map[string][]string{}, last: -1,
		list: from.room(len(messages)),
	}
	s.there, s.whole = make([]bool, len(messages)), make([]bool, len(messages))
	for i, m := range messages {
		s.index[m.id] = i
	}
	covered := s.had(p)
	s.newer = len(messages) - covered
	for i, m := range messages {
		if i >= covered {
			delete(s.index, m.id)
		}
		s.there[i] = i >= covered || m.apart // which stands in a member of its own
		s.renamed = s.renamed || m.renamed
	}
	prompt := from.listOf(p.Messages)
	if p.DroppedCount > 0 || slices.ContainsFunc(p.WaitingMessageIDs, s.has) || len(p.Sources) != len(prompt) || p.Explain == nil || slices.ContainsFunc(p.Explain.LeftOut, s.leftOut) ||
		p.SystemSource != nil && len(p.SystemSource.SummaryIDs) > 0 || !s.summaries(p.Explain.Summaries) {
		return nil, asItCame{asDiverged}
	}
	s.others = len(p.WaitingMessageIDs) > 0
	for i, source := range s.asCame(p.Sources, prompt) {
		if !s.add(i, source, prompt[i]) {
			return nil, asItCame{asDiverged}
		}
	}
	for _, omitted := range p.OmittedParts {
		if i, ok := s.index[omitted.MessageID]; ok && !s.made[omitted.MessageID] && !s.whole[i] {
			return nil, asItCame{asDiverged}
		}
	}
	for i, m := range messages[covered:] {
		if !m.apart {
			s.list, s.whole[covered+i] = append(s.list, m.raw...), true
		}
	}
	if slices.Contains(s.there, false) || (s.others || s.newer > 0 || s.begun()) && !s.unread() {
		return nil, asItCame{asDiverged}
	}
	return s, nil
}

// had is how many messages of a request stand before the first that a prompt does not have.
func (s *splicing) had(p *client.ContextReply) int {
	has := make([]bool, len(s.messages))
	note := func(list []string) {
		for _, id := range list {
			if i, ok := s.index[id]; ok {
				has[i] = true
			}
		}
	}
	for _, from := range p.Sources {
		note(from.MessageIDs)
	}
	if p.Explain != nil {
		for _, sum := range p.Explain.Summaries {
			note(sum.MessageIDs)
		}
	}
	for i, m := range s.messages {
		if !m.apart && !has[i] {
			return i
		}
	}
	return len(s.messages)
}

// leftOut reports whether a prompt does without a message that is not of another branch, or newer than the request: one whose call has no result yet.
func (s *splicing) leftOut(l client.LeftOut) bool { return l.Reason != waitsForResult || s.has(l.ID) }

// waitsForResult is the reason of such a message.
const waitsForResult = "waiting"

func (s *splicing) has(id string) bool {
	_, ok := s.index[id]
	return ok
}

// begun reports whether the client has begun the answer that it asks for.
func (s *splicing) begun() bool {
	return len(s.messages) > 0 && s.messages[len(s.messages)-1].role == events.RoleAssistant
}

// unread reports whether what the request's model has not answered yet stands whole: for precis another branch's answer may have read it, or the
// beginning of the answer that the client asks for.
func (s *splicing) unread() bool {
	begun := s.begun()
	for i, m := range slices.Backward(s.messages) {
		if begun = begun && m.role == events.RoleAssistant; begun {
			continue
		}
		if m.role == events.RoleAssistant {
			break
		}
		if !m.apart && !m.system() && !s.whole[i] {
			return false
		}
	}
	return true
}

// summaries notes what summaries stand for.
func (s *splicing) summaries(list []client.ExplainedSummary) bool {
	for _, sum := range list {
		if sum.MessageIDs == nil { // more than are named
			return false
		}
		own := slices.ContainsFunc(sum.MessageIDs, s.has)
		s.foreign[sum.ID], s.stands[sum.ID] = !own, sum.MessageIDs
		for _, id := range sum.MessageIDs {
			i, ok := s.index[id]
			switch {
			case ok:
				s.made[id], s.there[i] = true, true
			case own:
				return false
			}
		}
	}
	return true
}

// asCame returns the sources with results that follow each other in the order in which the client has them, and puts them in that order in the prompt:
// precis has them in that of their calls.
func (s *splicing) asCame(sources []client.Source, prompt []jsontext.Value) []client.Source {
	own := false                    // a prepared prompt's are of other requests, too
	at := func(i int) (int, bool) { // in the request
		if len(sources[i].MessageIDs) != 1 {
			return 0, false
		}
		n, ok := s.index[sources[i].MessageIDs[0]]
		return n, ok && s.messages[n].role == events.RoleTool
	}
	for i := range sources {
		n, result := at(i)
		for j := i; j > 0 && result; j-- {
			if before, ok := at(j - 1); !ok || before < n {
				break
			}
			if !own {
				sources, own = slices.Clone(sources), true
			}
			sources[j-1], sources[j], prompt[j-1], prompt[j] = sources[j], sources[j-1], prompt[j], prompt[j-1]
		}
	}
	return sources
}

// behindResults are the messages of the request behind the results that a message of Anthropic's begins with, a system message or a question: each stands as the
// client sent it. results is the message without them. None are where a result's own message says more.
func (s *splicing) behindResults(from client.Source, message jsontext.Value) (results jsontext.Value, behind []string) {
	first := slices.IndexFunc(from.MessageIDs, func(id string) bool { return !s.onlyResults(id) })
	if first < 1 || slices.ContainsFunc(from.MessageIDs[first:], func(id string) bool { return !s.has(id) || s.made[id] || s.messages[s.index[id]].apart }) {
		return nil, nil
	}
	var list []jsontext.Value
	for _, block := range listOf(objectOf(message)["content"]) {
		if isResult(block) {
			list = append(list, block)
		}
	}
	results, err := replaceMember(message, "content", asList(list))
	if err != nil || len(list) == 0 {
		return nil, nil
	}
	return results, from.MessageIDs[first:]
}

// onlyResults reports whether a message of the request has results and nothing else.
func (s *splicing) onlyResults(id string) bool {
	i, ok := s.index[id]
	if !ok || len(s.messages[i].raw) != 1 {
		return false
	}
	blocks := listOf(objectOf(s.messages[i].raw[0])["content"])
	return len(blocks) > 0 && !slices.ContainsFunc(blocks, func(b jsontext.Value) bool { return !isResult(b) })
}

func isResult(block jsontext.Value) bool { return objectOf(block).text("type") == "tool_result" }

// add adds what one message of the prompt is made of.
func (s *splicing) add(at int, from client.Source, message jsontext.Value) bool {
	whole := len(from.SummaryIDs) == 0
	if !whole {
		if results, behind := s.behindResults(from, message); behind != nil {
			from.MessageIDs = from.MessageIDs[:len(from.MessageIDs)-len(behind)]
			return s.add(at, from, results) && s.add(at, client.Source{MessageIDs: behind}, nil)
		}
	}
	if len(from.MessageIDs) == 0 && whole && at > 0 {
		return false // a text of precis's own; a line that opens the prompt may be
	}
	own := slices.ContainsFunc(from.MessageIDs, s.has) || slices.ContainsFunc(from.SummaryIDs, func(id string) bool { return !s.foreign[id] })
	if !own && len(from.MessageIDs)+len(from.SummaryIDs) > 0 {
		s.others = true
		return true
	}
	if slices.ContainsFunc(from.SummaryIDs, func(id string) bool { return s.foreign[id] }) { // joined with messages of the request
		if slices.ContainsFunc(from.SummaryIDs, func(id string) bool { return !s.foreign[id] }) {
			return false
		}
		s.others, whole = true, true
	}
	whole = whole || s.shorter(from, message)
	for _, id := range from.MessageIDs {
		i, ok := s.index[id]
		if !ok && whole {
			s.others = true
			continue
		}
		if !ok || i < s.last {
			return false
		}
		again := i == s.last
		s.last, s.there[i] = i, true
		switch {
		case s.messages[i].apart || again && whole: // its items are in the list
		case whole:
			s.list = append(s.list, s.messages[i].raw...)
			s.whole[i] = true
		case again && s.whole[i]:
			return false // it is in the list already
		}
	}
	if whole && len(from.MessageIDs) > 0 {
		return true
	}
	message = s.asItsKind(from, message)
	if s.renamed {
		if message = s.asCalled(from, message); message == nil {
			return false
		}
	}
	s.list = append(s.list, message)
	return true
}

// asItsKind returns the output of a call in the kind of item that the client's is of: the call stands as the client sent it, such as one of a shell, and the
// provider takes no function's output for it. An output that is not a text stands as it is.
func (s *splicing) asItsKind(from client.Source, message jsontext.Value) jsontext.Value {
	o := objectOf(message)
	if len(from.MessageIDs) != 1 || o.text("type") != "function_call_output" {
		return message
	}
	raw := s.messages[s.index[from.MessageIDs[0]]].raw
	if len(raw) != 1 || objectOf(raw[0]).text("type") == "function_call_output" {
		return message
	}
	if objectOf(raw[0])["output"].Kind() == jsontext.KindString && o["output"].Kind() == jsontext.KindString {
		if item, err := replaceMember(raw[0], "output", o["output"]); err == nil {
			return item
		}
	}
	return raw[0]
}

// asCalled returns a message of the prompt with the client's ids of its results. Precis gives other ids to calls whose ids a provider refuses and, of calls with
// one id, to all but the first; but the calls stand as the client sent them. It is nil where it can't be told which result is whose.
func (s *splicing) asCalled(from client.Source, message jsontext.Value) jsontext.Value {
	var own []string
	for _, id := range from.MessageIDs {
		for _, raw := range s.messages[s.index[id]].raw {
			own = append(own, callIDs(raw)...)
		}
	}
	given := callIDs(message)
	if !slices.ContainsFunc(given, func(id string) bool { return !slices.Contains(own, id) }) {
		return message
	}
	if len(own) != len(given) {
		return nil
	}
	for i, id := range given { // results of one message stand in its order, and messages in the source's
		if id != own[i] && slices.Contains(own, id) {
			return nil
		}
	}
	return withResultIDs(message, own)
}

// withResultIDs returns a message, or an item, whose results have other ids, in their order; nil where it has anything else with an id.
func withResultIDs(message jsontext.Value, ids []string) jsontext.Value {
	o := objectOf(message)
	switch {
	case len(ids) == 1 && o.text("tool_call_id") != "":
		return replacedOrNil(message, "tool_call_id", quote(ids[0]))
	case len(ids) == 1 && strings.HasSuffix(o.text("type"), "_output"):
		return replacedOrNil(message, "call_id", quote(ids[0]))
	}
	blocks := slices.Clone(listOf(o["content"]))
	for i, block := range blocks {
		if isResult(block) && len(ids) > 0 {
			blocks[i], ids = replacedOrNil(block, "tool_use_id", quote(ids[0])), ids[1:]
		}
	}
	if len(ids) > 0 || slices.ContainsFunc(blocks, func(b jsontext.Value) bool { return b == nil }) {
		return nil
	}
	return replacedOrNil(message, "content", asList(blocks))
}

func replacedOrNil(message jsontext.Value, member string, value jsontext.Value) jsontext.Value {
	replaced, err := replaceMember(message, member, value)
	if err != nil {
		return nil
	}
	return replaced
}

// callIDs are the ids of the calls and results of a message, or an item, of a request.
func callIDs(message jsontext.Value) (ids []string) {
	o := objectOf(message)
	for _, list := range []jsontext.Value{o["tool_calls"], o["content"]} {
		for _, raw := range listOf(list) {
			part := objectOf(raw)
			ids = append(ids, part.text("id"), part.text("tool_use_id"))
		}
	}
	ids = append(ids, o.text("tool_call_id"), o.text("call_id"))
	if len(o["call_id"]) == 0 {
		ids = append(ids, o.text("id"))
	}
	return slices.DeleteFunc(ids, func(id string) bool { return id == "" })
}

// shorter reports whether the client's own messages are no longer than what summaries make of them: it clears old outputs by itself.
func (s *splicing) shorter(from client.Source, message jsontext.Value) bool {
	size := 0
	for _, id := range from.MessageIDs {
		i, ok := s.index[id]
		if !ok || i <= s.last {
			return false
		}
		size += sizeOf(s.messages[i : i+1])
	}
	for _, summary := range from.SummaryIDs {
		if slices.ContainsFunc(s.stands[summary], func(id string) bool { return !slices.Contains(from.MessageIDs, id) }) {
			return false
		}
	}
	return len(from.MessageIDs) > 0 && size <= len(message)
}

// asList is a list of values as they are.
func asList(values []jsontext.Value) jsontext.Value { return slices.Concat(listPieces(nil, values)...) }

// listPieces are what a list of values is made of.
func listPieces(into *scratch, values []jsontext.Value) []jsontext.Value {
	pieces := into.room(2*len(values) + 2)
	before := jsontext.Value("[")
	for _, v := range values {
		pieces = append(pieces, before, v)
		before = jsontext.Value(",")
	}
	if len(values) == 0 {
		pieces = append(pieces, before)
	}
	return append(pieces, jsontext.Value("]"))
}

var errMember = errors.New("no such member")

// member is a member of an object, whose value is made of pieces.
type member struct {
	name  string
	value []jsontext.Value
}

// replaced are the pieces of an object in which members have other values. Every other byte stays.
func (o placed) replaced(into *scratch, members ...member) ([]jsontext.Value, error) {
	slices.SortFunc(members, func(a, b member) int { return o.ends[a.name] - o.ends[b.name] })
	room := 1
	for _, m := range members {
		room += len(m.value) + 1
	}
	pieces, from := into.room(room), 0
	for _, m := range members {
		end, ok := o.ends[m.name]
		if !ok {
			return nil, errMember
		}
		pieces = append(append(pieces, o.bytes[from:end-len(o.object[m.name])]), m.value...)
		from = end
	}
	return append(pieces, o.bytes[from:]), nil
}

// replaceMember returns an object in which one member has another value.
func replaceMember(body jsontext.Value, name string, value ...jsontext.Value) ([]byte, error) {
	pieces, err := placedIn(body).replaced(nil, member{name, value})
	return slices.Concat(pieces...), err
}
