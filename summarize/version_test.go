package summarize_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"os"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"precis/events"
	"precis/internal/secrets"
	"precis/internal/secrets/samples"
	"precis/summarize/ledger"
	"precis/summarize/llm"
	"precis/summarize/rules"
	"precis/summarize/tokens"
)

// versionsFile pairs each version of the rules with a digest of their results on a fixed corpus.
const versionsFile = "testdata/rules_versions.txt"

// A version of the rules stands for their exact bytes, which a replay relies on. So bytes must not change within one:
// neither summaries, nor masks of secrets, nor token counts, nor requests to models.
func TestRulesVersionFollowsTheBytes(t *testing.T) {
	text, err := os.ReadFile(versionsFile)
	if err != nil {
		t.Fatal(err)
	}
	digest, known := corpusDigest(t), map[string]string{}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) == 2 {
			known[fields[0]] = fields[1]
		}
	}
	switch was, ok := known[rules.Version]; {
	case !ok:
		t.Errorf("%s has no digest in %s; add the line\n%s %s", rules.Version, versionsFile, rules.Version, digest)
	case was != digest:
		t.Errorf(`%s makes other bytes than before: a replay would take records of an earlier build for forged.
Raise rules.Version, and add the new version and its digest to %s (keep the old line):
%s`, rules.Version, versionsFile, digest)
	}
}

