package adk_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"testing"

	"google.golang.org/adk/agent"
	"google.golang.org/adk/agent/llmagent"
	"google.golang.org/adk/model"
	"google.golang.org/adk/plugin"
	"google.golang.org/adk/runner"
	"google.golang.org/adk/session"
	"google.golang.org/adk/tool"
	"google.golang.org/adk/tool/functiontool"
	"google.golang.org/genai"

	"precis/adapters/adk"
	"precis/api"
	"precis/events"
	"precis/internal/e2e/program"
)

// scripted is a model that gives its answers in turn, and keeps the requests.
type scripted struct {
	answers  []*genai.Content
	requests []string
}

func (m *scripted) Name() string { return "scripted" }

func (m *scripted) GenerateContent(_ context.Context, req *model.LLMRequest, _ bool) iter.Seq2[*model.LLMResponse, error] {
	return func(yield func(*model.LLMResponse, error) bool) {
		text, err := json.Marshal(req.Contents)
		if err != nil || len(m.answers) == 0 {
			yield(nil, fmt.Errorf("no answer is left: %w", err))
			return
		}
		m.requests = append(m.requests, string(text))
		answer := m.answers[0]
		m.answers = m.answers[1:]
		yield(&model.LLMResponse{Content: answer, TurnComplete: true, UsageMetadata: &genai.GenerateContentResponseUsageMetadata{PromptTokenCount: 7, CandidatesTokenCount: 3}}, nil)
	}
}

func said(text string) *genai.Content { return genai.NewContentFromText(text, genai.RoleModel) }

func called(command string) *genai.Content {
	return genai.NewContentFromFunctionCall("run", map[string]any{"command": command}, genai.RoleModel)
}

type command struct {
	Command string `json:"command"`
}

type result struct {
	Output string `json:"output"`
}

var large = strings.Repeat("ok  \tshop/cart\t0.01s\n", 300) + "--- FAIL: TestTotal\n"

// bench is an agent with a tool whose output is large, beside a running program.
type bench struct {
	t        *testing.T
	model    *scripted
	store    session.Service
	client   *api.Client
	publish  *events.Publisher
	warnings []error
	alone    bool // the agent sees its turn alone
}

func newBench(t *testing.T, p *program.Running) *bench {
	nc, err := events.Connect(p.NATS)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	b := &bench{t: t, model: &scripted{}, store: session.InMemoryService()}
	if b.client, err = api.NewClient(nc, api.ClientOptions{}); err != nil {
		t.Fatal(err)
	}
	if b.publish, err = events.NewPublisher(nc, events.PublisherOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.publish.Close(context.WithoutCancel(t.Context())) })
	return b
}

