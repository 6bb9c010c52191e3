package gateway

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	client "precis/api"
	"precis/events"
)

// compactionAPI is OpenAI's operation that compacts a conversation (POST /v1/responses/compact). Its request is that of a response.
var compactionAPI = &api{name: responsesAPI.name, format: responsesAPI.format, list: responsesAPI.list, read: readResponses}

const compactionPath = "/v1/responses/compact"

// compactionWait is how long a client waits that wants a compaction: it expects a model's work.
const compactionWait = 10 * time.Second

// made is an answer of precis's own to a request.
type made struct{ media, body string }

// wantsCompaction reports whether a request asks the provider for a compaction alone: OpenAI's by its path, Anthropic's by a member
// (beta compact-2026-09-04).
func (x *exchange) wantsCompaction(request object) bool {
	return x.api == compactionAPI || x.api == anthropicAPI && request.has("compaction")
}

// compaction answers such a request with the thread's prompt, as one text: what a client has in its place then is all that it sends.
func (g *Gateway) compaction(caller context.Context, x *exchange, request object) (own *made, err error) {
	c, err := g.compactable(x, request)
	if err != nil {
		return nil, err
	}
	thread := c.threadOf(g.continued)
	switch {
	case thread == "":
		return nil, asItCame{asNew}
	case g.compactor.pace.hanging():
		return nil, asItCame{asBehind}
	}
	defer func() { g.compactor.made(caller, err) }()
	c.identify(key{})
	ctx, cancel := context.WithTimeout(caller, compactionWait)
	defer cancel()
	x.request.hold()
	seq, err := g.store(ctx, x, thread, c.messages)
	if err != nil {
		return nil, err
	}
	if _, err := g.compactor.slow.Summarize(ctx, thread, client.SummarizeRequest{MinEventSeq: seq}); err != nil {
		return nil, err
	}
	reply, err := g.compactor.slow.Context(ctx, thread, client.ContextRequest{Format: chatAPI.format, MinEventSeq: seq, Explain: true})
	if err != nil {
		return nil, err
	}
	switch s, err := spliced(c.messages, reply, c.scratch); {
	case err != nil:
		return nil, err
	case s.newer > 0, s.others: // it does not account for each message, or the text would hold others
		return nil, asItCame{asDiverged}
	}
	text, err := handover(c.messages, reply)
	if err != nil {
		return nil, err
	}
	if size := sizeOf(c.messages); 2*len(text) > size {
		return nil, asItCame{asWhole}
	}
	if x.api == anthropicAPI {
		return anthropicCompaction(request, text), nil
	}
	return responsesCompaction(c.messages, text, g.opts.Now()), nil
}

func sizeOf(messages []*message) (n int) {
	for _, m := range messages {
		for _, raw := range m.raw {
			n += len(raw)
		}
	}
	return n
}

// Texts of a compaction that precis answers.
const handoverOpening = "[The conversation so far, compacted. It goes on behind this message.]\n"

// handover is a prompt in the shape of chat completions as a text. It fails where a text does not hold all of it.
func handover(messages []*message, p *client.ContextReply) (string, error) {
	for _, o := range p.OmittedParts {
		if o.Type != "thinking" && o.Type != "redacted_thinking" && o.Type != "reasoning" {
			return "", asItCame{asMedia}
		}
	}
	kept := map[string]bool{} // beside the text: instructions
	for _, m := range messages {
		kept[m.id] = m.apart || m.system()
	}
	var b strings.Builder
	b.WriteString(handoverOpening)
	called := map[string]string{}
	for i, raw := range listOf(p.Messages) {
		from := p.Sources[i]
		if len(from.SummaryIDs) == 0 && len(from.MessageIDs) > 0 && !slices.ContainsFunc(from.MessageIDs, func(id string) bool { return !kept[id] }) {
			continue
		}
		m := objectOf(raw)
		text, ok := plainText(m["content"])
		if !ok {
			return "", asItCame{asMedia}
		}
		head := m.text("role")
		if id := m.text("tool_call_id"); id != "" {
			head = "result of " + cmp.Or(called[id], "a call")
		}
		fmt.Fprintf(&b, "\n## %s\n", head)
		if text != "" {
			b.WriteString(text + "\n")
		}
		for _, raw := range listOf(m["tool_calls"]) {
			call := objectOf(raw)
			f := objectOf(call["function"])
			if f == nil {
				f = objectOf(call["custom"])
			}
			called[call.text("id")] = f.text("name")
			fmt.Fprintf(&b, "[calls %s %s]\n", f.text("name"), cmp.Or(f.text("arguments"), f.text("input")))
		}
	}
	return b.String(), nil
}

