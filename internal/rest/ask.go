package rest

import (
	"fmt"
	"math"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"precis/api"
	"precis/internal/service"
)

// ask has the service answer a request.
func (s *Server) ask(w http.ResponseWriter, r *asking, subject, id string, body []byte) error {
	answer, err := s.answer(r, subject, id, body)
	if err != nil {
		return err
	}
	return respond(w, answer)
}

func (s *Server) answer(r *asking, subject, id string, body []byte) ([]byte, error) {
	answer, fault := s.opts.Service.Ask(r.Context(), service.Asked{Subject: subject, ID: id, Body: body, Client: "http " + clientOf(r)})
	if fault != nil {
		return nil, wrong(fault.Status(), fault.Message)
	}
	return answer, nil
}

// clientOf is the token, or the address of who has none.
func clientOf(r *asking) string {
	if r.who.name != "" {
		return r.who.name
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

func respond(w http.ResponseWriter, body []byte) error {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(body) // an error means that the client is gone
	return nil
}

func (s *Server) respondJSON(w http.ResponseWriter, value any) error {
	body, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode answer: %w", err)
	}
	return respond(w, body)
}

// getThreads lists the threads of the token.
func (s *Server) getThreads(w http.ResponseWriter, r *asking) error {
	q := api.ThreadsRequest{
		Prefix: r.query.Get("prefix"), Search: r.query.Get("search"), Sort: r.query.Get("sort"), After: r.query.Get("after"),
	}
	if q.Prefix = cmpOr(q.Prefix, r.who.threads); !r.who.covers(q.Prefix) {
		return outside(r.who, q.Prefix)
	}
	for name, to := range map[string]**string{"agent_id": &q.AgentID, "policy": &q.Policy} {
		if r.query.Has(name) {
			text := r.query.Get(name)
			*to = &text
		}
	}
	for name, to := range map[string]*bool{"stale": &q.Stale, "ascending": &q.Ascending} {
		switch text := r.query.Get(name); text {
		case "", "false":
		case "true":
			*to = true
		default:
			return wrong(http.StatusBadRequest, fmt.Sprintf("%s must be true or false, not %q", name, text))
		}
	}
	limit, err := r.number("limit")
	if err != nil {
		return err
	}
	q.Limit = int(min(limit, math.MaxInt32))
	body, err := json.Marshal(q)
	if err != nil {
		return wrong(http.StatusBadRequest, "the query is not UTF-8")
	}
	answer, err := s.answer(r, api.ThreadsList, "", body)
	if err != nil {
		return err
	}
	if r.who.threads == "" {
		return respond(w, answer)
	}
	var reply api.ThreadsReply
	if err := json.Unmarshal(answer, &reply); err != nil {
		return fmt.Errorf("read threads: %w", err)
	}
	for i := range reply.Threads {
		if parent := reply.Threads[i].ParentThreadID; parent != nil && !r.who.covers(*parent) {
			reply.Threads[i].ParentThreadID = nil // the name of a thread of others
		}
	}
	return s.respondJSON(w, reply)
}

func (s *Server) getThread(w http.ResponseWriter, r *asking) error {
	seq, err := r.number("min_event_seq")
	if err != nil {
		return err
	}
	body, err := json.Marshal(api.ThreadRequest{MinEventSeq: seq})
	if err != nil {
		return err
	}
	answer, err := s.answer(r, api.ThreadGet, r.thread, body)
	if err != nil {
		return err
	}
	if r.who.threads == "" {
		return respond(w, answer)
	}
	var reply api.ThreadReply
	if err := json.Unmarshal(answer, &reply); err != nil {
		return fmt.Errorf("read thread: %w", err)
	}
	// The counts are the thread's own; the names are those of other threads.
	reply.Children = slices.DeleteFunc(reply.Children, func(c api.Child) bool { return !r.who.covers(c.ThreadID) })
	return s.respondJSON(w, reply)
}

func (s *Server) postContext(w http.ResponseWriter, r *asking) error {
	return s.post(w, r, api.ThreadContext)
}

func (s *Server) postSummarize(w http.ResponseWriter, r *asking) error {
	return s.post(w, r, api.ThreadSummarize)
}

// post hands a body on as it is.
func (s *Server) post(w http.ResponseWriter, r *asking, subject string) error {
	body, release, err := s.body(w, r)
	if err != nil {
		return err
	}
	defer release()
	return s.ask(w, r, subject, r.thread, body)
}

var lineRange = regexp.MustCompile(`^([0-9]{1,9})(?:-([0-9]{1,9}))?$`)

func (s *Server) getMessage(w http.ResponseWriter, r *asking) error {
	q := api.MessageRequest{MessageID: r.PathValue("id")}
	if !utf8.ValidString(q.MessageID) {
		return wrong(http.StatusBadRequest, "a message's id is UTF-8")
	}
	var err error
	if q.MinEventSeq, err = r.number("min_event_seq"); err != nil {
		return err
	}
	if r.query.Has("revision") {
		n, err := r.number("revision")
		if err != nil {
			return err
		}
		q.Revision = &n
	}
	if text := r.query.Get("lines"); r.query.Has("lines") {
		m := lineRange.FindStringSubmatch(text)
		if m == nil {
			return wrong(http.StatusBadRequest, fmt.Sprintf("lines must be A-B, such as 10-20, or one line, not %q", text))
		}
		from, _ := strconv.Atoi(m[1])
		to, _ := strconv.Atoi(cmpOr(m[2], m[1]))
		q.Lines = []int{from, to}
	}
	body, err := json.Marshal(q)
	if err != nil {
		return err
	}
	return s.ask(w, r, api.MessageGet, r.thread, body)
}

func (s *Server) getSummary(w http.ResponseWriter, r *asking) error {
	id := r.PathValue("id")
	answer, err := s.answer(r, api.SummaryGet, id, nil)
	if err != nil {
		return err
	}
	var of struct {
		Thread string `json:"thread_id"`
	}
	if err := json.Unmarshal(answer, &of); err != nil {
		return fmt.Errorf("read summary: %w", err)
	}
	if !r.who.covers(of.Thread) { // as if there were none: an id says nothing of its thread
		return wrong(http.StatusNotFound, fmt.Sprintf("no summary %q", id))
	}
	return respond(w, answer)
}

func (s *Server) getRejections(w http.ResponseWriter, r *asking) error {
	after, err := r.number("after")
	if err != nil {
		return err
	}
	list, err := s.client.Rejections(r.Context(), r.thread, after)
	if err != nil {
		s.opts.Logger.Warn().Err(err).Msg("rejections not read")
		return wrong(http.StatusServiceUnavailable, "REJECTED can't be read now; retry soon")
	}
	return s.respondJSON(w, api.RejectionsReply{Rejections: list})
}

func (s *Server) getOpenAPI(w http.ResponseWriter, _ *asking) error { return respond(w, s.openAPI) }
