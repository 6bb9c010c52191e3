package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"precis/internal/spelling"
)

// arguments are the names that each tool takes.
type arguments map[string][]string

func (known arguments) add(tool string, input reflect.Type) {
	for i := range input.NumField() {
		name, _, _ := strings.Cut(input.Field(i).Tag.Get("json"), ",")
		known[tool] = append(known[tool], name)
	}
}

// check refuses a call with an argument that its tool does not take, before the SDK does: a model that guessed a name needs the
// right one to go on, and the SDK says only that the name is unexpected.
func (known arguments) check(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
		if call, ok := r.(*sdk.CallToolRequest); ok && call.Params != nil && known[call.Params.Name] != nil {
			if err := known.wrong(call.Params.Name, call.Params.Arguments); err != nil {
				var refused sdk.CallToolResult
				refused.SetError(err)
				return &refused, nil
			}
		}
		return next(ctx, method, r)
	}
}

// wrong names the first argument that the tool does not take.
func (known arguments) wrong(tool string, given json.RawMessage) error {
	var members map[string]json.RawMessage
	if json.Unmarshal(given, &members) != nil {
		return nil // the SDK says what is wrong with it
	}
	names := known[tool]
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if slices.Contains(names, name) {
			continue
		}
		if meant := spelling.Meant(name, names); meant != "" {
			return fmt.Errorf("unknown argument %q: did you mean %q?", name, meant)
		}
		return fmt.Errorf("unknown argument %q; %s takes %s", name, tool, strings.Join(names, ", "))
	}
	return nil
}