// plainText is a content that has texts alone.
func plainText(content jsontext.Value) (string, bool) {
	switch content.Kind() {
	case jsontext.KindString:
		return textOf(content), true
	case jsontext.KindInvalid, jsontext.KindNull:
		return "", true
	}
	var texts []string
	for _, raw := range listOf(content) {
		part := objectOf(raw)
		if part.text("type") != "text" {
			return "", false
		}
		texts = append(texts, part.text("text"))
	}
	return strings.Join(texts, "\n"), true
}

// responsesCompaction is OpenAI's answer. Its items are messages, which every model takes and every client keeps, and not the
// provider's own compaction, which nothing else can make.
func responsesCompaction(messages []*message, text string, now time.Time) *made {
	output := []jsontext.Value{}
	for _, m := range messages {
		if m.system() && !m.apart {
			output = append(output, m.raw...)
		}
	}
	output = append(output, jsonOf(object{
		"type": quote("message"), "role": quote(events.RoleUser), "content": jsonOf([]object{{"type": quote("input_text"), "text": quote(text)}}),
	}))
	answer := object{
		"id": quote("resp_precis_" + digestOf(text).short()), "object": quote("response.compaction"), "created_at": jsontext.Value(fmt.Sprint(now.Unix())),
		"output": jsonOf(output),
		"usage":  jsontext.Value(`{"input_tokens":0,"input_tokens_details":{"cached_tokens":0},"output_tokens":0,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":0}`),
	}
	return &made{"application/json", string(answer.json())}
}

// anthropicCompaction is Anthropic's answer, in one piece or as a stream, as the request wants it. The provider would not take the block
// from a client: the gateway recognizes it by its signature and sends its text instead (restored).
func anthropicCompaction(request object, text string) *made {
	block := object{"type": quote("compaction"), "content": quote(text), "signature": quote(signatureOf(text)), "encrypted_content": jsontext.Value("null")}
	usage := jsontext.Value(`{"input_tokens":0,"output_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0}`)
	answer := object{
		"id": quote("msg_precis_" + digestOf(text).short()), "type": quote("message"), "role": quote(events.RoleAssistant), "model": request["model"],
		"content": jsonOf([]object{block}), "stop_reason": quote("compaction"), "stop_sequence": jsontext.Value("null"), "usage": usage,
	}
	if !answer["model"].IsValid() {
		answer["model"] = jsontext.Value("null")
	}
	if string(request["stream"]) != "true" {
		return &made{"application/json", string(answer.json())}
	}
	answer["content"], answer["stop_reason"] = jsontext.Value("[]"), jsontext.Value("null")
	block["content"] = jsontext.Value("null")
	var b bytes.Buffer
	event := func(kind string, data object) {
		data["type"] = quote(kind)
		fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", kind, data.json())
	}
	event("message_start", object{"message": answer.json()})
	event("content_block_start", object{"index": jsontext.Value("0"), "content_block": block.json()})
	delta := object{"type": quote("compaction_delta"), "content": quote(text), "encrypted_content": jsontext.Value("null")}
	event("content_block_delta", object{"index": jsontext.Value("0"), "delta": delta.json()})
	event("content_block_stop", object{"index": jsontext.Value("0")})
	event("message_delta", object{"delta": jsontext.Value(`{"stop_reason":"compaction","stop_sequence":null}`), "usage": usage})
	event("message_stop", object{})
	return &made{"text/event-stream; charset=utf-8", b.String()}
}

// signatureOf marks a block as precis's. It keeps nothing secret: a client that makes one gets its own text.
func signatureOf(text string) string { return ownSignature + digestOf("compaction", text).short() }

const ownSignature = "precis-compaction-1-"

