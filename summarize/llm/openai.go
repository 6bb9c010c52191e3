package llm

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"time"

	openai "github.com/sashabaranov/go-openai"
)

// azureAPIVersion is the last one with a general release; a base URL may name another.
const azureAPIVersion = "2024-10-21"

var errNoChoice = errors.New("answer without a choice")

type openAI struct {
	client    *openai.Client
	transport transport
	official  bool // speaks the current API, in which max_tokens has a new name
	now       func() time.Time
}

func newOpenAI(c ProviderConfig, now func() time.Time) *openAI {
	t := newTransport()
	config := openAIConfig(c)
	config.HTTPClient = t.client()
	official := c.BaseURL == "" || config.APIType == openai.APITypeAzure || strings.Contains(c.BaseURL, "://api.openai.com")
	return &openAI{client: openai.NewClientWithConfig(config), transport: t, official: official, now: now}
}

// openAIConfig tells Azure's older addresses, which name a deployment and a version, by their host.
// Azure's newer ones (…/openai/v1) speak plain OpenAI.
func openAIConfig(c ProviderConfig) openai.ClientConfig {
	config := openai.DefaultConfig(c.APIKey)
	if c.BaseURL == "" {
		return config
	}
	config.BaseURL = strings.TrimRight(c.BaseURL, "/")
	u, err := url.Parse(c.BaseURL)
	if err != nil || !strings.HasSuffix(u.Hostname(), ".openai.azure.com") || strings.Contains(u.Path, "/v1") {
		return config
	}
	config = openai.DefaultAzureConfig(c.APIKey, u.Scheme+"://"+u.Host)
	config.AzureModelMapperFunc = func(deployment string) string { return deployment }
	config.APIVersion = azureAPIVersion
	if v := u.Query().Get("api-version"); v != "" {
		config.APIVersion = v
	}
	return config
}

func (p *openAI) Complete(ctx context.Context, req Request) (Reply, error) {
	start := p.now()
	var w wire
	answer, err := p.client.CreateChatCompletion(observed(ctx, &w), p.request(req))
	usage := openAIUsage(answer.Usage)
	if err == nil && len(answer.Choices) == 0 {
		if usage.known() { // an answer that is charged and has no text: it is refused, not asked for again
			return Reply{FinishReason: FinishOther, Usage: usage, Model: answer.Model, Latency: p.now().Sub(start)}, nil
		}
		err = errNoChoice
	}
	if err != nil {
		return Reply{}, classify(ctx, &w, err, p.now())
	}
	choice := answer.Choices[0]
	return Reply{
		Text:         choice.Message.Content,
		FinishReason: openAIFinish(choice),
		Usage:        usage,
		Model:        answer.Model,
		Latency:      p.now().Sub(start),
	}, nil
}

func (p *openAI) request(req Request) openai.ChatCompletionRequest {
	r := openai.ChatCompletionRequest{
		Model: req.Model,
		Messages: []openai.ChatCompletionMessage{
			{Role: openai.ChatMessageRoleSystem, Content: req.System},
			{Role: openai.ChatMessageRoleUser, Content: req.User},
		},
	}
	limit := req.MaxTokens + thinkingRoom(req.Model)
	if p.official || thinkingRoom(req.Model) > 0 {
		r.MaxCompletionTokens = limit
		return r
	}
	r.MaxTokens = limit //nolint:staticcheck // what compatible servers know
	return r
}

func openAIFinish(c openai.ChatCompletionChoice) FinishReason {
	if c.Message.Refusal != "" {
		return FinishRefusal
	}
	switch c.FinishReason {
	case openai.FinishReasonStop:
		return FinishStop
	case openai.FinishReasonLength:
		return FinishLength
	case openai.FinishReasonContentFilter:
		return FinishRefusal
	}
	return FinishOther
}

func openAIUsage(u openai.Usage) Usage {
	usage := Usage{InputTokens: int64(u.PromptTokens), OutputTokens: int64(u.CompletionTokens), Source: FromProvider}
	if u.PromptTokensDetails != nil {
		usage.CachedInputTokens = int64(u.PromptTokensDetails.CachedTokens)
	}
	return usage
}

func (p *openAI) Close() { p.transport.close() }
