package gateway_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"precis/internal/gateway"
)

var (
	unrulySeed  = flag.Uint64("unruly.seed", 1, "first seed of clients that do as they like")
	unrulyCount = flag.Uint64("unruly.count", 2, "how many seeds")
)

// unruly is a client that edits, takes back, cuts and repeats its conversation.
type unruly struct {
	rnd     *rand.Rand
	api     string
	made    int
	history []turnOf
	cleared map[string]bool // words of outputs that the client has cleared
	counts  bool            // its server counts calls, from 0 in every answer
}

// turnOf is one message of the client, or a result.
type turnOf struct {
	role  string // user, assistant, tool
	text  string
	calls []string
	call  string
}

// word is a text that no other message has.
func (u *unruly) word() string {
	u.made++
	return fmt.Sprintf("word%dx", u.made)
}

var words = regexp.MustCompile(`word\d+x`)

func (u *unruly) output() string {
	if u.rnd.IntN(3) == 0 {
		return "ok " + u.word()
	}
	return strings.Repeat("ok  \tshop/cart\t0.01s\n", 60+u.rnd.IntN(80)) + "--- FAIL: Test" + u.word() + " (0.00s)\n"
}

// raw is a message in the shape of the API: one or more items.
func (u *unruly) raw(t turnOf) (list []string) {
	quote := func(s string) string { return string(quoted(s)) }
	switch u.api {
	case "chat":
		switch {
		case t.role == "tool":
			return []string{`{"role":"tool","tool_call_id":"` + t.call + `","content":` + quote(t.text) + `}`}
		case len(t.calls) > 0:
			var calls []string
			for _, c := range t.calls {
				calls = append(calls, `{"id":"`+c+`","type":"function","function":{"name":"bash","arguments":"{}"}}`)
			}
			return []string{`{"role":"assistant","content":` + quote(t.text) + `,"tool_calls":[` + strings.Join(calls, ",") + `]}`}
		}
		return []string{`{"role":"` + t.role + `","content":` + quote(t.text) + `}`}
	case "messages":
		switch {
		case t.role == "tool":
			return []string{`{"type":"tool_result","tool_use_id":"` + t.call + `","content":` + quote(t.text) + `}`}
		case t.role == "user":
			return []string{`{"type":"text","text":` + quote(t.text) + `}`}
		}
		blocks := []string{`{"type":"text","text":` + quote(t.text) + `}`}
		for _, c := range t.calls {
			blocks = append(blocks, `{"type":"tool_use","id":"`+c+`","name":"bash","input":{}}`)
		}
		return []string{`{"role":"assistant","content":[` + strings.Join(blocks, ",") + `]}`}
	}
	switch {
	case t.role == "tool":
		return []string{`{"type":"function_call_output","call_id":"` + t.call + `","output":` + quote(t.text) + `}`}
	case t.role == "user":
		return []string{`{"role":"user","content":` + quote(t.text) + `}`}
	}
	list = []string{`{"type":"message","role":"assistant","content":[{"type":"output_text","text":` + quote(t.text) + `}]}`}
	for _, c := range t.calls {
		list = append(list, `{"type":"function_call","call_id":"`+c+`","name":"bash","arguments":"{}"}`)
	}
	return list
}

// request has the history; Anthropic's roles take turns, so that results and texts in a row are one message.
func (u *unruly) request(s session) (body string, messages []string) {
	var blocks []string
	for i, t := range u.history {
		if u.api != "messages" || t.role == "assistant" {
			messages = append(messages, u.raw(t)...)
			continue
		}
		blocks = append(blocks, u.raw(t)...)
		if i == len(u.history)-1 || u.history[i+1].role == "assistant" {
			messages, blocks = append(messages, `{"role":"user","content":[`+strings.Join(blocks, ",")+`]}`), nil
		}
	}
	return "{" + s.others + `"` + s.list + `":[` + strings.Join(messages, ",") + "]}", messages
}

// answer is what the model says next.
func (u *unruly) answer() turnOf {
	t := turnOf{role: "assistant", text: "Said " + u.word()}
	if u.rnd.IntN(4) > 0 {
		for i := range 1 + u.rnd.IntN(3) {
			id := "call_0a1b2c3d" + u.word()
			if u.counts {
				id = fmt.Sprint("call_", i)
			}
			t.calls = append(t.calls, id)
		}
	}
	return t
}

// provided is the provider's answer of it.
func (u *unruly) provided(t turnOf) string {
	raw := u.raw(t)
	switch u.api {
	case "chat":
		return `{"id":"c","model":"m","choices":[{"index":0,"finish_reason":"stop","message":` + raw[0] + `}]}`
	case "messages":
		var m map[string]json.RawMessage
		_ = json.Unmarshal([]byte(raw[0]), &m)
		return `{"id":"m","type":"message","role":"assistant","model":"m","content":` + string(m["content"]) + `}`
	}
	return `{"id":"` + u.word() + `","status":"completed","model":"m","output":[` + strings.Join(raw, ",") + `]}`
}

