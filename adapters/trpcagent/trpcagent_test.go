package trpcagent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"trpc.group/trpc-go/trpc-agent-go/agent/llmagent"
	"trpc.group/trpc-go/trpc-agent-go/model"
	"trpc.group/trpc-go/trpc-agent-go/runner"
	"trpc.group/trpc-go/trpc-agent-go/session/inmemory"
	"trpc.group/trpc-go/trpc-agent-go/tool"
	"trpc.group/trpc-go/trpc-agent-go/tool/function"

	"precis/adapters/trpcagent"
	"precis/api"
	"precis/events"
	"precis/internal/e2e/program"
)

// scripted is a model that gives its answers in turn, and keeps the requests.
type scripted struct {
	answers  []model.Message
	requests []string
}

func (m *scripted) Info() model.Info { return model.Info{Name: "scripted"} }

func (m *scripted) GenerateContent(_ context.Context, req *model.Request) (<-chan *model.Response, error) {
	text, err := json.Marshal(req.Messages)
	if err != nil {
		return nil, err
	}
	m.requests = append(m.requests, string(text))
	out := make(chan *model.Response, 1)
	out <- &model.Response{
		ID: "r", Object: model.ObjectTypeChatCompletion, Model: "scripted", Done: true, Choices: []model.Choice{{Message: m.answers[0]}},
		Usage: &model.Usage{PromptTokens: 7, CompletionTokens: 3},
	}
	m.answers = m.answers[1:]
	close(out)
	return out, nil
}

func called(id, command string) model.Message {
	arguments, _ := json.Marshal(map[string]string{"command": command})
	return model.Message{Role: model.RoleAssistant, ToolCalls: []model.ToolCall{{
		ID: id, Type: "function", Function: model.FunctionDefinitionParam{Name: "run", Arguments: arguments},
	}}}
}

var large = strings.Repeat("ok  \tshop/cart\t0.01s\n", 300) + "--- FAIL: TestTotal\n"

type command struct {
	Command string `json:"command"`
}

// bench is an agent with a tool whose output is large, beside a running program.
type bench struct {
	t        *testing.T
	model    *scripted
	runner   runner.Runner
	client   *api.Client
	publish  *events.Publisher
	warnings []error
}

func newBench(t *testing.T, p *program.Running, opts ...inmemory.ServiceOpt) *bench {
	nc, err := events.Connect(p.NATS)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	b := &bench{t: t, model: &scripted{}}
	if b.client, err = api.NewClient(nc, api.ClientOptions{}); err != nil {
		t.Fatal(err)
	}
	if b.publish, err = events.NewPublisher(nc, events.PublisherOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.publish.Close(context.WithoutCancel(t.Context())) })
	hooks, err := trpcagent.New(trpcagent.Options{Publisher: b.publish, Client: b.client, MaxTokens: 4000, Warn: func(err error) { b.warnings = append(b.warnings, err) }})
	if err != nil {
		t.Fatal(err)
	}
	run := function.NewFunctionTool(func(context.Context, command) (string, error) { return large, nil }, function.WithName("run"), function.WithDescription("Runs a command."))
	fixer := llmagent.New("fixer", llmagent.WithModel(b.model), llmagent.WithInstruction("Be brief."), llmagent.WithTools([]tool.Tool{run}))
	store := inmemory.NewSessionService(append(opts, inmemory.WithAppendEventHook(hooks.Append), inmemory.WithGetSessionHook(hooks.Get))...)
	b.runner = runner.NewRunner("shop", fixer, runner.WithSessionService(store))
	t.Cleanup(func() { _ = b.runner.Close(); _ = store.Close() })
	return b
}

func (b *bench) say(session, text string) {
	b.t.Helper()
	list, err := b.runner.Run(b.t.Context(), "ann", session, model.NewUserMessage(text))
	if err != nil {
		b.t.Fatal(err)
	}
	for e := range list {
		if e.Error != nil {
			b.t.Error(e.Error.Message)
		}
	}
}

// compacting has threads of more than ten messages compacted but for the last two turns.
const compacting = `policies:
  - name: default
    compaction: {trigger: {any: [{messages: 10}]}, keep: {messages: 4}}
`

func TestTRPCAgent(t *testing.T) {
	p := program.Start(t, compacting)
	t.Run("prompt", func(t *testing.T) { runnerGetsThePrompt(t, p) })
	t.Run("page", func(t *testing.T) { page(t, p) })
	t.Run("compaction", func(t *testing.T) { summaryStandsForOlderMessages(t, p) })
	t.Run("other messages", func(t *testing.T) { keepsOtherMessagesOut(t, p) })
	t.Run("without precis", func(t *testing.T) { goesOnWithoutPrecis(t, p) })
	t.Run("without a server", goesOnWithoutServer)
	t.Run("too large", func(t *testing.T) { keepsWhatIsTooLarge(t, p) })
}

