package processor_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"precis/internal/config"
	"precis/internal/processor"
)

// heldModels is a server that speaks OpenAI's wire format, and holds its answers where it is told to. Each
// provider has a path of its own, so that a call says whose it is.
type heldModels struct {
	*httptest.Server
	mu    sync.Mutex
	held  map[string]*hold
	calls map[string]int
}

// hold keeps a provider's answers back: those to calls that say of, or all.
type hold struct {
	of      string
	arrived chan struct{} // gets one for each call, as far as it has room
	open    chan struct{}
}

func newHeldModels(t *testing.T) *heldModels {
	m := &heldModels{held: map[string]*hold{}, calls: map[string]int{}}
	m.Server = httptest.NewServer(m)
	t.Cleanup(m.Close)
	t.Cleanup(m.release) // the server waits for its calls
	return m
}

// hold has a provider's calls wait from here on.
func (m *heldModels) hold(provider, of string, calls int) *hold {
	m.mu.Lock()
	defer m.mu.Unlock()
	h := &hold{of: of, arrived: make(chan struct{}, calls), open: make(chan struct{})}
	m.held[provider] = h
	return h
}

// release answers whatever waits.
func (m *heldModels) release() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, h := range m.held {
		close(h.open)
	}
	clear(m.held)
}

func (m *heldModels) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	provider, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	m.mu.Lock()
	m.calls[provider]++
	n, h := m.calls[provider], m.held[provider]
	m.mu.Unlock()
	if h != nil && strings.Contains(string(body), h.of) {
		select {
		case h.arrived <- struct{}{}:
		default:
		}
		select {
		case <-h.open:
		case <-r.Context().Done():
			return
		}
	}
	var asked struct {
		Model string `json:"model"`
	}
	if err := json.Unmarshal(body, &asked); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"id":"c","object":"chat.completion","created":1,"model":%q,"choices":[{"index":0,"finish_reason":"stop",
		"message":{"role":"assistant","content":"Answer %d: nothing broke."}}],"usage":{"prompt_tokens":400,"completion_tokens":9,"total_tokens":409}}`, asked.Model, n)
}

// provider is the one of a name, on this server.
func (m *heldModels) provider(name string) config.Provider {
	p := config.DefaultProvider(config.KindOpenAI)
	p.BaseURL, p.APIKey, p.Timeout, p.MaxConcurrency = m.URL+"/"+name+"/v1", "key", time.Hour, processor.MaxJobs
	return p
}
