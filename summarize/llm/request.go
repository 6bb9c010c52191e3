package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"strings"
	"time"
)

// Request is one call to a model.
type Request struct {
	Model     string
	System    string
	User      string
	MaxTokens int // of the answer; what a model thinks before it answers is allowed on top
}

// Reply is a model's answer.
type Reply struct {
	Text         string
	FinishReason FinishReason
	Usage        Usage
	Model        string // the one that the provider says it used; may be empty
	Latency      time.Duration
}

// FinishReason says why a model stopped, in one vocabulary for all providers.
type FinishReason string

// Finish reasons. Only a text that ended by itself is adopted.
const (
	FinishStop    FinishReason = "stop"
	FinishLength  FinishReason = "length"  // cut off
	FinishRefusal FinishReason = "refusal" // the model declined, or a filter of the provider's did
	FinishOther   FinishReason = "other"
)

// Usage is what a call consumed. InputTokens counts all of the input, whatever a provider's own field
// does; CachedInputTokens and CacheWriteTokens are parts of it.
type Usage struct {
	InputTokens       int64
	OutputTokens      int64
	CachedInputTokens int64
	CacheWriteTokens  int64
	Source            string
}

// Where a Usage comes from.
const (
	FromProvider = "provider"
	FromEstimate = "estimate"
)

// mostTokens is more than any model takes in one call, and little enough to be summed up and priced for ever.
const mostTokens = 1_000_000_000

// known reports whether the provider said anything, and what can be so.
func (u Usage) known() bool {
	for _, n := range []int64{u.InputTokens, u.OutputTokens, u.CachedInputTokens, u.CacheWriteTokens} {
		if n < 0 || n > mostTokens {
			return false
		}
	}
	return u.InputTokens > 0 || u.OutputTokens > 0
}

// parts keeps what is counted as a part of the input within it.
func (u Usage) parts() Usage {
	u.CachedInputTokens = min(u.CachedInputTokens, u.InputTokens)
	u.CacheWriteTokens = min(u.CacheWriteTokens, u.InputTokens-u.CachedInputTokens)
	return u
}

// Provider makes calls.
type Provider interface {
	// Complete makes one HTTP request and retries nothing. The error is an *Error. The call ends with the
	// context; it is safe for concurrent use.
	Complete(ctx context.Context, req Request) (Reply, error)
	// Close lets go of idle connections.
	Close()
}

// wholeUsage rounds fractional numbers in an answer's usage up. Some gateways divide or scale token counts; an SDK
// that reads them as integers would refuse the whole answer, which is paid for. Any other answer is returned as it is.
func wholeUsage(answer []byte) []byte {
	var members map[string]json.RawMessage
	if json.Unmarshal(answer, &members) != nil {
		return answer
	}
	decoder := json.NewDecoder(bytes.NewReader(members["usage"]))
	decoder.UseNumber()
	var usage map[string]any
	if decoder.Decode(&usage) != nil || !roundUp(usage) {
		return answer
	}
	rounded, err := json.Marshal(usage)
	if err != nil {
		return answer
	}
	members["usage"] = rounded
	if whole, err := json.Marshal(members); err == nil {
		return whole
	}
	return answer
}

// roundUp makes integers of the numbers in a usage, and says whether one was none.
func roundUp(usage map[string]any) (changed bool) {
	for name, value := range usage {
		switch v := value.(type) {
		case map[string]any:
			changed = roundUp(v) || changed
		case json.Number:
			if _, err := v.Int64(); err == nil {
				continue
			}
			f, err := v.Float64()
			if err != nil || math.Abs(f) > mostTokens {
				continue // no count of tokens: the SDK may say what is wrong with it
			}
			usage[name], changed = int64(math.Ceil(f)), true
		}
	}
	return changed
}

// roomToThink is added to the answer's limit of a model that thinks first: its thoughts count against
// the limit, and without room for them the answer is cut off or empty. They cost only what is used.
const roomToThink = 4096

// thinkers are the families that think without being asked to.
var thinkers = []string{"o1", "o3", "o4", "gpt-5", "gpt-6", "claude-haiku-5", "claude-sonnet-5", "claude-opus-5", "claude-fable", "claude-mythos"}

func thinkingRoom(model string) int {
	for _, family := range thinkers {
		if strings.HasPrefix(model, family) && !strings.Contains(model, "-chat") {
			return roomToThink
		}
	}
	return 0
}
