package slash_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"precis/internal/slash"
)

// Paths lead where they did, and those with an id that is a slash lead to its route.
func TestServe(t *testing.T) {
	mux := http.NewServeMux()
	for _, pattern := range []string{"GET /v/{thread}", "GET /v/{thread}/messages/{id}", "GET /v/{thread}/id", "/v/{thread}", "/"} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Went", pattern+" "+r.PathValue("thread")+" "+r.PathValue("id"))
		})
	}
	for _, c := range []struct{ method, path, want string }{
		{"GET", "/v/a", "GET /v/{thread} a "},
		{"GET", "/v/a%2Fb", "GET /v/{thread} a/b "},
		{"GET", "/v/%2F", "GET /v/{thread} / "},
		{"GET", "/v/%2f?x=%2F", "GET /v/{thread} / "},
		{"HEAD", "/v/%2F", "GET /v/{thread} / "},
		{"POST", "/v/%2F", "/v/{thread} / "},
		{"GET", "/v/%2F/messages/%2F", "GET /v/{thread}/messages/{id} / /"},
		{"GET", "/v/a%20b/messages/%2F", "GET /v/{thread}/messages/{id} a b /"},
		{"GET", "/v/%2F/messages/%252F", "GET /v/{thread}/messages/{id} / %2F"},
		{"GET", "/v/%2F/other", "/  "},
		{"GET", "/v/%2F/%2F", "/  "},
		{"GET", "/%2F", "/  "},
		{"GET", "/v/%2F/", "/  "},
		{"GET", "/v/../%2F", ""}, // a redirect, as without the slash
		{"GET", "/v//%2F", ""},
	} {
		w := httptest.NewRecorder()
		slash.Serve(mux, w, httptest.NewRequestWithContext(t.Context(), c.method, c.path, nil))
		if got := w.Header().Get("Went"); got != c.want || (c.want == "") != (w.Code/100 == 3) {
			t.Errorf("%s %s: %d, went to %q, want %q", c.method, c.path, w.Code, got, c.want)
		}
	}
}
