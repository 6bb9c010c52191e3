package rest

import (
	"context"
	"fmt"
	"net/http"
	"sync"

	"github.com/go-json-experiment/json"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"precis/api"
	"precis/internal/mcp"
	"precis/internal/service"
)

// mcpPath has the tools of package mcp, over streamable HTTP without sessions: each request is answered by itself.
const mcpPath = "/mcp"

// maxMCPBody bounds a call; the tools take ids and short texts.
const maxMCPBody = 1 << 20

// tools are the MCP servers, by the prefix of the threads that a token is for.
type tools struct {
	handler http.Handler

	mu sync.Mutex
	of map[string]*sdk.Server
}

type whoKey struct{}

func (s *Server) newTools(version string) *tools {
	t := &tools{of: map[string]*sdk.Server{}}
	t.handler = sdk.NewStreamableHTTPHandler(func(r *http.Request) *sdk.Server {
		who, _ := r.Context().Value(whoKey{}).(*token)
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.of[who.threads] == nil {
			t.of[who.threads] = mcp.New(mcp.Options{Asker: inProcess{s, who}, Prefix: who.threads, Version: version})
		}
		return t.of[who.threads]
	}, &sdk.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true,
		DisableLocalhostProtection: true, // guard does it where there are no tokens
	})
	return t
}

func (s *Server) postMCP(w http.ResponseWriter, r *asking) error {
	r.Body = http.MaxBytesReader(w, r.Body, maxMCPBody)
	s.tools.handler.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), whoKey{}, r.who)))
	return nil
}

// inProcess answers what tools ask by the service.
type inProcess struct {
	s   *Server
	who *token
}

func (p inProcess) Thread(ctx context.Context, thread string, req api.ThreadRequest) (*api.ThreadReply, error) {
	reply, err := askInProcess[api.ThreadReply](ctx, p, api.ThreadGet, thread, req)
	if err == nil {
		p.who.unname(reply)
	}
	return reply, err
}

func (p inProcess) Context(ctx context.Context, thread string, req api.ContextRequest) (*api.ContextReply, error) {
	return askInProcess[api.ContextReply](ctx, p, api.ThreadContext, thread, req)
}

func (p inProcess) Message(ctx context.Context, thread string, req api.MessageRequest) (*api.MessageReply, error) {
	return askInProcess[api.MessageReply](ctx, p, api.MessageGet, thread, req)
}

func (p inProcess) Summary(ctx context.Context, id string) (*api.SummaryReply, error) {
	return askInProcess[api.SummaryReply](ctx, p, api.SummaryGet, id, api.SummaryRequest{})
}

func askInProcess[Reply any](ctx context.Context, p inProcess, subject, id string, req any) (*Reply, error) {
	body, err := json.Marshal(req)
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", subject+id, err)
	}
	answer, fault := p.s.opts.Service.Ask(ctx, service.Asked{Subject: subject, ID: id, Body: body, Client: "mcp " + p.who.name})
	if fault != nil {
		return nil, &api.Error{Code: fault.Status(), Message: fault.Message, RetryAfter: fault.RetryAfter()}
	}
	reply := new(Reply)
	if err := json.Unmarshal(answer, reply); err != nil {
		return nil, fmt.Errorf("ask %s: %w", subject+id, err)
	}
	return reply, nil
}
