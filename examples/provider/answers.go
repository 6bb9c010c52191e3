package main

import (
	"crypto/rand"
	"encoding/json"
)

type object = map[string]any

// answer is one in the form of an API: in one piece, and as the events of a stream.
type answer struct {
	whole  object
	events []object
}

// What a provider would count; a script does not.
const inputTokens, outputTokens = 11, 7

func (t turn) argumentText() string {
	text, _ := json.Marshal(t.arguments())
	return string(text)
}

// chat answers chat completions.
func chat(model string, t turn) answer {
	message, reason := object{"role": "assistant", "content": t.text}, "stop"
	if t.tool != "" {
		call := object{"index": 0, "id": "call_" + rand.Text(), "type": "function", "function": object{"name": t.tool, "arguments": t.argumentText()}}
		message, reason = object{"role": "assistant", "content": nil, "tool_calls": []any{call}}, "tool_calls"
	}
	id, usage := "chatcmpl-"+rand.Text(), object{"prompt_tokens": inputTokens, "completion_tokens": outputTokens, "total_tokens": inputTokens + outputTokens}
	chunk := func(choices ...any) object {
		return object{"id": id, "object": "chat.completion.chunk", "created": 1, "model": model, "choices": append([]any{}, choices...)}
	}
	last := chunk()
	last["usage"] = usage
	return answer{
		whole: object{"id": id, "object": "chat.completion", "created": 1, "model": model, "usage": usage,
			"choices": []any{object{"index": 0, "message": message, "finish_reason": reason}}},
		events: []object{chunk(object{"index": 0, "delta": message, "finish_reason": nil}), chunk(object{"index": 0, "delta": object{}, "finish_reason": reason}), last},
	}
}

// responses answers the Responses API.
func responses(model string, t turn) answer {
	item := object{"type": "message", "id": "msg_" + rand.Text(), "role": "assistant", "status": "completed",
		"content": []any{object{"type": "output_text", "text": t.text, "annotations": []any{}}}}
	if t.tool != "" {
		item = object{"type": "function_call", "id": "fc_" + rand.Text(), "call_id": "call_" + rand.Text(), "name": t.tool, "arguments": t.argumentText(), "status": "completed"}
	}
	id := "resp_" + rand.Text()
	response := func(status string, output ...any) object {
		return object{"id": id, "object": "response", "created_at": 1, "status": status, "model": model, "output": append([]any{}, output...),
			"error": nil, "incomplete_details": nil, "instructions": nil, "metadata": object{}, "parallel_tool_calls": true, "temperature": 1, "tool_choice": "auto", "tools": []any{}, "top_p": 1,
			"usage": object{"input_tokens": inputTokens, "output_tokens": outputTokens, "total_tokens": inputTokens + outputTokens,
				"input_tokens_details": object{"cached_tokens": 0}, "output_tokens_details": object{"reasoning_tokens": 0}}}
	}
	whole := response("completed", item)
	events := []object{
		{"type": "response.created", "response": response("in_progress")},
		{"type": "response.output_item.added", "output_index": 0, "item": item},
	}
	if t.tool == "" {
		events = append(events, object{"type": "response.output_text.delta", "item_id": item["id"], "output_index": 0, "content_index": 0, "delta": t.text, "logprobs": []any{}})
	}
	events = append(events, object{"type": "response.output_item.done", "output_index": 0, "item": item}, object{"type": "response.completed", "response": whole})
	for n, e := range events {
		e["sequence_number"] = n
	}
	return answer{whole, events}
}

// messages answers Anthropic's API.
func messages(model string, t turn) answer {
	block, begun, delta, reason := object{"type": "text", "text": t.text}, object{"type": "text", "text": ""}, object{"type": "text_delta", "text": t.text}, "end_turn"
	if t.tool != "" {
		id := "toolu_" + rand.Text()
		block, begun = object{"type": "tool_use", "id": id, "name": t.tool, "input": t.arguments()}, object{"type": "tool_use", "id": id, "name": t.tool, "input": object{}}
		delta, reason = object{"type": "input_json_delta", "partial_json": t.argumentText()}, "tool_use"
	}
	id := "msg_" + rand.Text()
	message := func(reason any, content ...any) object {
		return object{"id": id, "type": "message", "role": "assistant", "model": model, "content": append([]any{}, content...), "stop_reason": reason, "stop_sequence": nil,
			"usage": object{"input_tokens": inputTokens, "output_tokens": outputTokens}}
	}
	return answer{
		whole: message(reason, block),
		events: []object{
			{"type": "message_start", "message": message(nil)},
			{"type": "content_block_start", "index": 0, "content_block": begun},
			{"type": "content_block_delta", "index": 0, "delta": delta},
			{"type": "content_block_stop", "index": 0},
			{"type": "message_delta", "delta": object{"stop_reason": reason, "stop_sequence": nil}, "usage": object{"output_tokens": outputTokens}},
			{"type": "message_stop"},
		},
	}
}
