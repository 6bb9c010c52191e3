// Command provider stands in for a model's provider, so that an agent, an adapter or the gateway can be tried without a key. It speaks OpenAI's
// chat completions and Responses and Anthropic's messages, whole and streaming, and answers by a script: "Run go test." makes it call a tool with
// that command, and anything else is answered with a text. Each request is a line of what it prints, so that one sees what a model would have got.
//
//	go run ./examples/provider
package main

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8090", "the address to listen on")
	flag.Parse()
	fmt.Println("a scripted model on", *listen)
	server := http.Server{Addr: *listen, Handler: &provider{out: os.Stdout}, ReadHeaderTimeout: time.Minute}
	fmt.Fprintln(os.Stderr, "provider:", server.ListenAndServe())
	os.Exit(1)
}

// provider keeps nothing: an answer follows from its request.
type provider struct {
	out io.Writer
}

func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answers := map[string]func(string, turn) answer{"/v1/chat/completions": chat, "/v1/responses": responses, "/v1/messages": messages}
	form, known := answers[r.URL.Path]
	if !known || r.Method != http.MethodPost {
		fmt.Fprintf(p.out, "%s %s: not in the script\n", r.Method, r.URL.Path)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"error":{"type":"not_found_error","message":"the scripted model does not have this"}}`)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client left
	}
	var request request
	if err := json.Unmarshal(body, &request); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	next := request.next()
	fmt.Fprintf(p.out, "%s: %s, %d bytes; %s\n", r.URL.Path, request.count(), len(body), next)
	reply := form(cmp.Or(request.Model, "scripted"), next)
	if !request.Stream {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(reply.whole)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range reply.events {
		data, _ := json.Marshal(e)
		if name, named := e["type"].(string); named {
			fmt.Fprintf(w, "event: %s\n", name)
		}
		fmt.Fprintf(w, "data: %s\n\n", data)
	}
	if !strings.HasSuffix(r.URL.Path, "/messages") {
		_, _ = io.WriteString(w, "data: [DONE]\n\n")
	}
}
