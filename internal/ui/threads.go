package ui

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/go-json-experiment/json"

	"precis/api"
	"precis/internal/service"
)

// pageOf is how many threads a page has.
const pageOf = 50

// threadsBody is a list of threads.
type threadsBody struct {
	api.ThreadsReply
	Asked    api.ThreadsRequest
	Policies []string
	Policy   string // asked for; empty: any
	Columns  []column
	Next     string // the address of the next page
	First    string // that of the first one; empty on it
	Filtered bool
}

// column is a heading that sorts.
type column struct {
	Name, Sort, To string
	Class          string
	Order          string // aria-sort; empty: not by this
}

func (u *UI) threads(r *http.Request, v *Viewer) (*page, error) {
	in := r.URL.Query()
	q := api.ThreadsRequest{Prefix: v.Prefix, Search: in.Get("q"), Sort: in.Get("sort"), Ascending: in.Get("order") == "up", Stale: in.Get("stale") == "on", Limit: pageOf, After: in.Get("after")}
	if q.Sort == "" {
		q.Sort = api.SortRecent
	}
	if agent := in.Get("agent"); agent != "" {
		q.AgentID = &agent
	}
	if in.Get("agent") == "" && in.Get("unnamed") == "on" {
		q.AgentID = new(string)
	}
	if policy := in.Get("policy"); policy != "" {
		q.Policy = &policy
	}
	b := &threadsBody{Asked: q, Policy: in.Get("policy"), Filtered: q.Search != "" || q.AgentID != nil || q.Policy != nil || q.Stale}
	if err := u.ask(r, v, api.ThreadsList, "", q, &b.ThreadsReply); err != nil {
		return nil, err
	}
	for _, p := range u.Backend.Config().Policies {
		b.Policies = append(b.Policies, p.Name)
	}
	for i := range b.Threads {
		if p := b.Threads[i].ParentThreadID; p != nil && !v.Covers(*p) {
			b.Threads[i].ParentThreadID = nil
		}
	}
	to := func(changes ...string) string {
		next := url.Values{}
		for _, name := range []string{"q", "sort", "order", "agent", "policy", "stale", "unnamed"} {
			if value := in.Get(name); value != "" {
				next.Set(name, value)
			}
		}
		for i := 0; i+1 < len(changes); i += 2 {
			if next.Set(changes[i], changes[i+1]); changes[i+1] == "" {
				next.Del(changes[i])
			}
		}
		return Path + "threads?" + next.Encode()
	}
	for _, c := range []column{
		{Name: "Tokens", Sort: api.SortSize, Class: "num"}, {Name: "Prompt", Sort: api.SortPrompt, Class: "num"}, {Name: "Stale", Sort: api.SortStale, Class: "num"},
		{Name: "Cost", Sort: api.SortCost, Class: "num side-2"}, {Name: "Last event", Sort: api.SortRecent, Class: "num"},
	} {
		order := ""
		if c.Sort == q.Sort {
			c.Order, order = "descending", "up"
			if q.Ascending {
				c.Order, order = "ascending", ""
			}
		}
		c.To = to("sort", c.Sort, "order", order)
		b.Columns = append(b.Columns, c)
	}
	if b.ThreadsReply.Next != nil {
		b.Next = to("after", *b.ThreadsReply.Next)
	}
	if q.After != "" {
		b.First = to()
	}
	return &page{Name: "threads", Title: "Threads", Nav: "threads", Live: q.After == "", Body: b}, nil
}

// ask has the service answer a request, among those that come over NATS.
func (u *UI) ask(r *http.Request, v *Viewer, subject, id string, req, reply any) error {
	body, err := json.Marshal(req)
	if err != nil {
		return &failure{http.StatusBadRequest, "The request is not UTF-8."}
	}
	answer, fault := u.Service.Ask(r.Context(), service.Asked{Subject: subject, ID: id, Body: body, Client: "ui " + v.Name})
	if fault != nil {
		return &failure{fault.Status(), sentence(errors.New(fault.Message))}
	}
	return json.Unmarshal(answer, reply)
}
