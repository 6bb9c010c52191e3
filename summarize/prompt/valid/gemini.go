package valid

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

var geminiName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$`)

// geminiData are the members of a part of which it has one.
var geminiData = []string{"text", "inlineData", "fileData", "functionCall", "functionResponse", "executableCode", "codeExecutionResult", "toolCall", "toolResponse"}

// geminiMembers are what the API knows of a content, a part and what it has: it refuses other names ("Unknown name").
var geminiMembers = members{
	"content":          {"role", "parts"},
	"part":             append(geminiData, "thought", "thoughtSignature", "videoMetadata", "mediaResolution", "partMetadata", "audioTranscription"),
	"functionCall":     {"id", "name", "args", "partialArgs", "willContinue"},
	"functionResponse": {"id", "name", "response", "parts", "willContinue", "scheduling"},
	"inlineData":       {"mimeType", "data", "displayName"},
	"fileData":         {"mimeType", "fileUri", "displayName"},
}

// Gemini holds contents against the API's rules: the user begins, roles alternate, each part is one thing, calls stand behind a
// user's content, and the content behind calls begins with as many responses, of the same names and ids in the same order.
func Gemini(system, v jsontext.Value) error {
	if len(system) > 0 && system.Kind() != 'n' {
		var instruction object
		if err := json.Unmarshal(system, &instruction); err != nil {
			return fmt.Errorf("system: %w", err)
		}
		parts, _ := instruction.list("parts")
		for _, p := range parts {
			if blank(p.text("text")) {
				return fmt.Errorf("system: a part without text")
			}
		}
		if len(parts) == 0 || len(instruction["role"]) > 0 {
			return fmt.Errorf("system: %s", system)
		}
	}
	var list []object
	if err := json.Unmarshal(v, &list); err != nil {
		return err
	}
	if len(list) == 0 || list[0].text("role") != "user" {
		return fmt.Errorf("the user does not begin")
	}
	var open []string
	for i, c := range list {
		if i > 0 && c.text("role") == list[i-1].text("role") {
			return fmt.Errorf("content %d: role %q again", i, c.text("role"))
		}
		calls, responses, err := geminiContent(c)
		if err != nil {
			return fmt.Errorf("content %d: %w", i, err)
		}
		if !slices.Equal(responses, open) {
			return fmt.Errorf("content %d: responses of %v to calls of %v", i, responses, open)
		}
		open = calls
	}
	if len(open) > 0 {
		return fmt.Errorf("calls of %v not answered at the end", open)
	}
	return nil
}

func geminiContent(c object) (calls, responses []string, err error) {
	role := c.text("role")
	parts, err := c.list("parts")
	if err != nil || len(parts) == 0 || role != "user" && role != "model" {
		return nil, nil, fmt.Errorf("role %q, parts %.200s", role, c["parts"])
	}
	if err := geminiMembers.check(c, "content"); err != nil {
		return nil, nil, err
	}
	for j, p := range parts {
		if err := geminiMembers.check(p, "part"); err != nil {
			return nil, nil, fmt.Errorf("part %d: %w", j, err)
		}
		data := ""
		for _, name := range geminiData {
			if len(p[name]) == 0 {
				continue
			}
			if data != "" {
				return nil, nil, fmt.Errorf("part %d is %s and %s", j, data, name)
			}
			data = name
		}
		if err := geminiMembers.check(p.of(data), data); err != nil {
			return nil, nil, fmt.Errorf("part %d: %s: %w", j, data, err)
		}
		switch call, response := p.of("functionCall"), p.of("functionResponse"); data {
		case "text":
			if blank(p.text("text")) && !p.isText("thoughtSignature") {
				return nil, nil, fmt.Errorf("blank text")
			}
		case "inlineData":
			if p.of("inlineData").text("mimeType") == "" {
				return nil, nil, fmt.Errorf("data without a type")
			}
			if err := base64Data(p.of("inlineData").text("data")); err != nil {
				return nil, nil, err
			}
		case "functionCall":
			if role != "model" || !geminiName.MatchString(call.text("name")) || len(call["args"]) > 0 && call["args"].Kind() != '{' {
				return nil, nil, fmt.Errorf("call %v", call)
			}
			if len(calls) == 0 && p.text("thoughtSignature") == "" {
				return nil, nil, fmt.Errorf("the first call has no thought signature")
			}
			calls = append(calls, call.text("name")+" "+call.text("id"))
		case "functionResponse":
			if role != "user" || len(responses) != j || response["response"].Kind() != '{' {
				return nil, nil, fmt.Errorf("response of %q", response.text("name"))
			}
			responses = append(responses, response.text("name")+" "+response.text("id"))
		case "":
			return nil, nil, fmt.Errorf("part %d is nothing", j)
		}
	}
	return calls, responses, nil
}