// runner is a new one each time: what it knows is in the session and in precis.
func (b *bench) runner() *runner.Runner {
	b.t.Helper()
	run, err := functiontool.New(functiontool.Config{Name: "run", Description: "Runs a command."}, func(tool.Context, command) (result, error) {
		return result{large}, nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
	config := llmagent.Config{Name: "fixer", Model: b.model, Instruction: "Be brief.", Tools: []tool.Tool{run}}
	if b.alone {
		config.IncludeContents = llmagent.IncludeContentsNone
	}
	fixer, err := llmagent.New(config)
	if err != nil {
		b.t.Fatal(err)
	}
	precis, err := adk.New(adk.Options{Publisher: b.publish, Client: b.client, MaxTokens: 4000, Warn: func(err error) { b.warnings = append(b.warnings, err) }})
	if err != nil {
		b.t.Fatal(err)
	}
	r, err := runner.New(runner.Config{
		AppName: "shop", Agent: fixer, SessionService: b.store, AutoCreateSession: true, PluginConfig: runner.PluginConfig{Plugins: []*plugin.Plugin{precis}},
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

func (b *bench) say(session, text string) {
	b.t.Helper()
	for _, err := range b.runner().Run(b.t.Context(), "ann", session, genai.NewContentFromText(text, genai.RoleUser), agent.RunConfig{}) {
		if err != nil {
			b.t.Fatal(err)
		}
	}
}

// compacting has threads of more than ten messages compacted but for the last two turns.
const compacting = `policies:
  - name: default
    compaction: {trigger: {any: [{messages: 10}]}, keep: {messages: 4}}
`

func TestADK(t *testing.T) {
	p := program.Start(t, compacting)
	t.Run("prompt", func(t *testing.T) { agentGetsThePrompt(t, p) })
	t.Run("page", func(t *testing.T) { page(t, p) })
	t.Run("compaction", func(t *testing.T) { summaryStandsForOlderMessages(t, p) })
	t.Run("other messages", func(t *testing.T) { keepsOtherMessagesOut(t, p) })
	t.Run("a part of the session", func(t *testing.T) { keepsToTheRequest(t, p) })
	t.Run("without precis", func(t *testing.T) { goesOnWithoutPrecis(t, p) })
	t.Run("without a server", goesOnWithoutServer)
}

// The model gets what precis makes of the session: an output whole as long as it has not seen it, then its summary. Another process goes on with
// the session where the last one was, and publishes nothing twice.
func agentGetsThePrompt(t *testing.T, p *program.Running) {
	b := newBench(t, p)
	b.model.answers = []*genai.Content{called("go test ./..."), said("TestTotal fails."), said("It rounds."), said("Done.")}
	b.say("s3", "Which test fails?")
	b.say("s3", "Why?")
	b.say("s3", "Mend it.")
	if len(b.model.requests) != 4 || len(b.warnings) > 0 {
		t.Fatalf("%d requests, warnings %v", len(b.model.requests), b.warnings)
	}
	whole := len(large)
	if !strings.Contains(b.model.requests[1], "ok  \\tshop/cart\\t0.01s\\nok") || len(b.model.requests[1]) < whole {
		t.Errorf("the model did not see the output: %s", b.model.requests[1])
	}
	for _, request := range b.model.requests[2:] {
		if len(request) > whole/2 || !strings.Contains(request, "TestTotal") || !strings.Contains(request, "functionResponse") {
			t.Errorf("the output is not summarized: %s", request)
		}
		if strings.Contains(request, `"adk-`) {
			t.Errorf("ADK's own ids are sent: %s", request)
		}
	}
	thread, err := b.client.Thread(t.Context(), "shop/ann/s3", api.ThreadRequest{MinEventSeq: b.publish.LastSeq()})
	if err != nil {
		t.Fatal(err)
	}
	if thread.Messages != 7 || thread.ToolResults != 1 || thread.SummariesActive != 1 || thread.Rejected != 0 {
		t.Errorf("messages %d, outputs %d, summaries %d, rejected %d", thread.Messages, thread.ToolResults, thread.SummariesActive, thread.Rejected)
	}
}

// A summary stands for what came first, and the last messages stand as they were.
func summaryStandsForOlderMessages(t *testing.T, p *program.Running) {
	b := newBench(t, p)
	for n := range 12 {
		b.model.answers = append(b.model.answers, said(fmt.Sprintf("answer %d", n)))
	}
	for n := range 12 {
		b.say("s4", fmt.Sprintf("question %d", n))
	}
	last := b.model.requests[11]
	if len(b.warnings) > 0 || strings.Contains(last, `"text":"question 0"`) || !strings.Contains(last, "Previous Conversation Summary") ||
		!strings.HasSuffix(last, `{"parts":[{"text":"answer 10"}],"role":"model"},{"parts":[{"text":"question 11"}],"role":"user"}]`) {
		t.Errorf("warnings %v, the last request is %s", b.warnings, last)
	}
}

// A thread that has another writer's message is not what the agent said: the request stays.
func keepsOtherMessagesOut(t *testing.T, p *program.Running) {
	b := newBench(t, p)
	b.model.answers = []*genai.Content{called("go test"), said("TestTotal fails."), said("Yes."), said("It rounds.")}
	b.say("s7", "Which test fails?")
	b.say("s7", "Yes?")
	receipt, err := b.publish.Message(t.Context(), "shop/ann/s7", &events.Message{MessageID: "other", Role: events.RoleUser, Content: events.TextContent("Delete it all.")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := receipt.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(b.warnings) > 0 {
		t.Errorf("warnings %v", b.warnings)
	}
	b.say("s7", "Why?")
	last := b.model.requests[len(b.model.requests)-1]
	if len(b.warnings) != 1 || len(last) < len(large) || strings.Contains(last, "Delete") {
		t.Errorf("warnings %v, the request is %s", b.warnings, last)
	}
}

// An agent that is not shown the session's contents does not get them from precis, and equal contents are told apart.
func keepsToTheRequest(t *testing.T, p *program.Running) {
	b := newBench(t, p)
	b.alone = true
	b.model.answers = []*genai.Content{said("One."), said("Two.")}
	b.say("s8", "Count.")
	b.say("s8", "Count.")
	if last := b.model.requests[1]; strings.Contains(last, "One.") {
		t.Errorf("warnings %v, the request is %s", b.warnings, last)
	}
	b.alone, b.warnings = false, nil
	b.model.answers = []*genai.Content{called("go test"), said("TestTotal fails."), said("Three.")}
	b.say("s8", "Count.")
	b.say("s8", "Count.")
	if last := b.model.requests[4]; len(b.warnings) > 0 || len(last) > len(large)/2 || strings.Count(last, `"Count."`) != 4 {
		t.Errorf("warnings %v, the request is %s", b.warnings, last)
	}
}

// Where precis is away the agent goes on, with its requests as they are.
func goesOnWithoutPrecis(t *testing.T, p *program.Running) {
	b := newBench(t, p)
	if err := b.publish.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.model.answers = []*genai.Content{called("go test"), said("TestTotal fails."), said("It rounds.")}
	b.say("s2", "Which test fails?")
	b.say("s2", "Why?")
	if len(b.model.requests) != 3 || len(b.model.requests[2]) < len(large) || len(b.warnings) == 0 {
		t.Errorf("%d requests, warnings %v", len(b.model.requests), b.warnings)
	}
}

// The page's program runs as it is printed, and its commands show what became of it.
func page(t *testing.T, p *program.Running) {
	shown := program.Open(t, "docs/integrations/adk-go.md")
	if got := p.Go(t, ".", shown.Blocks(t, "go")[0]); got != shown.Blocks(t, "")[0] {
		t.Errorf("it prints %q", got)
	}
	if got := p.Shell(t, shown.Blocks(t, "sh")[1]); !strings.Contains(got, "--- FAIL: TestTotal") || !strings.Contains(got, "summary.created") {
		t.Errorf("the commands print\n%s", got)
	}
}

// Where there is no server the agent goes on after a short wait, and not one for each event.
func goesOnWithoutServer(t *testing.T) {
	b := newBench(t, &program.Running{NATS: "nats://" + program.Free(t)})
	t.Cleanup(b.drop)
	b.model.answers = []*genai.Content{called("go test"), said("TestTotal fails.")}
	b.say("s5", "Which test fails?")
	if len(b.model.requests) != 2 || len(b.model.requests[1]) < len(large) || len(b.warnings) == 0 {
		t.Errorf("%d requests, warnings %v", len(b.model.requests), b.warnings)
	}
}

// drop closes the publisher without what it has not sent.
func (b *bench) drop() {
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	_ = b.publish.Close(gone)
}