func corpusDigest(t *testing.T) string {
	masker, err := secrets.Load()
	if err != nil {
		t.Fatal(err)
	}
	r, sum := samples.New(1), sha256.New()
	var texts []string
	for _, k := range samples.Kinds() {
		s := k.Draw(r)
		put(sum, masker.Mask(s.Text()))
	}
	for _, text := range samples.LookAlikes(r) {
		put(sum, masker.Mask(text))
	}
	for _, o := range outputs() {
		content := o.content
		for _, limit := range []int{120, 400, 1500} {
			for _, failed := range []bool{false, true} {
				code := 0
				if failed {
					code = 2
				}
				out := rules.ToolOutput(rules.Input{
					MessageID: "m1", ToolName: o.tool, Arguments: []byte(`{"path":"src/store/open.go","command":"make check"}`), Content: content,
					IsError: &failed, ExitCode: &code, MaxChars: limit, PreserveErrors: true, IncludeMetadata: true,
					Earlier: []string{"the store does not open: see Reopen in src/store/open.go"},
				})
				tool, err := json.Marshal(out.Tool, json.Deterministic(true))
				if err != nil {
					t.Fatal(err)
				}
				put(sum, out.Text, string(tool), rules.HeadTail(content, rules.Category(out.Tool.Category), limit, rules.Original("", "m1")))
				texts = append(texts, out.Text)
			}
		}
		texts = append(texts, content)
	}
	list := conversation()
	l := ledger.Collect(list).Trim()
	data, err := l.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	put(sum, string(data))
	again := ledger.Join([]ledger.Ledger{l, ledger.Collect(list[4:])})
	for _, chars := range []int{200, 800, 4000} {
		texts = append(texts, l.Text(chars), again.Text(chars))
		put(sum, l.Text(chars), again.Text(chars), ledger.Render(l, "What a model said.", chars))
	}
	prompts, err := llm.NewPrompts(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{events.KindToolResult, events.KindCompaction, events.KindHistory} {
		for _, category := range append([]string{""}, categories...) {
			put(sum, prompts.For(kind, category).Version())
		}
	}
	texts = append(texts, "naïve café — 漢字かな交じり文 🙂 Ελληνικά", strings.Repeat("x", 300), "if (a<=b){return a[0]++;}\n\t\t// 12345.678")
	for _, name := range tokens.Names() {
		counter, err := tokens.For(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range texts {
			put(sum, fmt.Sprint(name, counter.Count(text)))
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// put writes texts with their lengths, so that no two run together.
func put(sum hash.Hash, texts ...string) {
	for _, text := range texts {
		fmt.Fprintf(sum, "%d:%s", len(text), text)
	}
}

var categories = []string{
	string(rules.FileContent), string(rules.SearchResults), string(rules.DirectoryListing), string(rules.CommandOutput),
	string(rules.StructuredData), string(rules.WebContent), string(rules.WriteResult), string(rules.Other),
}

type output struct{ tool, content string }

// outputs are synthetic tool outputs of every category.
func outputs() []output {
	lines := func(n int, line func(i int) string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(line(i) + "\n")
		}
		return b.String()
	}
	code := lines(60, func(i int) string {
		return fmt.Sprintf("// Reopen%d reads segment %d.\nfunc (s *Store) Reopen%d(name string) error {\n\treturn s.read(name, %d)\n}\n", i, i, i, i*7)
	})
	return []output{
		{"read_file", "package store\n\nimport \"errors\"\n\n" + code},
		{"read_file", lines(80, func(i int) string { return fmt.Sprintf("%4d\tkey_%d: value of setting %d", i+1, i, i*3) })},
		{"grep", lines(70, func(i int) string {
			return fmt.Sprintf("src/mod%d/open.go:%d: return fmt.Errorf(\"open segment %d: %%w\", err)", i%9, i*11, i)
		})},
		{"list_directory", lines(90, func(i int) string {
			return fmt.Sprintf("-rw-r--r-- 1 app app %d Jan %2d 10:00 file_%d.go", i*131, i%28+1, i)
		})},
		{"bash", lines(50, func(i int) string {
			return fmt.Sprintf("=== RUN   TestOpen%d\n--- PASS: TestOpen%d (0.%02ds)", i, i, i)
		}) +
			"--- FAIL: TestReopen (0.20s)\n    store_test.go:41: got 3 segments, want 4\npanic: runtime error: index out of range [3] with length 3\n\tsrc/store/open.go:88 +0x1d\nFAIL\texample/store\t2.31s\nexit status 1\n"},
		{"bash", lines(120, func(i int) string {
			return fmt.Sprintf("2026-01-02T10:%02d:%02d.%03dZ INFO request id=%d path=/v1/items/%d status=%d took=%dms", i/60, i%60, i*7%1000, i, i%13, 200+i%3*100, i%400)
		})},
		{"query", "[" + strings.TrimSuffix(strings.ReplaceAll(lines(60, func(i int) string {
			return fmt.Sprintf(`{"id":%d,"name":"item %d","price":%d.5,"tags":["a%d","b"],"ok":%t}`, i, i, i*3, i%5, i%4 > 0)
		}), "\n", ","), ",") + "]"},
		{"query", "id,name,total\n" + lines(80, func(i int) string { return fmt.Sprintf("%d,customer %d,%d.25", i, i, i*17) })},
		{"web_fetch", "<html><head><title>Segments</title><script>var a=1</script></head><body><h1>Segments &amp; files</h1>" +
			lines(40, func(i int) string {
				return fmt.Sprintf(`<p>Segment %d holds <a href="/docs/%d">%d records</a> &lt;each&gt;.</p>`, i, i, i*1000)
			}) + "</body></html>"},
		{"write_file", "The file src/store/open.go has been written: 214 lines, 3 hunks.\n" + lines(30, func(i int) string { return fmt.Sprintf("@@ -%d +%d @@\n-old line %d\n+new line %d", i, i, i, i) })},
		{"think", lines(40, func(i int) string {
			return fmt.Sprintf("Step %d: the store keeps a manifest, and segment %d names it.", i, i)
		})},
		{"run", `{"output":"=== RUN   TestOpen\n` + strings.Repeat(`--- PASS: TestOpen (0.01s)\n`, 40) + `--- FAIL: TestReopen (0.20s)\n","exit_code":1,"seconds":2.3}`},
		{"", "café 漢字 🙂 " + strings.Repeat("naïve ", 200)},
	}
}

// conversation is a thread with a task, decisions, calls, failures and files.
func conversation() []ledger.Message {
	say := func(role, text string) *events.Message {
		return &events.Message{Role: role, Content: events.TextContent(text)}
	}
	call := func(id, name, args string) *events.Message {
		return &events.Message{Role: events.RoleAssistant, Content: events.TextContent("I look."), ToolCalls: []events.ToolCall{{ID: id, Name: name, Arguments: []byte(args)}}}
	}
	result := func(id, name, text string, failed bool) *events.Message {
		return &events.Message{Role: events.RoleTool, ToolCallID: id, ToolName: name, Content: events.TextContent(text), IsError: &failed}
	}
	list := []*events.Message{
		say(events.RoleSystem, "You keep the store of example.com running."),
		say(events.RoleUser, "The store does not open after a crash. Please find out why; do not change the format of segments."),
		call("c1", "read_file", `{"path":"src/store/open.go"}`),
		result("c1", "read_file", outputs()[0].content, false),
		call("c2", "bash", `{"command":"go test ./src/store -run TestReopen"}`),
		result("c2", "bash", outputs()[4].content, true),
		say(events.RoleAssistant, "Decision: Reopen reads the manifest first, since a segment may be missing. TODO: a test for an empty manifest."),
		say(events.RoleUser, "Good. Never delete a segment, and use port 8443 for the check."),
		call("c3", "write_file", `"{\"path\":\"src/store/open.go\",\"content\":\"package store\"}"`),
		result("c3", "write_file", outputs()[9].content, false),
		say(events.RoleAssistant, "Done: commit 3f786850e387550fdab836ed7e6dc881de23001b, version 1.4.2."),
	}
	var messages []ledger.Message
	for i, m := range list {
		m.MessageID = fmt.Sprintf("m%d", i+1)
		messages = append(messages, ledger.Message{Ordinal: uint64(i + 1), Message: m})
	}
	return messages
}
