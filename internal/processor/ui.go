package processor

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"precis/internal/config"
	"precis/internal/fold"
	"precis/internal/natsurl"
	"precis/internal/ui"
	"precis/summarize"
)

// The processor implements ui.Backend.

// Connected implements ui.Backend.
func (p *Processor) Connected() bool { return p.broker.Conn().IsConnected() }

// glancePatience is how long a page waits for the streams: their answer takes a millisecond where all is well.
const glancePatience = 20 * time.Millisecond

// Trouble implements ui.Backend.
func (p *Processor) Trouble() string {
	if !p.roomForAnEvent() {
		return "the disk is full"
	}
	if err := p.writes.glance(glancePatience); err != nil {
		return err.Error()
	}
	return ""
}

// Config implements ui.Backend.
func (p *Processor) Config() *config.Config { return p.config.Load() }

// Reloaded implements ui.Backend.
func (p *Processor) Reloaded() (r ui.Reload) {
	r.Refused, r.At = p.refusal()
	if waiting := p.waiting.Load(); waiting != nil {
		r.Waiting = *waiting
	}
	return r
}

// Process implements ui.Backend.
func (p *Processor) Process() ui.Process {
	return ui.Process{Version: p.opts.Version, Owner: p.owner, NATS: natsurl.Redacted(p.broker.URL()), Started: p.began}
}

// Elsewhere implements ui.Backend.
func (p *Processor) Elsewhere(id int) string {
	if p.shares.member == nil || p.here(id) {
		return ""
	}
	v := p.shares.member.View()
	if process := v.Members[v.Owners[id]]; process != "" && v.Owners[id] != v.Self {
		return "the processor " + process
	}
	return "another processor"
}

// Cluster implements ui.Backend.
func (p *Processor) Cluster() *ui.Cluster {
	if p.shares.member == nil {
		return nil
	}
	v := p.shares.member.View()
	c := &ui.Cluster{Name: p.opts.Config.Cluster.Name, Owners: make([]string, len(v.Owners))}
	members := map[string]*ui.Member{}
	for key, peer := range v.Peers {
		members[key] = &ui.Member{Process: peer.ID, Self: key == v.Self, Weight: peer.Weight, Aside: peer.Aside}
	}
	for n, key := range v.Owners {
		if m := members[key]; m != nil {
			m.Owns, c.Owners[n] = append(m.Owns, n), m.Process
		}
	}
	for n, keys := range v.Standbys {
		for _, key := range keys {
			if m := members[key]; m != nil {
				m.Follows = append(m.Follows, n)
			}
		}
	}
	for _, m := range members {
		c.Members = append(c.Members, *m)
	}
	slices.SortFunc(c.Members, func(a, b ui.Member) int { return strings.Compare(a.Process, b.Process) })
	for _, change := range slices.Backward(v.Changes) {
		c.Changes = append(c.Changes, ui.Change(change))
	}
	return c
}

// Mask implements ui.Backend.
func (p *Processor) Mask(text string) string { return p.mask(text) }

// Imagined implements ui.Backend.
func (p *Processor) Imagined(policies []summarize.Policy) (*fold.Config, error) {
	c := *p.config.Load()
	c.Policies = policies
	return FoldConfig(&c, p.opts.Version)
}

// Moved implements ui.Backend: positions only go up, and so does what the streams are known to hold.
func (p *Processor) Moved() (sum uint64) {
	for _, part := range p.parts() {
		meta := part.stands.Load()
		sum += part.position.now() + meta.SummariesSeq + meta.RejectedSeq
	}
	return sum
}

// Running implements ui.Backend.
func (p *Processor) Running(ctx context.Context) (list []ui.Partition, unread uint64, err error) {
	lanes, through := p.backlog.Look()
	for _, part := range p.parts() {
		l := lanes[part.lane]
		list = append(list, ui.Partition{
			ID: part.id, Strays: part.id == p.strays(), Owner: p.owner, Position: part.position.now(), Waiting: uint64(max(l.Messages, 0)), Oldest: l.Oldest,
			Outbox: part.outbox.waitingRows(), Jobs: part.desk.open(),
		})
	}
	last, err := p.events.LastSeq(ctx)
	return list, last - min(last, through), err
}

// Served implements ui.Backend.
func (p *Processor) Served() []ui.Served {
	by := map[string]*ui.Served{}
	each := func(c *prometheus.CounterVec, count func(of *ui.Served, label map[string]string, n uint64)) {
		found := make(chan prometheus.Metric)
		go func() { c.Collect(found); close(found) }()
		for m := range found {
			var d dto.Metric
			if m.Write(&d) != nil {
				continue
			}
			label := map[string]string{}
			for _, l := range d.Label {
				label[l.GetName()] = l.GetValue()
			}
			of := by[label["policy"]]
			if of == nil {
				of = &ui.Served{Policy: label["policy"]}
				by[of.Policy] = of
			}
			count(of, label, uint64(d.Counter.GetValue()))
		}
	}
	each(p.metrics.prompts, func(of *ui.Served, label map[string]string, n uint64) {
		if label["outcome"] != "failed" && label["outcome"] != "refused" {
			of.Prompts += n
		}
	})
	each(p.metrics.promptSize, func(of *ui.Served, label map[string]string, n uint64) {
		if label["side"] == "held" {
			of.Held += n
		} else {
			of.Whole += n
		}
	})
	var list []ui.Served
	for _, of := range by {
		list = append(list, *of)
	}
	slices.SortFunc(list, func(a, b ui.Served) int { return strings.Compare(a.Policy, b.Policy) })
	return list
}

// waitingRows are the records that are not published yet.
func (o *outbox) waitingRows() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.rows)
}

// open are the jobs that have not ended.
func (d *desk) open() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.running)
}

var _ ui.Backend = (*Processor)(nil)
