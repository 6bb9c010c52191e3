package sessions

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"precis/events"
)

// geminiCLI reads ~/.gemini/tmp/<project>/chats/session-*.json of the Gemini CLI, a document, and session-*.jsonl, in which a message may
// stand again with its results, and a rewind takes messages away: so events come at the end of the file.
type geminiCLI struct {
	*output
	name  string
	first object
	list  []geminiRecord
}

type geminiRecord struct {
	at int
	id string
	o  object
}

func newGeminiCLI(out *output) reader { return &geminiCLI{output: out, first: object{}} }

func isGeminiCLI(o object) bool { return o.has("sessionId") && o.has("projectHash") }

func (g *geminiCLI) line(o object) {
	switch to := o.text("$rewindTo"); {
	case to != "":
		at := slices.IndexFunc(g.list, func(r geminiRecord) bool { return r.id == to })
		g.list = g.list[:max(at, 0)] // as the CLI reads it: a message that is not there takes all
	case o.object("$set") != nil:
		if messages := o.object("$set").list("messages"); messages != nil {
			g.list = nil
			g.records(messages)
		}
	case o.has("projectHash"):
		g.begin(o)
		g.records(o.list("messages"))
	case o.has("id"):
		g.record(o)
	default:
		g.skip("record without an id")
	}
}

func (g *geminiCLI) begin(o object) {
	if g.name != "" {
		return
	}
	id := o.text("sessionId")
	if !validID(id) {
		id = ""
	}
	g.name = g.thread(id)
	g.first["metadata"] = jsonOf(object{"session": jsonOf(object{"project_hash": o["projectHash"]}.with("kind", o["kind"]))})
}

func (g *geminiCLI) records(list []jsontext.Value) {
	for _, raw := range list {
		if o := objectOf(raw); o != nil {
			g.record(o)
		}
	}
}

func (g *geminiCLI) record(o object) {
	id := o.text("id")
	if !validID(id) {
		g.skip("message without an id")
		return
	}
	if at := slices.IndexFunc(g.list, func(r geminiRecord) bool { return r.id == id }); at >= 0 {
		g.list[at] = geminiRecord{at: g.at, id: id, o: o}
		return
	}
	g.list = append(g.list, geminiRecord{at: g.at, id: id, o: o})
}

func (g *geminiCLI) flush() {
	if g.name == "" {
		g.name = g.thread("")
	}
	for _, r := range g.list {
		g.publish(r)
	}
	g.list = nil
}

// partsOf is a list of Gemini's parts, of what its SDK takes for one.
func partsOf(v jsontext.Value) []jsontext.Value {
	switch v.Kind() {
	case jsontext.KindString:
		return []jsontext.Value{jsonOf(object{"text": v})}
	case jsontext.KindBeginObject:
		return []jsontext.Value{v}
	}
	var list []jsontext.Value
	for _, p := range listOf(v) {
		list = append(list, partsOf(p)...)
	}
	return list
}

func (g *geminiCLI) publish(r geminiRecord) {
	created := timeOf(r.o["timestamp"])
	switch kind := r.o.text("type"); kind {
	case "user":
		data := object{"role": quote(events.RoleUser), "parts": jsonOf(append([]jsontext.Value{}, partsOf(r.o["content"])...))}
		g.message(r.at, g.name, r.id, data.with("created_at", created), g.first)
	case "gemini":
		g.answer(r, created)
	default:
		g.at = r.at
		g.skip("message of type " + kind)
	}
}

// answer publishes what the model said and called, and each result behind it.
func (g *geminiCLI) answer(r geminiRecord, created jsontext.Value) {
	parts := []jsontext.Value{}
	for _, raw := range r.o.list("thoughts") {
		if thought := objectOf(raw); thought.text("description") != "" {
			parts = append(parts, jsonOf(object{"text": quote(thought.text("subject") + "\n" + thought.text("description")), "thought": jsontext.Value("true")}))
		}
	}
	if text := textOf(r.o["content"]); text != "" || r.o["content"].Kind() != jsontext.KindString {
		parts = append(parts, partsOf(r.o["content"])...)
	}
	var results []jsontext.Value
	for _, raw := range r.o.list("toolCalls") {
		call := objectOf(raw)
		parts = append(parts, jsonOf(object{"functionCall": jsonOf(object{}.with("id", call["id"]).with("name", call["name"]).with("args", call["args"]))}))
		if result := partsOf(call["result"]); len(result) > 0 {
			results = append(results, jsonOf(result))
		}
	}
	data := object{"role": quote("model"), "parts": jsonOf(parts)}
	if r.o["model"].Kind() == jsontext.KindString {
		data["model"] = r.o["model"]
	}
	if tokens := r.o.object("tokens"); tokens != nil {
		output, _ := tokens.count("output")
		thoughts, _ := tokens.count("thoughts")
		usage := object{"output_tokens": jsonOf(output + thoughts)}
		usage.with("input_tokens", tokens["input"]).with("cached_input_tokens", tokens["cached"])
		data.with("usage", usageOf(usage, usageNames...))
	}
	g.message(r.at, g.name, r.id, data.with("created_at", created), g.first)
	for n, result := range results {
		g.message(r.at, g.name, part(r.id, n+1), object{"role": quote(events.RoleUser), "parts": result}.with("created_at", created), g.first)
	}
}
