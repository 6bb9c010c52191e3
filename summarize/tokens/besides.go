package tokens

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"precis/events"
)

// Besides texts a prompt has ids, signatures, encrypted data and unknown members. No provider documents their tokens: they count
// as base64 and JSON do with the tokenizers, four bytes a token. The ids, types and flags that a part or a message usually has are
// not counted: they belong to the frame.
const (
	bytesPerToken = 4
	frameBytes    = 200
	emptyBytes    = 40 // of an empty text
)

func ofBytes(n int) int { return max(0, (n+bytesPerToken-1)/bytesPerToken) }

// Unread is what the parts of a content of a role take whose text is not in its Text or in its calls: media, what the model thought,
// signatures, unknown parts. A prompt counts it with the text of the content, and so do the counters of a thread.
func Unread(role string, c events.Content) (n int) {
	answered := map[string]bool{}
	for _, p := range c.Parts() {
		if p.Kind == events.PartResult {
			answered[p.Result.CallID] = true
		}
	}
	for _, p := range c.Parts() {
		if n += Beside(p); p.Kind == events.PartCall && (role != events.RoleAssistant || answered[p.Call.ID]) {
			n += ofBytes(len(p.Call.Name) + len(p.Call.Arguments)) // the message has no such call
		}
	}
	return n
}

// Beside is what a part takes besides its text, or the name and the arguments of its call.
func Beside(p events.Part) int {
	switch p.Kind {
	case events.PartReasoning:
		return 1 + len(p.Text)/bytesPerToken + ofBytes(p.Besides*3/4) // some of it is base64
	case events.PartOther:
		return ofBytes(len(p.Raw))
	}
	n := Unnamed(p)
	switch p.Kind {
	case events.PartMedia:
		n += Media(p.Media, p.Shape)
	case events.PartResult:
		n += besides(p.Result.Parts)
	case events.PartItem:
		n += besides(p.Item.Parts)
	}
	return n
}

// Unnamed is what the members of a part take that are none of what its kind has, as a signature. A text without text is there for
// those alone, as Gemini's signature at the end of a stream.
func Unnamed(p events.Part) int {
	if p.Kind == events.PartText && p.Text == "" {
		return ofBytes(p.Besides - emptyBytes)
	}
	return ofBytes(p.Besides - frameBytes)
}

func besides(parts []events.Part) (n int) {
	for _, p := range parts {
		n += Beside(p)
	}
	return n
}

// CallBeside is what a tool call of a message takes besides its name and its arguments.
func CallBeside(c events.ToolCall) int {
	return ofBytes(len(c.Raw) - len(c.Name) - len(c.Arguments) - frameBytes)
}

// Members is what the further members of a message take, as its refusal, a recording or what the model thought.
func Members(object jsontext.Value) int {
	members := membersOf(object)
	bytes, n := len(object), 0
	if audio := membersOf(members["audio"]); audio["data"] != nil {
		data := audio["data"]
		bytes -= len(data)
		n = Media(&events.Media{Kind: events.MediaAudio, Data: []byte(strings.Trim(string(data), `"`))}, events.ShapeOpenAI)
	}
	return n + ofBytes(bytes-frameBytes)
}

func membersOf(object jsontext.Value) map[string]jsontext.Value {
	if object.Kind() != '{' { // nearly every message has none: not a byte is allocated
		return nil
	}
	var members map[string]jsontext.Value
	if json.Unmarshal(object, &members) != nil {
		return nil
	}
	return members
}
