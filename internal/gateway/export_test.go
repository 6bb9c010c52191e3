package gateway

import (
	"net/http"

	"github.com/go-json-experiment/json/jsontext"
)

// OwnSignature begins the signature of a compaction of precis's own.
const OwnSignature = ownSignature

// ReadAnswer reads an answer of an operation; empty where there is none.
func ReadAnswer(path, contentType string, body []byte) string {
	a, err := apis[path].answerOf(contentType, body)
	if err != nil {
		return ""
	}
	return string(a.message.body("m"))
}

// ReadAny reads bytes as everything that they may be.
func ReadAny(answer, request []byte) {
	for _, a := range apis {
		c, err := a.conversation(newReader(), request)
		if err != nil {
			c = &conversation{}
		}
		for _, media := range []string{"application/json", "text/event-stream"} {
			if r, err := a.answerOf(media, answer); err == nil {
				c.messages = append(c.messages, r.message)
			}
		}
		c.threadOf(func(string) string { return "" })
		c.identify(c.seed("a"))
	}
}

// Transport is the one that requests to providers are made with.
func Transport() *http.Transport { return transport() }

// Hangs reports whether requests leave precis alone.
func (s *Server) Hangs() bool { return s.gateway.compactor.pace.hanging() }

// Asking is how many questions to precis have no answer, those of exchanges that have ended included.
func (s *Server) Asking() int {
	c, read := s.gateway.compactor, make(chan struct{})
	if s.gateway.enqueue(func() { close(read) }) == "" {
		<-read
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all
}

// poison is what stands in memory that went back. It is not valid as JSON, as a role or as an id, so that a use of it fails.
const poison = "\x00used behind its return"

// PoisonScratches has every use of a scratch's memory behind its return show: in requests, in what is published, and as a race.
func PoisonScratches() {
	returned = func(s *scratch) {
		for i := range s.values {
			s.values[i] = jsontext.Value(poison)
		}
		for i := range s.messages {
			s.messages[i] = message{raw: []jsontext.Value{jsontext.Value(poison)}, id: poison, role: poison}
		}
	}
}
