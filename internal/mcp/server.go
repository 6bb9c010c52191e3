package mcp

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"precis/api"
)

// Asker answers requests about threads, as *api.Client does.
type Asker interface {
	Thread(ctx context.Context, thread string, req api.ThreadRequest) (*api.ThreadReply, error)
	Context(ctx context.Context, thread string, req api.ContextRequest) (*api.ContextReply, error)
	Message(ctx context.Context, thread string, req api.MessageRequest) (*api.MessageReply, error)
	Summary(ctx context.Context, id string) (*api.SummaryReply, error)
}

// Options of a server.
type Options struct {
	Asker   Asker
	Thread  string // the only one; empty: each call names one
	Prefix  string // of the ids of the threads that calls may name
	Version string // of the program
}

// maxText bounds what a tool says, in characters: some 6,000 tokens.
const maxText = 24_000

const instructions = `precis keeps an agent's conversation small: long tool outputs stand as summaries, older messages as a compaction. A mark such as
[… 41 lines; message m12] says that something is not shown: read_original shows it. search_thread finds what was said earlier in the thread.`

// New returns a server with the tools. It can serve any number of sessions.
func New(o Options) *sdk.Server {
	s := &server{o}
	m := sdk.NewServer(&sdk.Implementation{Name: "precis", Title: "precis", Version: o.Version}, &sdk.ServerOptions{
		Instructions: instructions, Capabilities: &sdk.ServerCapabilities{},
	})
	known := arguments{}
	add(m, known, "read_original", "Read the original of a message or tool output that stands shortened in the conversation, by the id in its mark. "+
		"Without lines it begins at the first; search shows only the lines around a text.", s.readOriginal)
	add(m, known, "search_thread", "Search every message, tool output and call of the thread for a text, the newest first, also what summaries stand for. "+
		"Returns message ids with the lines that contain it.", s.searchThread)
	add(m, known, "explain_prompt", "Say what the thread's compacted prompt is made of: tokens by part, the summaries and what each stands for, what is left out and why.", s.explainPrompt)
	add(m, known, "thread_status", "Show a thread's counters: messages, tokens before and after summaries, summaries in the making, cost.", s.threadStatus)
	m.AddReceivingMiddleware(known.check)
	return m
}

type server struct{ Options }

// add adds a tool that reads, and says text.
func add[In any](m *sdk.Server, known arguments, name, description string, say func(context.Context, In) (string, error)) {
	known.add(name, reflect.TypeFor[In]())
	closed := false
	tool := &sdk.Tool{Name: name, Description: description, Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: &closed}}
	sdk.AddTool(m, tool, func(ctx context.Context, _ *sdk.CallToolRequest, in In) (*sdk.CallToolResult, any, error) {
		text, err := say(ctx, in)
		if err != nil {
			return nil, nil, told(err)
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}, nil, nil
	})
}

// told is an error in words for a model.
func told(err error) error {
	var e *api.Error
	switch {
	case errors.As(err, &e):
		return errors.New(e.Message)
	case errors.Is(err, api.ErrNoProcessor):
		return errors.New("no processor answers; the user has to start one (processor run)")
	case errors.Is(err, context.DeadlineExceeded):
		return errors.New("precis did not answer in time; try again")
	}
	return err
}

// threadOf returns the thread of a call.
func (s *server) threadOf(named string) (string, error) {
	switch {
	case s.Thread != "" && (named == "" || named == s.Thread):
		return s.Thread, nil
	case s.Thread != "":
		return "", fmt.Errorf("this server is for the thread %q alone: leave thread out", s.Thread)
	case named == "":
		return "", errors.New("thread is missing: give the thread's id")
	case !strings.HasPrefix(named, s.Prefix):
		return "", fmt.Errorf("this server is for threads that begin with %q, and %q does not", s.Prefix, named)
	}
	return named, nil
}

// within ends a text where it is too long.
func within(text string) string {
	if len(text) <= maxText {
		return text
	}
	runes := []rune(text)
	if len(runes) <= maxText {
		return text
	}
	return string(runes[:maxText]) + "\n(more is not shown)"
}