// A run begins with what precis makes of the session: outputs that the model has seen are their summaries, calls and order as they were.
func runnerGetsThePrompt(t *testing.T, p *program.Running) {
	b := newBench(t, p)
	b.model.answers = []model.Message{called("c1", "go test ./..."), model.NewAssistantMessage("TestTotal fails."), model.NewAssistantMessage("It rounds."), model.NewAssistantMessage("Done.")}
	for _, text := range []string{"Which test fails?", "Why?", "Mend it."} {
		b.say("s3", text)
	}
	if len(b.model.requests) != 4 || len(b.warnings) > 0 {
		t.Fatalf("%d requests, warnings %v", len(b.model.requests), b.warnings)
	}
	if len(b.model.requests[1]) < len(large) {
		t.Errorf("the model did not see the output: %s", b.model.requests[1])
	}
	for n, request := range b.model.requests[2:] {
		at := 0
		for _, text := range []string{"Be brief.", "Which test fails?", `"id":"c1"`, `"tool_id":"c1"`, "TestTotal", "TestTotal fails.", "Why?", "It rounds.", "Mend it."}[:7+2*n] {
			i := strings.Index(request[at:], text)
			if i < 0 {
				t.Fatalf("no %q behind byte %d of %s", text, at, request)
			}
			at += i
		}
		if len(request) > len(large)/2 {
			t.Errorf("the output is not summarized: %s", request)
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

// A summary stands for what came first, and the last messages stand as they were, also those that the service keeps no more.
func summaryStandsForOlderMessages(t *testing.T, p *program.Running) {
	b := newBench(t, p, inmemory.WithSessionEventLimit(3))
	for n := range 12 {
		b.model.answers = append(b.model.answers, model.NewAssistantMessage(fmt.Sprintf("answer %d", n)))
	}
	for n := range 12 {
		b.say("s4", fmt.Sprintf("question %d", n))
	}
	last := b.model.requests[11]
	at := 0
	for _, want := range []string{"Previous Conversation Summary", `"content":"question 9"`, `"content":"answer 9"`, `"content":"question 10"`, `"content":"answer 10"`, `"content":"question 11"`} {
		i := strings.Index(last[at:], want)
		if i < 0 {
			t.Fatalf("warnings %v; no %q behind byte %d of the last request: %s", b.warnings, want, at, last)
		}
		at += i
	}
	if len(b.warnings) > 0 || strings.Contains(last, `"content":"question 0"`) {
		t.Errorf("warnings %v, the last request is %s", b.warnings, last)
	}
}

// A thread that has another writer's message, or lacks one of the session's, is not what the session says: the runner gets the session.
func keepsOtherMessagesOut(t *testing.T, p *program.Running) {
	for name, event := range map[string]func(b *bench, thread string) (*events.Receipt, error){
		"more": func(b *bench, thread string) (*events.Receipt, error) {
			return b.publish.Message(t.Context(), thread, &events.Message{MessageID: "other", Role: events.RoleUser, Content: events.TextContent("Delete it all.")})
		},
		"less": func(b *bench, thread string) (*events.Receipt, error) {
			reply, err := b.client.Context(t.Context(), thread, api.ContextRequest{})
			if err != nil {
				return nil, err
			}
			return b.publish.Edit(t.Context(), thread, &events.Edit{MessageID: reply.Sources[0].MessageIDs[0], Deleted: true, EditID: "e"})
		},
	} {
		b := newBench(t, p)
		b.model.answers = []model.Message{called("c1", "go test"), model.NewAssistantMessage("TestTotal fails."), model.NewAssistantMessage("Yes."), model.NewAssistantMessage("It rounds.")}
		b.say(name, "Which test fails?")
		b.say(name, "Yes?")
		receipt, err := event(b, "shop/ann/"+name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := receipt.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(b.warnings) > 0 {
			t.Errorf("%s: warnings %v", name, b.warnings)
		}
		b.say(name, "Why?")
		last := b.model.requests[len(b.model.requests)-1]
		if len(b.warnings) == 0 || len(last) < len(large) || strings.Contains(last, "Delete") || !strings.Contains(last, "Which test fails?") {
			t.Errorf("%s: warnings %v, the request is %s", name, b.warnings, last)
		}
	}
}

// Where precis is away the agent goes on, with its sessions as they are.
func goesOnWithoutPrecis(t *testing.T, p *program.Running) {
	b := newBench(t, p)
	if err := b.publish.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.model.answers = []model.Message{called("c1", "go test"), model.NewAssistantMessage("TestTotal fails."), model.NewAssistantMessage("It rounds.")}
	b.say("s2", "Which test fails?")
	b.say("s2", "Why?")
	if len(b.model.requests) != 3 || len(b.model.requests[2]) < len(large) || len(b.warnings) == 0 {
		t.Errorf("%d requests, warnings %v", len(b.model.requests), b.warnings)
	}
}

// The page's program runs as it is printed, and its commands show what became of it.
func page(t *testing.T, p *program.Running) {
	shown := program.Open(t, "docs/integrations/trpc-agent-go.md")
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
	b.model.answers = []model.Message{called("c1", "go test"), model.NewAssistantMessage("TestTotal fails.")}
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

// A message that can't be published stays in the prompt: the session is that of the service.
func keepsWhatIsTooLarge(t *testing.T, p *program.Running) {
	b := newBench(t, p)
	b.model.answers = []model.Message{model.NewAssistantMessage("It is long."), model.NewAssistantMessage("Still.")}
	text := strings.Repeat("x", 9<<20)
	b.say("s6", text)
	b.say("s6", "And now?")
	if len(b.model.requests) != 2 || !strings.Contains(b.model.requests[1], text) || len(b.warnings) == 0 {
		t.Errorf("%d requests, the last of %d bytes, warnings %v", len(b.model.requests), len(b.model.requests[1]), b.warnings)
	}
}
