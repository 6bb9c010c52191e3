package gateway_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"precis/internal/gateway"
)

// seen is what a client sees of an answer.
type seen struct {
	Status          int
	Header, Trailer http.Header
	Body            string
	Broken          bool
	Interim         []string
}

func (w *world) see(base, method, path, body string, header http.Header) (s seen) {
	w.t.Helper()
	ctx := httptrace.WithClientTrace(w.t.Context(), &httptrace.ClientTrace{Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
		s.Interim = append(s.Interim, fmt.Sprint(code, h))
		return nil
	}})
	r, err := http.NewRequestWithContext(ctx, method, base+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header = header.Clone()
	resp, err := w.client.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	s.Status, s.Header, s.Trailer, s.Body, s.Broken = resp.StatusCode, resp.Header, resp.Trailer, string(text), err != nil
	return s
}

// echo says what a provider saw of a request.
func echo(r *http.Request) string {
	body, err := io.ReadAll(r.Body)
	header := r.Header.Clone()
	return fmt.Sprintf("%s %s %v %v %q %v %v", r.Method, r.RequestURI, header, r.ContentLength, body, r.TransferEncoding, err)
}

// random answers with what a seed says, and with what it saw of the request.
func random(w http.ResponseWriter, r *http.Request) {
	n, _ := strconv.ParseUint(r.Header.Get("X-Seed"), 10, 64)
	rnd := rand.New(rand.NewPCG(n, 1))
	saw := echo(r)
	h := w.Header()
	h["Date"] = []string{"Tue, 24 Nov 2026 10:00:00 GMT"}
	if rnd.IntN(4) == 0 {
		h["Date"] = nil
	}
	h["Content-Type"] = [][]string{{"application/json"}, {"text/event-stream"}, nil, {"text/plain; charset=x"}}[rnd.IntN(4)]
	h["X-Ratelimit-Remaining-Tokens"] = []string{"1", "2"}
	h["Set-Cookie"] = []string{"a=1", "b=2"}
	h["Request-Id"] = []string{fmt.Sprint("req_", n)}
	h["Server"] = []string{"provider"}
	status := []int{200, 200, 200, 201, 204, 307, 400, 401, 404, 413, 429, 500, 503, 529}[rnd.IntN(14)]
	if status == 429 || status == 529 {
		h.Set("Retry-After", "7")
	}
	if rnd.IntN(8) == 0 {
		w.Header().Set("Link", "</a>")
		w.WriteHeader(http.StatusEarlyHints)
	}
	body := []byte(saw)
	if status == 204 {
		body = nil
	}
	var packed bytes.Buffer
	switch coding := []string{"", "", "gzip", "br", "zstd"}[rnd.IntN(5)]; coding {
	case "gzip":
		z := gzip.NewWriter(&packed)
		_, _ = z.Write(body)
		_ = z.Close()
	case "br":
		z := brotli.NewWriter(&packed)
		_, _ = z.Write(body)
		_ = z.Close()
	case "zstd":
		z, _ := zstd.NewWriter(&packed)
		_, _ = z.Write(body)
		_ = z.Close()
	default:
		packed.Write(body)
	}
	if status != 204 {
		trailer := rnd.IntN(4) == 0
		if trailer {
			h.Set("Trailer", "X-Sum")
		} else if rnd.IntN(2) == 0 {
			h.Set("Content-Length", strconv.Itoa(packed.Len()))
		}
		defer func() {
			if trailer {
				h.Set("X-Sum", "42")
			}
		}()
	}
	w.WriteHeader(status)
	for packed.Len() > 0 {
		_, _ = w.Write(packed.Next(1 + rnd.IntN(4000)))
		_ = http.NewResponseController(w).Flush()
	}
	if status == 200 && rnd.IntN(4) == 0 && h.Get("Content-Length") == "" {
		panic(http.ErrAbortHandler) // half an answer: its end is missing
	}
}

