package processor

import (
	"context"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"precis/internal/broker"
)

// unreadLabel stands where a partition would: the partition of an event that has not been read is unknown.
const unreadLabel = "unread"

// lagMetrics are how far the processor is behind the log, looked up at each scrape.
type lagMetrics struct {
	p             *Processor
	messages, age *prometheus.Desc
}

func newLagMetrics(p *Processor) *lagMetrics {
	return &lagMetrics{
		p:        p,
		messages: prometheus.NewDesc("precis_lag_messages", "Events that are not applied: those read, by partition, and those not read yet (unread). The sum is all of them.", []string{"partition"}, nil),
		age:      prometheus.NewDesc("precis_oldest_unapplied_event_age_seconds", "How long ago the oldest event that is not applied was stored; 0: all are applied.", nil, nil),
	}
}

// Describe implements prometheus.Collector.
func (m *lagMetrics) Describe(out chan<- *prometheus.Desc) {
	out <- m.messages
	out <- m.age
}

// Collect implements prometheus.Collector. What only the server knows is missing if it does not answer.
func (m *lagMetrics) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), storageTimeout)
	defer cancel()
	set := m.p.running.Load()
	lanes, through := m.p.backlog.Look()
	var oldest time.Time
	for name, l := range lanes {
		if set.byLane[name] == nil {
			continue // another processor of the cluster has the partition by now
		}
		partition := strings.TrimPrefix(name, "p")
		out <- prometheus.MustNewConstMetric(m.messages, prometheus.GaugeValue, float64(l.Messages), partition)
		if oldest.IsZero() || !l.Oldest.IsZero() && l.Oldest.Before(oldest) {
			oldest = l.Oldest
		}
	}
	if len(set.list) == 0 { // it reads nothing, and nothing waits for it
		out <- prometheus.MustNewConstMetric(m.messages, prometheus.GaugeValue, 0, unreadLabel)
		out <- prometheus.MustNewConstMetric(m.age, prometheus.GaugeValue, 0)
		return
	}
	end, err := broker.StateOf(ctx, m.p.broker.JetStream(), broker.StreamEvents)
	if err != nil {
		return
	}
	unread := end.Last - min(end.Last, through)
	if unread > 0 && through < end.First { // retention has taken some of them
		unread = end.Last - end.First + 1
	}
	out <- prometheus.MustNewConstMetric(m.messages, prometheus.GaugeValue, float64(unread), unreadLabel)
	if unread > 0 && oldest.IsZero() {
		next, err := m.p.events.Get(ctx, max(through+1, end.First))
		if err != nil {
			return // it is gone, or the server does not answer
		}
		oldest = next.Time
	}
	age := 0.0
	if !oldest.IsZero() {
		age = max(m.p.Now().Sub(oldest).Seconds(), 0)
	}
	out <- prometheus.MustNewConstMetric(m.age, prometheus.GaugeValue, age)
}