// goOn does what a client does between two requests.
func (u *unruly) goOn(answer turnOf) {
	u.history = append(u.history, answer)
	for _, c := range answer.calls {
		u.history = append(u.history, turnOf{role: "tool", call: c, text: u.output()})
	}
	if len(answer.calls) == 0 {
		u.history = append(u.history, turnOf{role: "user", text: "Ask " + u.word()})
	}
	users := func() (at []int) {
		for i, t := range u.history {
			if t.role == "user" {
				at = append(at, i)
			}
		}
		return at
	}
	switch at := users(); u.rnd.IntN(12) {
	case 0: // a turn is taken back
		i := at[u.rnd.IntN(len(at))]
		u.history = append(u.history[:i:i], turnOf{role: "user", text: "Instead " + u.word()})
	case 1: // a prompt is edited where it stands
		u.history[at[u.rnd.IntN(len(at))]].text = "Edited " + u.word()
	case 2: // an old output is cleared
		for i := range u.history[:len(u.history)*2/3] {
			if u.history[i].role == "tool" && u.rnd.IntN(2) == 0 {
				for _, word := range words.FindAllString(u.history[i].text, -1) {
					u.cleared[word] = true
				}
				u.history[i].text = "[cleared]"
			}
		}
	case 3: // what came first is cut off
		u.history = slices.Clone(u.history[at[len(at)/2]:])
	case 4: // the client compacts
		if len(u.history) > 12 {
			last := at[len(at)-1]
			u.history = append([]turnOf{{role: "user", text: "So far: " + u.word()}}, u.history[last:]...)
		}
	case 5: // an answer and its results are removed
		for i, t := range u.history {
			if t.role == "assistant" && len(t.calls) > 0 && u.rnd.IntN(4) == 0 {
				u.history = slices.Delete(u.history, i, i+1+len(t.calls))
				break
			}
		}
	}
}

// Whatever a client does to its conversation, a provider takes what it gets; nothing stands in it that the client does not send, and what the client
// says last stands in it as it was.
func TestUnrulyClients(t *testing.T) {
	clients := sessions()
	clients["counted"] = clients["chat"] // Anthropic and OpenAI want ids that are unique
	for name, s := range clients {
		for seed := *unrulySeed; seed < *unrulySeed+*unrulyCount; seed++ {
			t.Run(fmt.Sprintf("%s/%d", name, seed), func(t *testing.T) {
				u := &unruly{rnd: rand.New(rand.NewPCG(seed, 7)), api: name, cleared: map[string]bool{}}
				if name == "counted" {
					u.api, u.counts = "chat", true
				}
				u.history = []turnOf{{role: "user", text: "Begin " + u.word()}}
				var got received
				var mu sync.Mutex
				var next string
				w := beginWith(t, func(w http.ResponseWriter, r *http.Request) {
					body, _ := io.ReadAll(r.Body)
					got.add(string(body))
					mu.Lock()
					defer mu.Unlock()
					w.Header().Set("Content-Type", "application/json")
					_, _ = io.WriteString(w, next)
				}, gateway.Options{Mode: gateway.ModeCompact, Wait: patience}, compacting)
				if slow := seed%2 == 0; slow { // prompts are those of earlier requests
					if err := w.stop(); err != nil {
						t.Fatal(err)
					}
					w.startGateway(gateway.Options{Mode: gateway.ModeCompact, Conn: w.far(func() time.Duration { return 5 * time.Millisecond })})
				}
				var header []string
				if seed%4 < 2 {
					header = []string{gateway.HeaderThread, "named"}
				}
				said := map[string]int{}
				for range 30 {
					answer := u.answer()
					mu.Lock()
					next = u.provided(answer)
					mu.Unlock()
					body, messages := u.request(s)
					again := 1 + u.rnd.IntN(8)/7
					for range again {
						reason := w.said(t, s.path, body, header...)
						said[strings.SplitN(reason, ";", 3)[0]+strings.SplitN(reason+";", ";", 3)[1]]++
						u.holds(t, s, reason, body, messages, got.last())
					}
					if u.rnd.IntN(10) > 0 { // else the answer was lost
						u.goOn(answer)
					}
				}
				t.Log(said)
			})
		}
	}
}

// holds compares what the provider got with what the client sent.
func (u *unruly) holds(t *testing.T, s session, reason, body string, messages []string, sent string) {
	t.Helper()
	if !strings.HasPrefix(reason, "yes") {
		if sent != body {
			t.Fatalf("%s, and the request is another:\n%s\n%s", reason, body, sent)
		}
		return
	}
	var after map[string]json.RawMessage
	if err := json.Unmarshal([]byte(sent), &after); err != nil {
		t.Fatal(err)
	}
	if err := s.valid(jsontext.Value(after[s.list])); err != nil {
		t.Fatalf("the provider would refuse it: %v\n%s\n%s", err, body, sent)
	}
	for _, word := range words.FindAllString(sent, -1) {
		compacted := strings.Contains(sent, "Previous Conversation Summary") || u.api == "messages" // where a message has several results
		if !strings.Contains(body, word) && !(u.cleared[word] && compacted) {
			t.Fatalf("%s is not the client's:\n%s\n%s", word, body, sent)
		}
	}
	var list []json.RawMessage
	if err := json.Unmarshal(after[s.list], &list); err != nil {
		t.Fatal(err)
	}
	if string(list[len(list)-1]) != messages[len(messages)-1] {
		t.Fatalf("the last message is another:\n%s\n%s", body, sent)
	}
	at := 0
	for _, m := range list { // the client's own stand in its order
		if i := slices.Index(messages[at:], string(m)); i >= 0 {
			at += i + 1
		} else if slices.Contains(messages, string(m)) && !strings.Contains(string(m), "[cleared]") {
			t.Fatalf("%s stands in another place:\n%s\n%s", m, body, sent)
		}
	}
}
