package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// An agent starts the program as docs/integrations/mcp.md says, and its model reads what its prompt leaves out.
func TestMCPPage(t *testing.T) {
	block := regexp.MustCompile("(?s)```json\n(.*?)```").FindStringSubmatch(projectFile(t, "docs/integrations/mcp.md"))
	var config struct {
		Servers map[string]struct {
			Command string
			Args    []string
		} `json:"mcpServers"`
	}
	if err := json.Unmarshal([]byte(block[1]), &config); err != nil {
		t.Fatal(err)
	}
	server, nats := config.Servers["precis"], freeAddress(t)
	if server.Command != "processor" {
		t.Fatalf("the page starts %q", server.Command)
	}
	p := startProcessorAt(t, t.TempDir(), nats)
	t.Setenv("NATS_URL", "nats://"+nats)
	program(t, `{"type":"thread.message","thread_id":"demo-1","message_id":"u","role":"user","content":"Which test fails?"}
{"type":"tool.result","thread_id":"demo-1","message_id":"m12","tool_name":"bash","content":"`+strings.Repeat(`ok package\n`, 500)+`--- FAIL: TestTotal (0.01s)\n"}
`, "publish", "-").wants(t, exitDone, "", "")
	p.awaitThread(t, "demo-1", "1 tool result")

	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	child := exec.CommandContext(ctx, build(t), server.Args...)
	child.Env, child.Stderr = os.Environ(), os.Stderr
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(ctx, &sdk.CommandTransport{Command: child}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		tool      string
		arguments map[string]any
		want      string
		failed    bool
	}{
		{"read_original", map[string]any{"message_id": "m12", "search": "FAIL"}, "501|--- FAIL: TestTotal", false},
		{"search_thread", map[string]any{"query": "testtotal"}, "Message m12 (tool bash), line 501", false},
		{"thread_status", nil, "Thread demo-1", false},
		{"explain_prompt", map[string]any{"thread": "demo-1"}, "Prompt of demo-1", false},
		{"thread_status", map[string]any{"thread": "demo-2"}, "for the thread \"demo-1\" alone", true},
	} {
		result, err := session.CallTool(ctx, &sdk.CallToolParams{Name: c.tool, Arguments: c.arguments})
		if err != nil {
			t.Fatalf("%s: %v", c.tool, err)
		}
		if text := result.Content[0].(*sdk.TextContent).Text; result.IsError != c.failed || !strings.Contains(text, c.want) {
			t.Errorf("%s %v: failed %t, lacks %q:\n%s", c.tool, c.arguments, result.IsError, c.want, text)
		}
	}
	if err := session.Close(); err != nil { // the program ends as its input does
		t.Errorf("it does not end in order: %v", err)
	}
}

func TestMCPRefuses(t *testing.T) {
	program(t, "", "mcp", "--thread", "a", "--thread-prefix", "b").wants(t, exitUsage, "", "not both")
	program(t, "", "mcp", "--nats", "nats://"+freeAddress(t)).wants(t, exitUnreachable, "", "")
}
