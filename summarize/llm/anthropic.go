package llm

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	anthropicURL     = "https://api.anthropic.com"
	anthropicVersion = "2023-06-01" // of the API; the only one so far
)

// claude speaks Anthropic's messages API. One call of one endpoint does not earn the SDK, with which 17 modules were linked.
type claude struct {
	endpoint  string
	key       string
	client    *http.Client
	transport transport
	now       func() time.Time
}

// claudeRequest is the part of the API's request that is used.
type claudeRequest struct {
	Model     string          `json:"model"`
	MaxTokens int             `json:"max_tokens"`
	System    []claudeBlock   `json:"system"`
	Messages  []claudeMessage `json:"messages"`
}

type claudeMessage struct {
	Role    string        `json:"role"`
	Content []claudeBlock `json:"content"`
}

type claudeBlock struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// claudeAnswer is the part of the API's answer that is read.
type claudeAnswer struct {
	Model      string        `json:"model"`
	Content    []claudeBlock `json:"content"`
	StopReason string        `json:"stop_reason"`
	Usage      claudeCounts  `json:"usage"`
}

type claudeCounts struct {
	Input      count `json:"input_tokens"`
	Output     count `json:"output_tokens"`
	CacheRead  count `json:"cache_read_input_tokens"`
	CacheWrite count `json:"cache_creation_input_tokens"`
}

// count is a number of tokens. An answer that is charged is not thrown away for one that can't be: it becomes noCount.
type count int64

// noCount makes any sum that it is a part of one that can't be (Usage.known).
const noCount = -1 << 60

// UnmarshalJSON never fails.
func (c *count) UnmarshalJSON(text []byte) error {
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil && string(text) != "null" {
		n = noCount
	}
	*c = count(n)
	return nil
}

// newAnthropic takes nothing from the environment: which key and which address are used is the
// configuration's to say.
func newAnthropic(c ProviderConfig, now func() time.Time) *claude {
	t := newTransport()
	base := strings.TrimSuffix(strings.TrimRight(cmp.Or(c.BaseURL, anthropicURL), "/"), "/v1")
	return &claude{endpoint: base + "/v1/messages", key: c.APIKey, client: t.client(), transport: t, now: now}
}

func (p *claude) Complete(ctx context.Context, req Request) (Reply, error) {
	start := p.now()
	var w wire
	answer, err := p.post(observed(ctx, &w), claudeRequest{
		Model:     req.Model,
		MaxTokens: req.MaxTokens + thinkingRoom(req.Model),
		System:    []claudeBlock{{Type: "text", Text: req.System}},
		Messages:  []claudeMessage{{Role: "user", Content: []claudeBlock{{Type: "text", Text: req.User}}}},
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
		Model:        answer.Model,
		Latency:      p.now().Sub(start),
	}, nil
}

// post makes one attempt. What a status and an error's body mean is for classify, which has them from the wire.
func (p *claude) post(ctx context.Context, body claudeRequest) (answer *claudeAnswer, err error) {
	data, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.endpoint, bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	request.Header.Set("Anthropic-Version", anthropicVersion)
	if p.key != "" {
		request.Header.Set("X-Api-Key", p.key)
	}
	response, err := p.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body) // bounded by the transport
	if err != nil {
		return nil, err
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		return nil, errors.New(response.Status)
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return nil, fmt.Errorf("read answer: %w", err)
	}
	return answer, nil
}

func textOf(m *claudeAnswer) string {
	var b strings.Builder
	for _, block := range m.Content {
		if block.Type == "text" {
			b.WriteString(block.Text)
		}
	}
	return b.String()
}

func claudeFinish(reason string) FinishReason {
	switch reason {
	case "end_turn", "stop_sequence":
		return FinishStop
	case "max_tokens", "model_context_window_exceeded":
		return FinishLength
	case "refusal":
		return FinishRefusal
	}
	return FinishOther
}

// claudeUsage adds up the input: Anthropic counts what its cache served and took apart from the rest.
func claudeUsage(u claudeCounts) Usage {
	return Usage{
		InputTokens:       int64(u.Input + u.CacheRead + u.CacheWrite),
		OutputTokens:      int64(u.Output),
		CachedInputTokens: int64(u.CacheRead),
		CacheWriteTokens:  int64(u.CacheWrite),
		Source:            FromProvider,
	}
}

func (p *claude) Close() { p.transport.close() }
