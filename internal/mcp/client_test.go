package mcp_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"precis/internal/e2e/program"
)

// The TypeScript SDK, which knows nothing of ours, finds that the program speaks the protocol, over standard input and over HTTP, and gets the same from both.
func TestTypeScriptSDK(t *testing.T) {
	if _, err := os.Stat("testdata/client/node_modules"); err != nil {
		t.Skip("the SDK is not installed: npm ci --prefix internal/mcp/testdata/client")
	}
	p := program.Start(t, "")
	p.Shell(t, `{
	echo '{"type":"thread.message","thread_id":"mcp1","message_id":"m1","role":"user","content":"Which test fails?"}'
	printf '{"type":"tool.result","thread_id":"mcp1","message_id":"m2","tool_name":"bash","content":"'
	for i in $(seq 100); do printf 'ok  shop/cart\\n'; done
	echo '--- FAIL: TestTotal"}'
} | processor publish - --wait`)
	client := func(args ...string) string {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, "node", append([]string{"testdata/client/client.mjs"}, args...)...)
		var problems strings.Builder
		cmd.Stderr, cmd.Env = &problems, append(os.Environ(), "NATS_URL="+p.NATS)
		out, err := cmd.Output()
		if err != nil || strings.Contains(problems.String(), "Error") {
			t.Fatalf("%v: %v\n%s%s", args, err, out, problems.String())
		}
		return string(out)
	}
	stdio, http := client("stdio", p.Path, "mcp", "--thread", "mcp1"), client("http", p.API+"/mcp")
	for _, want := range []string{
		"server precis string\n", "tool read_original from_char,from_line,message_id,search,thread,to_line true\n", "tool search_thread max_matches,query,thread true\n",
		"tool explain_prompt ", "tool thread_status ",
		`call read_original {"message_id":"m2","from_line":101,"to_line":101} [false,"`, `101|--- FAIL: TestTotal`, `call read_original {"message_id":"nowhere"} [true,"`,
		`call search_thread {"query":"TestTotal"} [false,"1 line contains`, `call thread_status {} [false,"Thread mcp1`, `call read_original {"message_id":7} [true,"`,
	} {
		for way, got := range map[string]string{"stdio": stdio, "HTTP": http} {
			if !strings.Contains(got, want) {
				t.Errorf("over %s it lacks %q:\n%s", way, want, got)
			}
		}
	}
	other := `call thread_status {"thread":"other"}` // which only the first is not for
	if !strings.Contains(stdio, `for the thread \"mcp1\" alone`) {
		t.Errorf("it serves another thread:\n%s", stdio)
	}
	without := func(text string) string {
		before, after, _ := strings.Cut(text, other)
		_, after, _ = strings.Cut(after, "\n")
		return before + after
	}
	if without(stdio) != without(http) {
		t.Errorf("over stdio\n%s\nover HTTP\n%s", stdio, http)
	}
}

// The conformance suite of the protocol's own project finds nothing wrong with the server over HTTP.
func TestConformance(t *testing.T) {
	const validators = "../../.ci/validators"
	if _, err := os.Stat(validators + "/node_modules"); err != nil {
		t.Skip("the suite is not installed: npm ci --prefix .ci/validators")
	}
	p := program.Start(t, "")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, "node", validators+"/mcp.mjs", p.API+"/mcp").CombinedOutput()
	if err != nil || strings.Count(string(out), " passed\n") != 4 {
		t.Errorf("%v\n%s", err, out)
	}
}
