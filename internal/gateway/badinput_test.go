package gateway_test

// What clients, providers and networks do wrong, and the tests of it:
//
//   - half streams, half answers, half requests: TestHalfStream, TestHalfAnswers, TestSDKs (broken), TestClientLeavesInItsBody, TestGatewayKills (cmd/processor)
//   - clients that go away: TestClientLeaves, TestClientLeavesBehindTheLastEvent, TestClientLeavesInItsBody, TestClientLeavesWhilePrecisWorks, TestSDKs (hang)
//   - providers that hang, or are not there: TestClientLeaves, TestStop, TestSDKs (hang), TestNoProvider
//   - 429 and 529 with their headers: TestByteForByte, TestRecordedByteForByte, TestSDKs (retry, exhausted), TestRefusedByProvider
//   - gzip and brotli: TestCodings, TestByteForByte, TestSDKs (packed, brotli), TestAsItCame (coding)
//   - HTTP/2: TestHTTP2
//   - bodies of 30 MB and more: TestLargeBodies
//   - images and documents too large for an event: TestLargeMedia
//   - unknown models, members and contents: TestUnknownModelsAndFields, TestAsItCame (unknown_field), TestShapes, TestSDKs (error 404)
//   - two agents with one beginning: TestOneBeginning
//   - parallel requests of one conversation: TestParallelRequests, TestParallelCompacted
//   - the same request again: TestRepeatedRequest, TestEqualMessages, TestLostAnswer, TestSDKs (retry)
//   - keys that are wrong, expired or another's: TestRefusedKeys, TestKeys, TestSDKs (error 401)
//   - ids of calls that a server counts: TestUnrulyClients (counted); answers that the client begins: TestBegunAnswer
//   - WebSockets: TestUpgrade
//   - a thread id with every byte: TestThreadsOfEveryByte, TestNamedThreads

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/nats-io/nats.go"

	"precis/api"
	"precis/internal/gateway"
	"precis/summarize/prompt/valid"
)

// A client that leaves in the middle of its body: the provider sees it leave, nothing is published, and the next request is as any.
func TestClientLeavesInItsBody(t *testing.T) {
	for _, mode := range gateway.Modes {
		t.Run(mode, func(t *testing.T) {
			ended := make(chan error, 2)
			w := begin(t, func(w http.ResponseWriter, r *http.Request) {
				_, err := io.Copy(io.Discard, r.Body)
				ended <- err
				_, _ = io.WriteString(w, chat("Fine."))
			}, gateway.Options{Mode: mode, Wait: patience})
			body := ask("Hi.", "Yes.", strings.Repeat("Go on. ", 20_000))
			conn, err := net.Dial("tcp", strings.TrimPrefix(w.url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", chatPath, conn.RemoteAddr(), len(body), body[:len(body)/2])
			_ = conn.Close()
			if mode == gateway.ModeObserve {
				select {
				case err := <-ended:
					if err == nil {
						t.Error("the provider got a whole body")
					}
				case <-time.After(patience):
					t.Fatal("the provider still waits")
				}
			}
			w.post(chatPath, ask("Hi."), gateway.HeaderThread, "t1")
			w.prompt("t1", "openai", 2, 0)
			if n := len(w.events()); n != 2 {
				t.Errorf("%d events", n)
			}
			w.counts(0, "precis_gateway_held_bytes")
		})
	}
}

// A client that leaves while its request waits for precis does not keep the next ones waiting, nor is precis left alone for it.
func TestClientLeavesWhilePrecisWorks(t *testing.T) {
	w := begin(t, say("application/json", chat("Fine.")), gateway.Options{Mode: gateway.ModeCompact, Wait: patience})
	w.stopProcessor()
	asked := make(chan bool, 1)
	silent, err := w.broker.Conn().Subscribe("precis.>", func(*nats.Msg) { asked <- true })
	if err != nil {
		t.Fatal(err)
	}
	ctx, leave := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url+chatPath, strings.NewReader(ask("Hi.", "Yes.", "Go on.")))
	if err != nil {
		t.Fatal(err)
	}
	left := make(chan error)
	go func() {
		resp, err := w.client.Do(r)
		if err == nil {
			_ = resp.Body.Close()
		}
		left <- err
	}()
	<-asked
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	w.counts(1, "precis_gateway_compacted_total", "outcome", "behind")
	_ = silent.Unsubscribe()
	// Where it was left alone the reason would be the same, and no request would reach it.
	again, err := w.broker.Conn().Subscribe("precis.>", func(m *nats.Msg) { asked <- true; _ = m.Respond([]byte("{}")) })
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = again.Unsubscribe() }()
	w.post(chatPath, ask("Hi.", "Yes.", "Go on."))
	select {
	case <-asked:
	default:
		t.Error("precis was not asked again")
	}
}

