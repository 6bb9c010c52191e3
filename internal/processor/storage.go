package processor

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"precis/internal/broker"
)

// storageTimeout bounds how long a probe or a scrape waits for the server to report what it holds.
const storageTimeout = time.Second

func (p *Processor) storage() (broker.Storage, error) {
	ctx, cancel := context.WithTimeout(context.Background(), storageTimeout)
	defer cancel()
	return p.broker.Storage(ctx)
}

// nearlyFull is the share of the server's store above which a probe warns.
const nearlyFull = 0.9

// stored checks the room that the streams have. full means that it is too little for the largest event, so that the
// server refuses what agents publish; warning is empty if there is enough room.
func (p *Processor) stored() (full bool, warning string) {
	s, err := p.storage()
	if err != nil {
		p.log.Warn().Err(err).Msg("can't tell how full the server's store is")
		return false, ""
	}
	left, known := s.Left()
	switch {
	case !known:
		return false, ""
	case left < broker.MaxPayload:
		return true, fmt.Sprintf("the server's store is full: %d of %d bytes", s.Used, s.Limit)
	case float64(s.Used) > nearlyFull*float64(s.Limit):
		return false, fmt.Sprintf("the server's store is nearly full: %d of %d bytes", s.Used, s.Limit)
	}
	return false, ""
}

// storageMetrics queries the server at each scrape.
type storageMetrics struct {
	ask         func() (broker.Storage, error)
	used, limit *prometheus.Desc
}

func newStorageMetrics(ask func() (broker.Storage, error)) *storageMetrics {
	return &storageMetrics{
		ask:   ask,
		used:  prometheus.NewDesc("precis_nats_store_bytes", "What streams take of the server's disk.", nil, nil),
		limit: prometheus.NewDesc("precis_nats_store_limit_bytes", "What they may take before the server refuses events; not there where no limit is known.", nil, nil),
	}
}

// Describe implements prometheus.Collector.
func (m *storageMetrics) Describe(out chan<- *prometheus.Desc) {
	out <- m.used
	out <- m.limit
}

// Collect implements prometheus.Collector. It reports nothing if the server does not answer.
func (m *storageMetrics) Collect(out chan<- prometheus.Metric) {
	s, err := m.ask()
	if err != nil {
		return
	}
	out <- prometheus.MustNewConstMetric(m.used, prometheus.GaugeValue, float64(s.Used))
	if s.Limit > 0 {
		out <- prometheus.MustNewConstMetric(m.limit, prometheus.GaugeValue, float64(s.Limit))
	}
}