// restored is a body of Anthropic's in which precis's own compactions are texts of the user, which the provider takes.
func restored(body []byte) (out []byte, changed bool) {
	if !bytes.Contains(body, []byte(ownSignature)) {
		return body, false
	}
	var list, before []jsontext.Value // before: blocks that the user's next message begins with
	user := func(blocks []jsontext.Value) {
		list = append(list, object{"role": quote(events.RoleUser), "content": jsonOf(blocks)}.json())
	}
	for _, raw := range listOf(objectOf(body)["messages"]) {
		m := objectOf(raw)
		blocks := blocksOf(m["content"])
		if len(before) > 0 {
			if m.text("role") == events.RoleUser { // the roles take turns
				blocks = append(before, blocks...)
				m["content"] = jsonOf(blocks)
				raw = m.json()
			} else {
				user(before)
			}
			before = nil
		}
		text, ok := ownCompaction(blocks)
		if !ok {
			list = append(list, raw)
			continue
		}
		changed, list, before = true, nil, []jsontext.Value{text} // what stands before a compaction is in it: the provider does not read it either
		if len(blocks) > 1 {
			user(before)
			m["content"], before = jsonOf(blocks[1:]), nil
			list = append(list, m.json())
		}
	}
	if len(before) > 0 {
		user(before)
	}
	if !changed {
		return body, false
	}
	out, err := replaceMember(body, "messages", listPieces(nil, list)...)
	if err != nil {
		return body, false
	}
	return out, true
}

// blocksOf are a content's blocks; a text is one.
func blocksOf(content jsontext.Value) []jsontext.Value {
	if content.Kind() == jsontext.KindString {
		return []jsontext.Value{object{"type": quote("text"), "text": content}.json()}
	}
	return listOf(content)
}

// ownCompaction is the text of a compaction of precis's that blocks begin with, with the cache mark that the client set.
func ownCompaction(blocks []jsontext.Value) (text jsontext.Value, ok bool) {
	if len(blocks) == 0 {
		return nil, false
	}
	block := objectOf(blocks[0])
	if content := block.text("content"); block.text("type") != "compaction" || block.text("signature") != signatureOf(content) {
		return nil, false
	}
	part := object{"type": quote("text"), "text": block["content"]}
	if block.has("cache_control") {
		part["cache_control"] = block["cache_control"]
	}
	return part.json(), true
}

// clearings are Anthropic's edits of a prompt that leave messages where they are: it drops old thinking, or old results, of what it is sent.
// Claude Code asks for the first with every request.
var clearings = []string{"clear_thinking_20251015", "clear_tool_uses_20250919"}

// edited reports whether a request lets the provider clear or, where compactions are on, compact what is still too long for it, and
// nothing else: precis's prompt comes before that.
func (g *Gateway) edited(a *api, management jsontext.Value) bool {
	edits, compaction, others := management, "compaction", []string(nil)
	if a == anthropicAPI {
		members := objectOf(management)
		if len(members) != 1 {
			return false
		}
		edits, compaction, others = members["edits"], "compact_20260112", clearings
	}
	unknown := func(raw jsontext.Value) bool {
		kind := objectOf(raw).text("type")
		return !slices.Contains(others, kind) && (kind != compaction || !g.opts.Compactions)
	}
	return edits.Kind() == jsontext.KindBeginArray && !slices.ContainsFunc(listOf(edits), unknown)
}

// compacted reports whether a conversation contains a compaction of the provider's, or asks for one among its messages: what it stands
// for is the provider's to know.
func (c *conversation) compacted() bool {
	of := func(raw jsontext.Value) bool {
		return bytes.Contains(raw, []byte("compaction")) && strings.Contains(objectOf(raw).text("type"), "compaction")
	}
	for _, m := range c.messages {
		for _, raw := range m.raw {
			if !m.apart && (of(raw) || bytes.Contains(raw, []byte("compaction")) && slices.ContainsFunc(listOf(objectOf(raw)["content"]), of)) {
				return true
			}
		}
	}
	return false
}

// give answers in the provider's place.
func (m *made) give(w http.ResponseWriter, said string) {
	h := w.Header()
	h.Set("Content-Type", m.media)
	h.Set(headerCompacted, said)
	h.Set("Content-Length", fmt.Sprint(len(m.body)))
	_, _ = w.Write([]byte(m.body)) // an error means that the client is gone
}

// refused says why precis has no prompt to answer with; err where it did not answer.
func refused(err error) error {
	for _, answered := range []error{client.ErrNotFound, client.ErrStale, client.ErrTooLarge, client.ErrBadRequest, client.ErrInternal} {
		if errors.Is(err, answered) {
			return asItCame{asRefused}
		}
	}
	return err
}
