package ui

import (
	"context"
	"net/http"

	"github.com/nats-io/nats.go/jetstream"

	"precis/internal/broker"
	"precis/internal/thread"
)

// shownJobs is how many jobs a page lists.
const shownJobs = 50

// partitionsBody is what runs.
type partitionsBody struct {
	List     []Partition
	Streams  []stream
	JobList  []job
	MoreJobs int
	Unread   uint64 // events of the log that are not read yet
	Waiting  uint64 // those that are read and not applied
	Outbox   int
	Jobs     int
	Cluster  *Cluster
	Others   []elsewhere // partitions that this processor does not have
}

// elsewhere is a partition of another processor.
type elsewhere struct {
	ID      int
	Strays  bool
	Owner   string // empty: none that lives
	Follows bool   // this processor is a stand-by of it
}

// others lists what this processor does not have.
func (b *partitionsBody) others(strays int) {
	mine := map[int]bool{}
	for _, p := range b.List {
		mine[p.ID] = true
	}
	follows := map[int]bool{}
	for _, m := range b.Cluster.Members {
		for _, n := range m.Follows {
			follows[n] = follows[n] || m.Self
		}
	}
	for n, owner := range b.Cluster.Owners {
		if !mine[n] {
			b.Others = append(b.Others, elsewhere{n, n == strays, owner, follows[n]})
		}
	}
}

type stream struct {
	Name string
	jetstream.StreamState
}

// job is a summary that a model is making.
type job struct {
	Partition int
	*thread.Job
}

// Thread is the thread of a job.
func (j job) Thread() string {
	if j.Started.ThreadID == nil {
		return ""
	}
	return *j.Started.ThreadID
}

func (u *UI) partitions(r *http.Request, v *Viewer) (*page, error) {
	if err := whole(v); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), lookFor)
	defer cancel()
	b := &partitionsBody{Cluster: u.Backend.Cluster()}
	var err error
	if b.List, b.Unread, err = u.Backend.Running(ctx); err != nil {
		return nil, err
	}
	if b.Cluster != nil {
		b.others(u.Backend.Partitions())
	}
	for _, name := range []string{broker.StreamEvents, broker.StreamSummaries, broker.StreamRejected} {
		s, err := u.JetStream.Stream(ctx, name)
		if err != nil {
			return nil, err
		}
		b.Streams = append(b.Streams, stream{name, s.CachedInfo().State})
	}
	for _, p := range b.List {
		b.Waiting += p.Waiting
		b.Outbox, b.Jobs = b.Outbox+p.Outbox, b.Jobs+p.Jobs
		if p.Jobs == 0 {
			continue
		}
		jobs, err := u.Backend.View(p.ID).Jobs()
		if err != nil {
			return nil, err
		}
		for _, j := range jobs {
			if len(b.JobList) == shownJobs {
				b.MoreJobs++
				continue
			}
			b.JobList = append(b.JobList, job{p.ID, j})
		}
	}
	return &page{Name: "partitions", Title: "Partitions", Nav: "partitions", Live: true, Body: b}, nil
}
