package rest

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"precis/api"
)

// problem is an error on its way to the client.
type problem struct {
	api.Problem
	retry  int    // seconds; 0: a repetition is of no use
	allow  string // methods of the route, with 405
	scheme bool   // asks for a token
}

func (p *problem) Error() string { return p.Detail }

// titles are the names of statuses where they say more than HTTP's own.
var titles = map[int]string{
	http.StatusConflict: "Stale summary", http.StatusUnprocessableEntity: "Events rejected", http.StatusServiceUnavailable: "Not ready",
}

// wrong returns a problem that says what to do.
func wrong(status int, detail string) *problem {
	title := titles[status]
	if title == "" {
		title = http.StatusText(status)
	}
	p := &problem{Problem: api.Problem{
		Type: "urn:precis:problem:" + strings.ReplaceAll(strings.ToLower(title), " ", "-"), Title: title, Status: status, Detail: detail,
	}}
	switch status {
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		p.retry = 1
	case http.StatusUnauthorized:
		p.scheme = true
	}
	return p
}

func (p *problem) write(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	if p.retry > 0 {
		h.Set("Retry-After", strconv.Itoa(p.retry))
	}
	if p.allow != "" {
		h.Set("Allow", p.allow)
	}
	if p.scheme {
		h.Set("WWW-Authenticate", `Bearer realm="precis"`)
	}
	body, err := json.Marshal(p.Problem)
	if err != nil {
		panic("a problem has no JSON: " + err.Error())
	}
	w.WriteHeader(p.Status)
	_, _ = w.Write(append(body, '\n')) // an error means that the client is gone
}