// Models, members and kinds of content that the gateway does not know pass, and are published as they are.
func TestUnknownModelsAndFields(t *testing.T) {
	for _, test := range []struct{ path, request, answer string }{
		{chatPath, `{"model":"brand-new","later":{"a":[1]},"messages":[{"role":"user","content":[{"type":"hologram","data":"x"},{"type":"text","text":"Hi."}],"mood":"good"}]}`,
			`{"id":"c","model":"brand-new-2","new":true,"choices":[{"index":0,"finish_reason":"tired","message":{"role":"assistant","content":"Yes.","aura":{"a":1}}}],"usage":{"prompt_tokens":7,"completion_tokens":3,"dream_tokens":1}}`},
		{"/v1/messages", `{"model":"brand-new","max_tokens":9,"later":1,"messages":[{"role":"user","content":[{"type":"hologram","data":"x"},{"type":"text","text":"Hi."}]}]}`,
			`{"id":"m","type":"message","role":"assistant","model":"brand-new-2","content":[{"type":"dream","dream":"d"},{"type":"text","text":"Yes."}],"usage":{"input_tokens":7,"output_tokens":3,"dream_tokens":1}}`},
		{"/v1/responses", `{"model":"brand-new","later":1,"input":[{"type":"hologram","data":"x"},{"role":"user","content":"Hi."}]}`,
			`{"id":"r","status":"completed","model":"brand-new-2","output":[{"type":"dream","id":"d1"},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Yes."}]}],"usage":{"input_tokens":7,"output_tokens":3,"dream_tokens":1}}`},
	} {
		var got received
		w := begin(t, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			got.add(string(body))
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, test.answer)
		}, gateway.Options{})
		if answer := w.post(test.path, test.request, gateway.HeaderThread, "t1"); answer != test.answer || got.last() != test.request {
			t.Errorf("%s: %s", test.path, answer)
		}
		want := 2
		if test.path == "/v1/responses" {
			want = 3
		}
		w.eventually(func() error {
			if n := len(w.events()); n != want {
				return fmt.Errorf("%d events", n)
			}
			return nil
		})
		text := fmt.Sprint(w.events())
		for _, part := range []string{"hologram", "brand-new-2", "Yes."} {
			if !strings.Contains(text, part) {
				t.Errorf("%s: %q is not published: %s", test.path, part, text)
			}
		}
		w.counts(0, dropped)
	}
}

