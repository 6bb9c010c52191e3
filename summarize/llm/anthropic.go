package llm

import (
	"context"
	"strings"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
)

type claude struct {
	client    anthropic.Client
	transport transport
	now       func() time.Time
}

// newAnthropic takes nothing from the environment: which key and which address are used is the
// configuration's to say.
func newAnthropic(c ProviderConfig, now func() time.Time) *claude {
	t := newTransport()
	options := []option.RequestOption{
		option.WithoutEnvironmentDefaults(),
		option.WithHTTPClient(t.client()),
		option.WithMaxRetries(0),
		option.WithAPIKey(c.APIKey),
	}
	if c.BaseURL != "" {
		options = append(options, option.WithBaseURL(strings.TrimSuffix(strings.TrimRight(c.BaseURL, "/"), "/v1")+"/"))
	}
	return &claude{client: anthropic.NewClient(options...), transport: t, now: now}
}

func (p *claude) Complete(ctx context.Context, req Request) (Reply, error) {
	start := p.now()
	var w wire
	answer, err := p.client.Messages.New(observed(ctx, &w), anthropic.MessageNewParams{
		Model:     anthropic.Model(req.Model),
		MaxTokens: int64(req.MaxTokens + thinkingRoom(req.Model)),
		System:    []anthropic.TextBlockParam{{Text: req.System}},
		Messages:  []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(req.User))},
	})
	if err == nil && answer == nil { // the body was null
		err = errNoChoice
	}
	if err != nil {
		return Reply{}, classify(ctx, &w, err, p.now())
	}
	return Reply{
		Text:         textOf(answer),
		FinishReason: claudeFinish(answer.StopReason),
		Usage:        claudeUsage(answer.Usage),
		Model:        string(answer.Model),
		Latency:      p.now().Sub(start),
	}, nil
}

func textOf(m *anthropic.Message) string {
	var b strings.Builder
	for _, block := range m.Content {
		if block.Type == "text" {
			b.WriteString(block.Text)
		}
	}
	return b.String()
}

func claudeFinish(r anthropic.StopReason) FinishReason {
	switch r {
	case anthropic.StopReasonEndTurn, anthropic.StopReasonStopSequence:
		return FinishStop
	case anthropic.StopReasonMaxTokens, anthropic.StopReasonModelContextWindowExceeded:
		return FinishLength
	case anthropic.StopReasonRefusal:
		return FinishRefusal
	}
	return FinishOther
}

// claudeUsage adds up the input: Anthropic counts what its cache served and took apart from the rest.
func claudeUsage(u anthropic.Usage) Usage {
	return Usage{
		InputTokens:       u.InputTokens + u.CacheReadInputTokens + u.CacheCreationInputTokens,
		OutputTokens:      u.OutputTokens,
		CachedInputTokens: u.CacheReadInputTokens,
		CacheWriteTokens:  u.CacheCreationInputTokens,
		Source:            FromProvider,
	}
}

func (p *claude) Close() { p.transport.close() }
