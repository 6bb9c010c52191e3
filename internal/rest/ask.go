package rest

import (
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

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
	answer, fault := s.opts.Service.Ask(r.Context(), service.Asked{Subject: subject, ID: id, Body: body, Client: "http " + clientOf(r), Threads: r.who.threads})
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
	r.who.unname(&reply)
	return s.respondJSON(w, reply)
}

// unname takes the names of threads of others out of a thread's reply. The counts are the thread's own.
func (t *token) unname(r *api.ThreadReply) {
	r.Children = slices.DeleteFunc(r.Children, func(c api.Child) bool { return !t.covers(c.ThreadID) })
	if r.ParentThreadID != nil && !t.covers(*r.ParentThreadID) {
		r.ParentThreadID = nil
	}
	t.unnameParent(r.Fork)
}

func (t *token) unnameParent(of *api.Lineage) {
	if of != nil && !t.covers(of.ParentThreadID) {
		of.ParentThreadID = ""
	}
}

func (s *Server) postContext(w http.ResponseWriter, r *asking) error {
	body, release, err := s.body(w, r)
	if err != nil {
		return err
	}
	defer release()
	answer, err := s.answer(r, api.ThreadContext, r.thread, body)
	if err == nil && r.who.threads != "" {
		answer, err = s.unnamed(r, body, answer)
	}
	if err != nil {
		return err
	}
	return respond(w, answer)
}

// unnamed returns the answer to a request for a context without the names of threads of others. Where another processor made it, and some of these
// run, the prompt may name them as well, so that one is made that names none.
func (s *Server) unnamed(r *asking, body, answer []byte) ([]byte, error) {
	var names struct {
		Fork    *api.Lineage         `json:"fork"`
		Running api.Nullable[string] `json:"running_thread_ids"`
	}
	if err := json.Unmarshal(answer, &names); err != nil {
		return nil, fmt.Errorf("read context: %w", err)
	}
	mine := slices.DeleteFunc(slices.Clone(names.Running), func(id string) bool { return !r.who.covers(id) })
	others := len(mine) < len(names.Running)
	if !others && (names.Fork == nil || r.who.covers(names.Fork.ParentThreadID)) {
		return answer, nil
	}
	if others {
		var err error
		if answer, err = s.childless(r, body); err != nil {
			return nil, err
		}
	}
	var reply map[string]jsontext.Value
	if err := json.Unmarshal(answer, &reply); err != nil {
		return nil, fmt.Errorf("read context: %w", err)
	}
	r.who.unnameParent(names.Fork)
	fork, err := json.Marshal(names.Fork)
	running, err2 := json.Marshal(mine)
	if err := errors.Join(err, err2); err != nil {
		return nil, fmt.Errorf("encode context: %w", err)
	}
	reply["fork"], reply["running_thread_ids"] = fork, running
	return json.Marshal(reply, json.Deterministic(true))
}

// childless answers a request for a context as if it did not ask for children.
func (s *Server) childless(r *asking, body []byte) ([]byte, error) {
	var req map[string]jsontext.Value
	if err := json.Unmarshal(body, &req); err != nil {
		return nil, fmt.Errorf("read request: %w", err)
	}
	delete(req, "children")
	body, err := json.Marshal(req)
	if err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	return s.answer(r, api.ThreadContext, r.thread, body)
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