// A key that is wrong or has expired is the provider's to refuse. Nothing is published until it takes one.
func TestRefusedKeys(t *testing.T) {
	w := begin(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if r.Header.Get("Authorization") != "Bearer sk-good" {
			w.Header().Set("Www-Authenticate", `Bearer error="invalid_token", error_description="expired"`)
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"error":{"code":"invalid_api_key"}}`)
			return
		}
		_, _ = io.WriteString(w, chat("Fine."))
	}, gateway.Options{})
	for _, key := range []string{"", "Bearer sk-expired", "Basic c2s=", "Bearer sk-of-another"} {
		s := w.see(w.url, http.MethodPost, chatPath, ask("Refused."), http.Header{"Authorization": {key}, "Precis-Thread": {"t1"}})
		if s.Status != http.StatusUnauthorized || s.Body != `{"error":{"code":"invalid_api_key"}}` || !strings.Contains(s.Header.Get("Www-Authenticate"), "expired") {
			t.Errorf("%s: %+v", key, s)
		}
	}
	w.post(chatPath, ask("Hi."), "Authorization", "Bearer sk-good", gateway.HeaderThread, "t1")
	w.prompt("t1", "openai", 2, 0)
	if n := len(w.events()); n != 2 {
		t.Errorf("%d events", n)
	}
}

// Every byte that UTF-8 has is a byte of a thread's id.
func TestThreadsOfEveryByte(t *testing.T) {
	w := begin(t, say("application/json", chat("Fine.")), gateway.Options{})
	var ids [4]strings.Builder
	for b := range rune(0x80) {
		ids[0].WriteRune(b)
	}
	for c := rune(0x80); c < 0xc0; c++ { // each byte that continues a character
		ids[1].WriteRune(c)
	}
	for lead := rune(0xc3); lead <= 0xdf; lead++ { // and each that begins one of two
		ids[2].WriteRune((lead & 0x1f) << 6)
	}
	for _, c := range []rune{0x800, 0x1000, 0x2000, 0x3000, 0x4000, 0x5000, 0x6000, 0x7000, 0x8000, 0x9000, 0xa000, 0xb000, 0xc000, 0xd000, 0xe000, 0xf000, 0x10000, 0x40000, 0x80000, 0xc0000, 0x100000} {
		ids[3].WriteRune(c) // of three, and of four
	}
	seen := map[byte]bool{}
	for i := range ids {
		id := ids[i].String()
		for j := range len(id) {
			seen[id[j]] = true
		}
		w.post(chatPath, ask("Hi."), gateway.HeaderThread, url.PathEscape(id))
		w.prompt(id, "openai", 2, 0)
	}
	if len(seen) != 256-13 { // C0, C1 and F5 to FF are in no character
		t.Errorf("%d bytes", len(seen))
	}
	w.counts(0, dropped)
}

// Parallel requests of one conversation in mode compact: each is answered, and what the provider gets of each is a prompt of that conversation.
func TestParallelCompacted(t *testing.T) {
	for name := range sessions() {
		t.Run(name, func(t *testing.T) {
			c := compactions(t, name)
			request, before := c.request(""), len(c.got.from(0))
			const n = 16
			var wg sync.WaitGroup
			for range n {
				wg.Go(func() {
					resp, err := c.client.Post(c.url+c.s.path, "application/json", strings.NewReader(request))
					if err != nil {
						t.Error(err)
						return
					}
					defer resp.Body.Close()
					if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusOK {
						t.Errorf("%s %v", resp.Status, err)
					}
				})
			}
			wg.Wait()
			for _, sent := range c.got.from(before) {
				if sent != request {
					c.s.check(t, c.history, request, sent)
				}
			}
			if len(c.got.from(0)) != before+n {
				t.Errorf("%d requests", len(c.got.from(0))-before)
			}
		})
	}
}

// A client that has lost an answer sends its request again. The thread has the lost answer too then, so the conversation goes on as it came.
func TestLostAnswer(t *testing.T) {
	c := compactions(t, "chat")
	request := c.request("")
	c.post(c.s.path, request) // its answer is lost
	said, _, _ := c.ask(t, c.s.path, request)
	every := time.NewTicker(50 * time.Millisecond) // each request is published: without a pause precis would stay behind them
	defer every.Stop()
	for end := time.Now().Add(patience); said != "no; reason=diverged" && time.Now().Before(end); { // the lost answer is published behind the request
		<-every.C
		said, _, _ = c.ask(t, c.s.path, request)
	}
	if said != "no; reason=diverged" || c.got.last() != request {
		t.Errorf("%s", said)
	}
	c.history = append(append(c.history, c.s.back(10)...), c.s.result(10, "ok"))
	if said, _, _ := c.ask(t, c.s.path, c.request("")); said != "no; reason=diverged" || c.got.last() != c.request("") {
		t.Errorf("%s", said)
	}
}

// A message whose images or documents make it too large for an event is published with marks in their place, and the provider gets it as the client sent
// it. Without it the thread would not have the conversation, which would never be compacted again.
func TestLargeMedia(t *testing.T) {
	media := strings.Repeat("A", 1_500_000)
	parts := map[string]string{
		"chat":      `{"type":"image_url","image_url":{"url":"data:image/png;base64,` + media + `"}},{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,` + media + `"}}`,
		"messages":  `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + media + `"}},{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"` + media + `"}}`,
		"responses": `{"type":"input_image","image_url":"data:image/png;base64,` + media + `"},{"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,` + media + `"}`,
	}
	// What a tool reads comes as a part of its result.
	read := map[string]string{
		"messages":  `{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_0a1b2c3d1","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + media + `"}}]}]}`,
		"responses": `{"type":"function_call_output","call_id":"call_0a1b2c3d1","output":[{"type":"input_image","image_url":"data:image/png;base64,` + media + `"}]}`,
	}
	long := strings.Repeat("ok  \tshop/cart\t0.01s\n", 120)
	for name, s := range sessions() {
		t.Run(name, func(t *testing.T) {
			var got received
			w := begin(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, s.answer(10+got.add(string(body))))
			}, gateway.Options{Mode: gateway.ModeCompact, Wait: patience})
			text := "text"
			if name == "responses" {
				text = "input_text"
			}
			list := []string{fmt.Sprintf(`{"role":"user","content":[{"type":%q,"text":"What is this?"},%s]}`, text, parts[name])}
			list = append(list, s.back(1)...)
			if result := read[name]; result != "" {
				list = append(list, result)
			} else {
				list = append(list, s.result(1, "ok"))
			}
			list = append(append(append(list, s.back(2)...), s.result(2, long)), s.back(3)...)
			list = append(list, s.result(3, "ok"))
			said := w.said(t, s.path, `{"model":"m",`+fmt.Sprintf("%q:[%s]}", s.list, strings.Join(list, ",")), gateway.HeaderThread, "t1")
			if !strings.HasPrefix(said, "yes; summaries=1; ") {
				t.Fatal(said)
			}
			sent := got.last()
			if n := strings.Count(sent, media); n != 2+strings.Count(read[name], media) || strings.Contains(sent, "shop/cart\\t0.01s\\nok") {
				t.Errorf("the provider got %d of the images and documents: %.300s", n, strings.ReplaceAll(sent, media, "…"))
			}
			reply, err := w.api.Context(within(t), "t1", api.ContextRequest{Format: map[string]string{"chat": "openai", "messages": "anthropic", "responses": "responses"}[name]})
			if err != nil {
				t.Fatal(err)
			}
			prompt := string(reply.Messages)
			if strings.Contains(prompt, media) || !strings.Contains(prompt, "[image: image/png, 1.1 MB]") || !strings.Contains(prompt, "[document: application/pdf, 1.1 MB]") || w.count(dropped) > 0 {
				t.Errorf("the thread has %.500s", strings.ReplaceAll(prompt, media, "…"))
			}
		})
	}
}

