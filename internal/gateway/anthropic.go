package gateway

import (
	"maps"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// anthropicAPI is Anthropic's messages.
var anthropicAPI = &api{
	name: "messages", format: "anthropic", list: "messages", read: readAnthropic, whole: anthropicWhole,
	stream: func() assembler {
		return &anthropicStream{blocks: map[int]*pieces{}, usage: object{}}
	},
	known: []string{
		"billing_policy", "cache_control", "container", "diagnostics", "fallback_credit_token", "fallbacks", "inference_geo", "max_tokens", "mcp_servers",
		"messages", "metadata", "model", "output_config", "output_format", "service_tier", "speed", "stop_sequences", "stream", "system", "temperature",
		"thinking", "tool_choice", "tools", "top_k", "top_p",
	},
}

func readAnthropic(r *reader, request object) (*conversation, error) {
	system, err := r.instructions(request["system"])
	if err != nil {
		return nil, err
	}
	messages, err := r.messagesOf(request["messages"])
	if err != nil {
		return nil, err
	}
	return &conversation{
		scope: userSession(objectOf(request["metadata"]).text("user_id")), apart: request.has("compaction"), messages: append(system, messages...),
	}, nil
}

func anthropicWhole(response object) (*answer, error) {
	if response.text("type") != "message" || response["content"].Kind() != jsontext.KindBeginArray {
		return nil, errAnswer
	}
	return anthropicReply(response, response["content"], response["usage"])
}

func anthropicReply(response object, content, usage jsontext.Value) (*answer, error) {
	if len(listOf(content)) == 0 {
		return nil, errNone
	}
	return replied(response.text("id"), response.text("model"), object{"content": content}, usage)
}

// anthropicStream puts a message together from its blocks.
type anthropicStream struct {
	message object
	blocks  map[int]*pieces
	usage   object
	stopped bool
}

// anthropicPieces are the deltas that continue a member of their block.
var anthropicPieces = map[string][2]string{ // the delta's member, the block's
	"text_delta": {"text", "text"}, "thinking_delta": {"thinking", "thinking"}, "signature_delta": {"signature", "signature"},
	"input_json_delta": {"partial_json", "input"},
}

func (s *anthropicStream) add(event object) (done bool) {
	switch event.text("type") {
	case "message_start":
		s.message = objectOf(event["message"])
		s.count(s.message["usage"])
	case "content_block_start":
		if i, err := strconv.Atoi(string(event["index"])); err == nil {
			s.blocks[i] = &pieces{}
			for name, value := range objectOf(event["content_block"]) {
				s.blocks[i].add(name, value)
			}
		}
	case "content_block_delta":
		if i, err := strconv.Atoi(string(event["index"])); err == nil && s.blocks[i] != nil {
			s.delta(i, objectOf(event["delta"]))
		}
	case "message_delta":
		s.count(event["usage"])
	case "message_stop":
		s.stopped = true
	}
	return s.stopped
}

func (s *anthropicStream) delta(i int, delta object) {
	switch kind := delta.text("type"); kind {
	case "compaction_delta": // whole, in one event
		s.blocks[i].set("content", delta["content"])
		s.blocks[i].set("encrypted_content", delta["encrypted_content"])
	case "citations_delta":
		s.blocks[i].add("citations", jsonOf([]jsontext.Value{delta["citation"]}))
	default:
		if piece, ok := anthropicPieces[kind]; ok {
			s.blocks[i].add(piece[1], delta[piece[0]])
		}
	}
}

// count keeps the newest of each figure: the last event has the output's.
func (s *anthropicStream) count(usage jsontext.Value) {
	for name, value := range objectOf(usage) {
		if value.Kind() != jsontext.KindNull {
			s.usage[name] = value
		}
	}
}

func (s *anthropicStream) answer() (*answer, error) {
	if !s.stopped || s.message == nil {
		return nil, errNone
	}
	content := []jsontext.Value{}
	for _, i := range slices.Sorted(maps.Keys(s.blocks)) {
		block := s.blocks[i].whole()
		if input := s.blocks[i].texts["input"]; input != nil { // in pieces of JSON, which stand for the empty object that it began with
			if block["input"] = s.blocks[i].values["input"]; len(input) > 0 {
				block["input"] = input
			}
			if !block["input"].IsValid() {
				return nil, errAnswer
			}
		}
		content = append(content, block.json())
	}
	return anthropicReply(s.message, jsonOf(content), s.usage.json())
}
