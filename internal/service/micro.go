package service

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"precis/api"
)

// description is what $SRV.INFO says of the service.
const description = "summaries of agents' threads"

// definitions is where the schemas of requests and replies are: in this project, and under /v1 of the HTTP API.
const definitions = "schemas/service.json#/$defs/"

// endpoint is one subject that requests come to.
type endpoint struct {
	prefix string // of its subjects; all of it where no id follows
	answer answerer
	shape  string // the name of its request and its reply, without Request and Reply
	advice string // what to do about an answer over the server's limit
	// ofThread: the subject ends with a thread, whose partition's owner answers.
	ofThread bool

	answered func(subject, code string, took time.Duration) // nil: not counted

	mu    sync.Mutex
	stats micro.EndpointStats
}

func newEndpoint(prefix, shape string, answer answerer, advice string) *endpoint {
	name := strings.ReplaceAll(strings.Trim(strings.TrimPrefix(prefix, api.Name), "."), ".", "-")
	subject := prefix
	if strings.HasSuffix(prefix, ".") { // an id follows
		subject += "*"
	}
	return &endpoint{prefix: prefix, answer: answer, shape: shape, advice: advice, stats: micro.EndpointStats{Name: name, Subject: subject, QueueGroup: micro.DefaultQueueGroup}}
}

// count enters an answer before it is sent: a client that asks for the figures afterwards finds its own request there.
func (e *endpoint) count(took time.Duration, failed *Fault) {
	if e.answered != nil {
		code := ""
		if failed != nil {
			code = failed.Code
		}
		e.answered(strings.TrimSuffix(e.prefix, "."), code, took)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stats.NumRequests++
	e.stats.ProcessingTime += took
	e.stats.AverageProcessingTime = e.stats.ProcessingTime / time.Duration(e.stats.NumRequests)
	if failed != nil {
		e.stats.NumErrors++
		e.stats.LastError = failed.Code + ":" + failed.Message
	}
}

func (e *endpoint) figures() *micro.EndpointStats {
	e.mu.Lock()
	defer e.mu.Unlock()
	stats := e.stats
	return &stats
}

// subscribe takes requests, and answers what the micro protocol asks of a service. nats.go's own implementation of the
// protocol answers to any reply subject.
func (s *Service) subscribe(running context.Context) error {
	for _, e := range s.endpoints {
		queue := e.stats.QueueGroup
		if s.shared != nil { // each processor receives the request, and its partition's owner answers
			queue = ""
		}
		sub, err := s.conn.QueueSubscribe(e.stats.Subject, queue, s.handler(running, e))
		if err != nil {
			return fmt.Errorf("subscribe %s: %w", e.stats.Subject, err)
		}
		s.subs = append(s.subs, sub)
	}
	for verb, value := range map[micro.Verb]func() any{
		micro.PingVerb:  func() any { return micro.Ping{ServiceIdentity: s.identity, Type: micro.PingResponseType} },
		micro.InfoVerb:  s.info,
		micro.StatsVerb: s.stats,
	} {
		for _, who := range [][2]string{{"", ""}, {api.Name, ""}, {api.Name, s.identity.ID}} {
			subject, err := micro.ControlSubject(verb, who[0], who[1])
			if err != nil {
				return err
			}
			sub, err := s.conn.Subscribe(subject, s.control(value))
			if err != nil {
				return fmt.Errorf("subscribe %s: %w", subject, err)
			}
			s.subs = append(s.subs, sub)
		}
	}
	return nil
}

// control answers one verb of the protocol.
func (s *Service) control(value func() any) nats.MsgHandler {
	return func(m *nats.Msg) {
		if !s.answerable(m) {
			return
		}
		body, err := json.Marshal(value()) // micro's types are made for encoding/json
		if err != nil {
			s.log.Error().Err(err).Str("subject", m.Subject).Msg("request failed")
			return
		}
		s.send(m.Reply, reply{body: body})
	}
}

func (s *Service) info() any {
	info := micro.Info{ServiceIdentity: s.identity, Type: micro.InfoResponseType, Description: description}
	for _, e := range s.endpoints {
		f := e.figures()
		info.Endpoints = append(info.Endpoints, micro.EndpointInfo{
			Name: f.Name, Subject: f.Subject, QueueGroup: f.QueueGroup,
			Metadata: map[string]string{"request_schema": definitions + e.shape + "Request", "reply_schema": definitions + e.shape + "Reply"},
		})
	}
	return info
}

func (s *Service) stats() any {
	stats := micro.Stats{ServiceIdentity: s.identity, Type: micro.StatsResponseType, Started: s.started}
	for _, e := range s.endpoints {
		stats.Endpoints = append(stats.Endpoints, e.figures())
	}
	return stats
}

// semanticVersion is what the micro protocol takes for a version (semver.org, with the leading v taken off).
var semanticVersion = regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)

// semantic is the part of the program's version that the protocol takes, 0.0.0 where there is none.
func semantic(version string) string {
	head, _, _ := strings.Cut(strings.TrimPrefix(version, "v"), " ")
	if !semanticVersion.MatchString(head) {
		return "0.0.0"
	}
	return head
}
