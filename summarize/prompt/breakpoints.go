package prompt

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Anthropic refuses a request with more than four cache breakpoints ("Prompt caching"). A client that marks the newest block each time
// publishes one with every turn: the newest serve the cache, and the others are removed. One of the four is left for the tools, which
// the client adds.
const (
	systemBreakpoints  = 1
	messageBreakpoints = 2
)

// breakpoints removes all cache breakpoints but the newest.
func (a *anthropicWriter) breakpoints() {
	left := systemBreakpoints
	for i := range slices.Backward(a.system) {
		a.system[i] = marked(a.system[i], &left)
	}
	left = messageBreakpoints
	for i := range slices.Backward(a.messages) {
		blocks := a.messages[i].blocks
		for j := range slices.Backward(blocks) {
			blocks[j].raw = marked(blocks[j].raw, &left)
		}
	}
}

// marked is a block with as many cache breakpoints as are left, which are counted down: its own, then those of a result's parts and of a
// document's.
func marked(raw jsontext.Value, left *int) jsontext.Value {
	if !bytes.Contains(raw, []byte(`"cache_control"`)) {
		return raw
	}
	block, changed := map[string]jsontext.Value{}, false
	if err := json.Unmarshal(raw, &block); err != nil {
		return raw
	}
	if block["cache_control"].Kind() == '{' {
		if *left--; *left < 0 {
			delete(block, "cache_control")
			changed = true
		}
	}
	var parts []jsontext.Value
	if block["content"].Kind() == '[' && json.Unmarshal(block["content"], &parts) == nil {
		for i := range slices.Backward(parts) {
			before := len(parts[i])
			parts[i] = marked(parts[i], left)
			changed = changed || len(parts[i]) != before
		}
	}
	if block["source"].Kind() == '{' { // of a document, which may have parts
		if source := marked(block["source"], left); len(source) != len(block["source"]) {
			block["source"], changed = source, true
		}
	}
	if !changed {
		return raw
	}
	if parts != nil {
		block["content"] = encoded(parts)
	}
	return encoded(block)
}