// Calls of the Responses API that are no functions' get outputs of their own kind back: the provider takes no other.
func TestOutputsOfTheirKind(t *testing.T) {
	long := strings.Repeat("ok  \tshop/cart\t0.01s\n", 120)
	var got received
	w := begin(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got.add(string(body))
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":"r1","status":"completed","model":"m","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Fine."}]}]}`)
	}, gateway.Options{Mode: gateway.ModeCompact, Wait: patience})
	input := `[{"role":"user","content":"Which test fails?"},
{"type":"local_shell_call","id":"lsh_1","call_id":"call_0a1b2c3d1e","action":{"type":"exec","command":["go","test"],"env":{}},"status":"completed"},
{"type":"local_shell_call_output","id":"call_0a1b2c3d1e","output":` + string(quoted(long)) + `},
{"type":"apply_patch_call","id":"ap_1","call_id":"call_0a1b2c3d2e","operation":{"type":"create_file","path":"a","diff":"x"},"status":"completed"},
{"type":"apply_patch_call_output","call_id":"call_0a1b2c3d2e","status":"completed","output":` + string(quoted(long)) + `},
{"type":"custom_tool_call","id":"ctc_1","call_id":"call_0a1b2c3d3e","name":"exec","input":"run()"},
{"type":"custom_tool_call_output","call_id":"call_0a1b2c3d3e","output":` + string(quoted(long)) + `},
{"role":"assistant","content":"None."},{"role":"user","content":"Again."}]`
	if said := w.said(t, "/v1/responses", `{"model":"m","input":`+input+`}`); !strings.HasPrefix(said, "yes; summaries=3; ") {
		t.Fatal(said)
	}
	var sent struct{ Input jsontext.Value }
	if err := json.Unmarshal([]byte(got.last()), &sent); err != nil {
		t.Fatal(err)
	}
	if err := valid.Responses(sent.Input); err != nil || len(got.last()) > len(input)/3 {
		t.Errorf("%v: %s", err, got.last())
	}
}