// Whatever a provider answers, a client sees the same through the gateway, and the provider sees the same request.
func TestByteForByte(t *testing.T) {
	w := begin(t, random, gateway.Options{})
	w.upstream.Config.ErrorLog = nil
	paths := []string{chatPath, "/v1/responses", "/v1/messages", "/v1/models", "/v1/files/a%2Fb?x=1;y=2&z=%zz", "/v1/messages/count_tokens?beta=true", "//odd/../path"}
	const seed = 20261124
	broken := 0
	for n := range 1000 {
		rnd := rand.New(rand.NewPCG(seed, uint64(n)))
		header := http.Header{
			"X-Seed": {strconv.Itoa(n)}, "Authorization": {"Bearer sk-1"}, "Accept-Encoding": {"gzip, br, zstd"}, "X-Two": {"a", "b"},
			"X-Forwarded-For": {"10.0.0.1"}, "User-Agent": {""},
		}
		if rnd.IntN(2) == 0 {
			delete(header, "Accept-Encoding")
		}
		if rnd.IntN(2) == 0 {
			header["User-Agent"] = []string{"sdk/1"}
		}
		body := strings.Repeat(ask("Hi.", "Hello.", "Is it?"), rnd.IntN(3))
		method := []string{"POST", "POST", "POST", "GET", "DELETE"}[rnd.IntN(5)]
		path := paths[rnd.IntN(len(paths))]
		direct := w.see(w.upstream.URL, method, path, body, header)
		through := w.see(w.url, method, path, body, header)
		if direct.Broken && through.Broken { // how much of half an answer comes is the network's affair
			broken++
			n := min(len(direct.Body), len(through.Body))
			direct.Body, through.Body = direct.Body[:n], through.Body[:n]
		}
		if !reflect.DeepEqual(direct, through) {
			t.Fatalf("%d: %s %s\ndirect  %+v\nthrough %+v", n, method, path, direct, through)
		}
	}
	if broken == 0 || broken > 100 {
		t.Errorf("%d of 1000 answers broke off", broken)
	}
}

// The gateway's own headers do not reach the provider.
func TestOwnHeaders(t *testing.T) {
	w := begin(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, echo(r)) }, gateway.Options{})
	saw := w.post(chatPath, "{}", gateway.HeaderThread, "t1", gateway.HeaderAgent, "a", gateway.HeaderMode, "off", "Precis-Later", "x")
	if strings.Contains(saw, "Precis") {
		t.Error(saw)
	}
}

// An event of a stream is with the client before the next one is made.
func TestFlush(t *testing.T) {
	next := make(chan bool)
	w := begin(t, func(w http.ResponseWriter, r *http.Request) {
		// net/http/httputil knows by itself of an event stream, and of an answer without a length.
		w.Header().Set("Content-Type", "application/x-ndjson")
		w.Header().Set("Content-Length", strconv.Itoa(20*len("data: 00\n\n")))
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush() // the head alone
		for i := range 20 {
			<-next
			fmt.Fprintf(w, "data: %02d\n\n", i)
			_ = http.NewResponseController(w).Flush()
		}
	}, gateway.Options{})
	resp, err := w.client.Post(w.url+chatPath, "application/json", strings.NewReader(ask("Hi.")))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	in := bufio.NewReader(resp.Body)
	for i := range 20 {
		next <- true
		line, err := in.ReadString('\n')
		if err != nil || line != fmt.Sprintf("data: %02d\n", i) {
			t.Fatal(line, err)
		}
		_, _ = in.ReadString('\n')
	}
}

// A provider that answers before it has the whole request gets the rest of it, and its answer passes whole. Otherwise a provider that is quick breaks
// its own answer off: the last read of a body, which finds its end, may come behind the answer's head.
func TestAnswerBeforeTheEndOfTheRequest(t *testing.T) {
	w := begin(t, func(w http.ResponseWriter, r *http.Request) {
		c := http.NewResponseController(w)
		_ = c.EnableFullDuplex()
		w.Header().Set("Content-Type", "text/event-stream")
		_ = c.Flush()
		body, err := io.ReadAll(r.Body)
		fmt.Fprintf(w, "data: %d %v\n\n", len(body), err)
	}, gateway.Options{})
	for range 20 {
		in, out := io.Pipe()
		r, err := http.NewRequestWithContext(within(t), http.MethodPost, w.url+chatPath, in)
		if err != nil {
			t.Fatal(err)
		}
		began := make(chan bool)
		go func() {
			_, _ = io.WriteString(out, `{"messages":[`)
			<-began
			_, _ = io.WriteString(out, strings.Repeat(" ", 1<<20)+`]}`)
			_ = out.Close()
		}()
		resp, err := w.client.Do(r)
		close(began)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if want := fmt.Sprintf("data: %d <nil>\n\n", 1<<20+15); err != nil || string(text) != want {
			t.Fatalf("%q %v, want %q", text, err, want)
		}
	}
}

