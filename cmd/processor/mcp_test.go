package main

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	natsserver "github.com/nats-io/nats-server/v2/server"
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
	sample := regexp.MustCompile("(?s)```sh\n(.*?)```").FindStringSubmatch(projectFile(t, "docs/integrations/mcp.md"))
	dir := t.TempDir()
	if err := os.Symlink(build(t), filepath.Join(dir, "processor")); err != nil {
		t.Fatal(err)
	}
	shell := exec.CommandContext(t.Context(), "sh", "-euc", sample[1])
	shell.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
	if out, err := shell.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	p.awaitThread(t, "mcp1", "1 tool result")

	session := mcpSession(t, server.Args...)
	page := projectFile(t, "docs/integrations/mcp.md")
	for tool, err := range session.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		row := regexp.MustCompile("(?m)^\\| `" + tool.Name + "` \\| (.*?) ?\\|").FindStringSubmatch(page)
		if row == nil {
			t.Fatalf("the page has no tool %s", tool.Name)
		}
		documented := []string{"thread"}
		for _, name := range regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(row[1], -1) {
			documented = append(documented, name[1])
		}
		has := slices.Sorted(maps.Keys(tool.InputSchema.(map[string]any)["properties"].(map[string]any)))
		if slices.Sort(documented); !slices.Equal(documented, has) {
			t.Errorf("%s has the arguments %q, and the page %q", tool.Name, has, documented)
		}
	}
	for _, c := range []struct {
		tool      string
		arguments map[string]any
		want      string
		failed    bool
	}{
		{"read_original", map[string]any{"message_id": "m2", "search": "FAIL"}, "101|--- FAIL: TestTotal (0.00s)", false},
		{"search_thread", map[string]any{"query": "testtotal"}, "Message m2 (tool bash), line 101", false},
		{"thread_status", nil, "Thread mcp1", false},
		{"thread_status", nil, " in a prompt, texts and arguments only\n", false},
		{"explain_prompt", map[string]any{"thread": "mcp1"}, "Prompt of mcp1", false},
		{"explain_prompt", nil, ", no limit\n", false},
		{"explain_prompt", map[string]any{"max_tokens": 100000}, ", within the limit of 100,000\n", false},
		{"explain_prompt", map[string]any{"max_tokens": 10}, ", over the limit of 10\n", false},
		{"thread_status", map[string]any{"thread": "demo-2"}, "for the thread \"mcp1\" alone", true},
	} {
		result, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: c.tool, Arguments: c.arguments})
		if err != nil {
			t.Fatalf("%s: %v", c.tool, err)
		}
		if text := result.Content[0].(*sdk.TextContent).Text; result.IsError != c.failed || !strings.Contains(text, c.want) {
			t.Errorf("%s %v: failed %t, lacks %q:\n%s", c.tool, c.arguments, result.IsError, c.want, text)
		}
	}
}

// mcpSession is one with the program, which ends as its input does.
func mcpSession(t *testing.T, args ...string) *sdk.ClientSession {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), testTimeout)
	child := exec.CommandContext(ctx, build(t), args...)
	child.Env, child.Stderr = os.Environ(), os.Stderr
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(ctx, &sdk.CommandTransport{Command: child}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		defer cancel()
		if err := session.Close(); err != nil {
			t.Errorf("it does not end in order: %v", err)
		}
	})
	return session
}

// The tools find what stands behind the first lines of a message that no reply of the server can hold whole.
func TestMCPLargeOriginal(t *testing.T) {
	server, err := natsserver.NewServer(&natsserver.Options{Host: "127.0.0.1", Port: natsserver.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true})
	if err != nil {
		t.Fatal(err)
	}
	server.Start()
	t.Cleanup(func() { server.Shutdown(); server.WaitForShutdown() })
	t.Setenv("NATS_URL", server.ClientURL())
	scrapedProgram(t, nil, "--nats", server.ClientURL())
	const lines = 4080 // and a name that the reply has and the event has not: more than the server's 1 MiB
	program(t, `{"type":"thread.message","thread_id":"t1","message_id":"call","role":"assistant","content":"","tool_calls":[{"id":"c","name":"`+strings.Repeat("n", 8<<10)+`","arguments":{}}]}
{"type":"tool.result","thread_id":"t1","message_id":"large","tool_call_id":"c","content":"`+strings.Repeat(strings.Repeat("ok  pkg", 40)[:254]+`\n`, lines)+`the end"}
`, "publish", "-", "--wait").wants(t, exitDone, "", "")
	session := mcpSession(t, "mcp", "--thread", "t1")
	for tool, arguments := range map[string]map[string]any{"read_original": {"message_id": "large", "search": "THE END"}, "search_thread": {"query": "the end"}} {
		result, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: arguments})
		if err != nil {
			t.Fatal(err)
		}
		if text := result.Content[0].(*sdk.TextContent).Text; result.IsError || !strings.Contains(text, "the end") || !strings.Contains(text, strconv.Itoa(lines+1)) {
			t.Errorf("%s: %.200s … %s", tool, text, text[max(0, len(text)-200):])
		}
	}
}

func TestMCPRefuses(t *testing.T) {
	program(t, "not JSON\n", "mcp", "--nats", newServer(t).URL()).wants(t, exitWrong, "", "the client sends what is not the protocol: invalid character")
	program(t, "", "mcp", "--thread", "a", "--thread-prefix", "b").wants(t, exitUsage, "", "not both")
	program(t, "", "mcp", "--nats", "nats://"+freeAddress(t)).wants(t, exitUnreachable, "", "")
}