// An answer that the client begins is not one that has read what stands before it.
func TestBegunAnswer(t *testing.T) {
	texts := map[string]string{
		"chat": chat(" TestTotal."), "messages": `{"id":"m","type":"message","content":[{"type":"text","text":" TestTotal."}]}`,
		"responses": `{"id":"r","status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":" TestTotal."}]}]}`,
	}
	for name, s := range sessions() {
		t.Run(name, func(t *testing.T) {
			w := begin(t, say("application/json", texts[name]), gateway.Options{Mode: gateway.ModeCompact, Wait: patience})
			said := `{"role":"assistant","content":"The test that fails is"}`
			list := append(append([]string{s.first}, s.back(1)...), s.result(1, strings.Repeat("ok  \tshop/cart\t0.01s\n", 120)), said)
			ask := func(list []string) string {
				return w.said(t, s.path, `{"model":"m",`+fmt.Sprintf("%q:[%s]}", s.list, strings.Join(list, ",")), gateway.HeaderThread, "t1")
			}
			for range 2 {
				if got := ask(list); got != "no; reason=diverged" {
					t.Error(got)
				}
			}
			if got := ask(append(list, `{"role":"user","content":"Go on."}`)); !strings.HasPrefix(got, "yes; ") {
				t.Error(got)
			}
		})
	}
}

// A connection that becomes another protocol's passes both ways.
func TestUpgrade(t *testing.T) {
	w := begin(t, func(w http.ResponseWriter, r *http.Request) {
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		fmt.Fprintf(rw, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", r.Header.Get("Upgrade"))
		_ = rw.Flush()
		heard, _ := io.ReadAll(rw) // up to the client's end, which an answer follows
		fmt.Fprintf(rw, "heard %s", heard)
		_ = rw.Flush()
	}, gateway.Options{Mode: gateway.ModeCompact})
	conn, err := net.Dial("tcp", strings.TrimPrefix(w.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	fmt.Fprintf(conn, "GET /v1/responses HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", conn.RemoteAddr())
	r := bufio.NewReader(conn)
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusSwitchingProtocols || resp.Header.Get("Upgrade") != "websocket" {
		t.Fatal(resp)
	}
	fmt.Fprint(conn, "hello\n")
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil { //nolint:forcetypeassert // that was dialled
		t.Fatal(err)
	}
	if got, err := io.ReadAll(r); err != nil || string(got) != "heard hello\n" {
		t.Errorf("%v: %q", err, got)
	}
}