// HTTP/2 passes on both sides.
func TestHTTP2(t *testing.T) {
	up := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Proto", r.Proto)
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, chat("Fine."))
	}))
	up.EnableHTTP2 = true
	up.StartTLS()
	t.Cleanup(up.Close)
	w := begin(t, nil, gateway.Options{OpenAI: up.URL, Anthropic: up.URL, Transport: up.Client().Transport})
	protocols := &http.Protocols{}
	protocols.SetUnencryptedHTTP2(true)
	two := &http.Transport{Protocols: protocols}
	t.Cleanup(two.CloseIdleConnections)
	resp, err := (&http.Client{Transport: two}).Post(w.url+chatPath, "application/json", strings.NewReader(ask("Hi.")))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || string(body) != chat("Fine.") || resp.Proto != "HTTP/2.0" || resp.Header.Get("X-Proto") != "HTTP/2.0" {
		t.Errorf("%s %s %s %v", resp.Proto, resp.Header, body, err)
	}
	w.counts(2, published)
}

// A provider that can't be reached is the gateway's own answer, without what the request's address holds.
func TestNoProvider(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone := "http://" + l.Addr().String()
	_ = l.Close()
	w := begin(t, nil, gateway.Options{OpenAI: gone, Anthropic: gone})
	status, text := w.send(chatPath+"?key=sk-secret", ask("Hi."))
	if status != http.StatusBadGateway || !strings.Contains(text, "connection refused") || strings.Contains(text+w.log.String(), "sk-secret") {
		t.Errorf("%d %s\n%s", status, text, w.log)
	}
}

// A page whose own name leads to this machine is not a client of it.
func TestOtherHost(t *testing.T) {
	w := begin(t, say("text/plain", "x"), gateway.Options{})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.url+"/v1/models", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = "rebound.example"
	resp, err := w.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusMisdirectedRequest {
		t.Error(resp.Status)
	}
}

// A base URL has a path of its own, and other addresses are refused.
func TestUpstream(t *testing.T) {
	w := begin(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.RequestURI) }, gateway.Options{})
	base := w.upstream.URL
	if err := w.stop(); err != nil {
		t.Fatal(err)
	}
	w.startGateway(gateway.Options{Conn: w.broker.Conn(), OpenAI: base + "/openai/", Anthropic: base + "/anthropic"})
	for path, want := range map[string]string{"/v1/models?a=b": "/openai/v1/models?a=b", "/v1/messages": "/anthropic/v1/messages", "/v1/files/a%2Fb": "/openai/v1/files/a%2Fb"} {
		if got := w.post(path, "{}"); got != want {
			t.Errorf("%s: %s", path, got)
		}
	}
	if err := w.stop(); err != nil {
		t.Fatal(err)
	}
	w.startGateway(gateway.Options{Conn: w.broker.Conn(), OpenAI: base + "/api/v1/", Anthropic: base + "/v1"})
	for path, want := range map[string]string{"/v1/models?a=b": "/api/v1/models?a=b", "/v1/messages": "/v1/messages", "/v1/files/a%2Fb": "/api/v1/files/a%2Fb", "/models": "/api/v1/models",
		"/v1": "/api/v1", "/v1x": "/api/v1/v1x", "/%761/files/a%2Fb": "/api/v1/%761/files/a%2Fb", "/v1%2Ffiles": "/api/v1/v1%2Ffiles"} {
		if got := w.post(path, "{}"); got != want {
			t.Errorf("below a /v1: %s: %s", path, got)
		}
	}
	for _, wrong := range []string{"", "api.openai.com", "ftp://a", "https://u:p@a", "https://a?b", "https://a#b", "http://"} {
		if _, err := gateway.Upstream(wrong); err == nil || strings.Contains(err.Error(), "u:p") {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}
