package processor_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"precis/internal/config"
	"precis/internal/processor"
	"precis/summarize"
)

// fleet is the output of a tool that precis does not know.
func fleet(id string) string {
	var b strings.Builder
	for i := range 200 {
		fmt.Fprintf(&b, "heartbeat %d of worker-%d\n", i, i%7)
		if i == 120 {
			b.WriteString("QUOTA worker-1 has 12 left\n")
		}
	}
	return fmt.Sprintf(`{"message_id":%q,"tool_name":"mcp__fleet__show","content":%q}`, id, b.String())
}

// What a policy says of a tool holds for its next outputs; a change of it makes the earlier summaries again, and an audit makes the same of them.
func TestOwnTools(t *testing.T) {
	s := stage(t, settings(t))
	defer s.finish()
	shown := func(want, not string) {
		t.Helper()
		s.settled()
		s.tended()
		if _, text := s.whole("t"); !strings.Contains(text, want) || not != "" && strings.Contains(text, not) {
			t.Errorf("the prompt lacks %q, or holds %q:\n%s", want, not, text)
		}
	}
	s.publish("tool.result.t", fleet("a"))
	s.publish("thread.message.t", `{"message_id":"read","role":"assistant","content":"I see."}`)
	shown("heartbeat", "")
	s.reload(func(c *config.Config) {
		c.Policies[0].Tools = []summarize.Tool{
			{Match: "mcp__fleet__*", Category: "command_output", Keep: []string{"QUOTA"}, Drop: []string{"heartbeat"}},
			{Match: "*", Drop: []string{"QUOTA"}}, // the first one applies
		}
	})
	s.publish("thread.message.t", `{"message_id":"next","role":"user","content":"And now?"}`)
	shown("QUOTA worker-1 has 12 left", "heartbeat")
}

// Marks say how the agent's model gets at the original.
func TestRetrieval(t *testing.T) {
	s := stage(t, settings(t))
	defer s.finish()
	s.publish("tool.result.t", large("a"))
	s.publish("thread.message.t", `{"message_id":"read","role":"assistant","content":"I see."}`)
	for i, c := range []struct{ retrieval, mark, not string }{
		{summarize.RetrievalCLI, "; message a]", "read_original"}, {summarize.RetrievalMCP, "; read_original a]", "message a"}, {summarize.RetrievalNone, " lines]", "; "},
	} {
		s.reload(func(cfg *config.Config) { cfg.Policies[0].Context.Retrieval = c.retrieval })
		s.tended()
		s.publish("thread.message.t", fmt.Sprintf(`{"message_id":"n%d","role":"user","content":"Go on."}`, i))
		s.settled()
		if _, text := s.whole("t"); !strings.Contains(text, c.mark) || strings.Contains(text, c.not) {
			t.Errorf("%s: the prompt lacks %q, or holds %q:\n%s", c.retrieval, c.mark, c.not, text)
		}
	}
}

// A model is asked by the prompt of the policy's category.
func TestOwnToolsByModel(t *testing.T) {
	asked := make(chan string, 1)
	m := newModelReading(t, func(_ int64, body string, w http.ResponseWriter) {
		asked <- body
		says(w, "Worker 1 has a quota of 12.", 100, 10)
	})
	c := byModel(t, m)
	c.Policies[0].Tools = []summarize.Tool{{Match: "mcp__fleet__*", Category: "structured_data"}}
	c.Policies[0].Prompts = map[string]string{"structured_data": "As data, in {limit}: {content}", "tool_result": "As any output: {content}"}
	b := openBroker(t, t.TempDir())
	p := start(t, processor.Options{Config: c, Logger: logger(t), Broker: b})
	put(t, b.Conn(), "tool.result.t", fleet("a"))
	ended(t, p, "t", 3)
	p.end()
	if body := <-asked; !strings.Contains(body, "As data, in") {
		t.Errorf("asked %s", body)
	}
}
