package gateway

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"precis/events"
)

// responsesAPI is OpenAI's Responses.
var responsesAPI = &api{
	name: "responses", format: "responses", list: "input", read: readResponses, whole: responsesWhole, stream: func() assembler { return &responsesStream{} },
	known: []string{
		"background", "include", "input", "instructions", "max_output_tokens", "max_tool_calls", "metadata", "model", "moderation", "parallel_tool_calls",
		"prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "reasoning", "safety_identifier", "service_tier", "store", "stream",
		"stream_options", "temperature", "text", "tool_choice", "tools", "top_logprobs", "top_p", "truncation", "user",
		"client_metadata", // Codex's, with every request
	},
}

func readResponses(r *reader, request object) (*conversation, error) {
	list, err := r.instructions(request["instructions"])
	if err != nil {
		return nil, err
	}
	c := &conversation{
		thread: objectOf(request["metadata"]).text(metadataThread), scope: openAIScope(request), previous: request.text("previous_response_id"),
		kept: request.text("conversation"),
	}
	if o := objectOf(request["conversation"]); o != nil {
		c.kept = o.text("id")
	}
	var input []*message
	switch v := request["input"]; v.Kind() {
	case jsontext.KindString:
		m, err := r.message(asUser, v)
		if err != nil {
			return nil, fmt.Errorf("%w: input: %w", errRequest, err)
		}
		input = []*message{m}
	case jsontext.KindBeginArray:
		if input, err = r.itemsOf(r.scratch.listOf(v)); err != nil {
			return nil, err
		}
	}
	c.messages = append(list, input...)
	return c, nil
}

// itemsOf makes messages of items. What the model made in a row is one message, as its answer was; everything else stands alone.
func (r *reader) itemsOf(items []jsontext.Value) (list []*message, err error) {
	for i := 0; i < len(items); {
		end := i + 1
		if byModel(items[i]) {
			for end < len(items) && byModel(items[end]) {
				end++
			}
		}
		m, err := r.message(asItems, items[i:end]...)
		if err != nil {
			return nil, fmt.Errorf("%w: input[%d]: %w", errRequest, i, err)
		}
		list, i = append(list, m), end
	}
	return list, nil
}

// asItems is what the model made in a row, or one item of anything else.
var asItems = shape{"items", func(items []jsontext.Value) object {
	if byModel(items[0]) {
		return object{"role": quote(events.RoleAssistant), "content": jsonOf(items)}
	}
	item := objectOf(items[0])
	if item == nil {
		return nil
	}
	if t := item.text("type"); t == "message" || t == "" && item.has("role") {
		return object{"role": item["role"], "content": item["content"]}
	}
	role := events.RoleUser
	if item.text("role") == events.RoleDeveloper { // tools that Codex gives at the beginning
		role = events.RoleDeveloper
	}
	return object{"role": quote(role), "content": jsonOf(items)}
}}

// clientItems are the types of items that clients make, beside messages and the outputs of calls.
var clientItems = []string{"additional_tools", "agent_message", "compaction_trigger", "item_reference", "mcp_approval_response"}

// byModel reports whether an item is of the model's output.
func byModel(raw jsontext.Value) bool {
	item := objectOf(raw)
	t := item.text("type")
	switch {
	case t == "message", t == "":
		return item.text("role") == events.RoleAssistant
	case strings.HasSuffix(t, "_output"), slices.Contains(clientItems, t):
		return false
	}
	return true
}

func responsesWhole(response object) (*answer, error) {
	output := response["output"]
	if output.Kind() != jsontext.KindBeginArray {
		return nil, errAnswer
	}
	switch response.text("status") {
	case "completed", "incomplete":
	default: // queued, failed, cancelled
		return nil, errNone
	}
	if items := listOf(output); len(items) == 0 || !slices.ContainsFunc(items, byModel) {
		return nil, errNone
	}
	return replied(response.text("id"), response.text("model"), object{"content": output}, response["usage"])
}

// responsesStream waits for the last event, which has the response whole.
type responsesStream struct{ response object }

func (s *responsesStream) add(event object) (done bool) {
	switch event.text("type") {
	case "response.completed", "response.incomplete":
		s.response = objectOf(event["response"])
	}
	return s.response != nil
}

func (s *responsesStream) answer() (*answer, error) {
	if s.response == nil {
		return nil, errNone
	}
	return responsesWhole(s.response)
}
