package gateway

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Reasons for which something is not published.
const (
	lostQueue    = "queue_full"    // publishing is behind
	lostMemory   = "memory"        // too many bodies at once
	lostSize     = "too_large"     // a body or an event is longer than its limit
	lostCoding   = "unpack"        // a body can't be unpacked
	lostRequest  = "request"       // the request is not in the shape of its API
	lostAnswer   = "answer"        // nor is the answer
	lostThread   = "thread"        // the client names a thread that can't be one
	lostBuffer   = "buffer_full"   // NATS is away for too long
	lostRefused  = "refused"       // NATS refuses the event
	lostRejected = "rejected"      // precis would reject the event
	lostStop     = "stopped"       // the gateway stopped before NATS had it
	lostPartial  = "answer_broken" // the answer broke off
)

// Metrics are what an operator watches.
type Metrics struct {
	requests  *prometheus.CounterVec
	published *prometheus.CounterVec
	dropped   *prometheus.CounterVec
	compacted *prometheus.CounterVec
	queued    prometheus.Gauge
	held      prometheus.Gauge
	prepared  prometheus.Gauge
}

// NewMetrics registers them; nil registers nowhere.
func NewMetrics(r prometheus.Registerer) *Metrics {
	f := promauto.With(r)
	vec := func(name, help string, labels ...string) *prometheus.CounterVec {
		return f.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	return &Metrics{
		requests: vec("precis_gateway_requests_total",
			"Requests answered, by API (chat, responses, messages, or other: only passed on) and status; 0: the client left first.", "api", "status"),
		published: vec("precis_gateway_published_events_total", "Events stored, by type.", "type"),
		dropped:   vec("precis_gateway_dropped_total", "Exchanges or events that were not published, by reason.", "reason"),
		compacted: vec("precis_gateway_compacted_total", "Requests in mode compact, by outcome: yes, prepared (the prompt of an earlier request, and the newer messages whole), answered (a compaction by precis), or the reason for which they went as they came.", "outcome"),
		queued:    f.NewGauge(prometheus.GaugeOpts{Name: "precis_gateway_queued_exchanges", Help: "Exchanges that wait to be published."}),
		held:      f.NewGauge(prometheus.GaugeOpts{Name: "precis_gateway_held_bytes", Help: "Bytes of copies of bodies."}),
		prepared:  f.NewGauge(prometheus.GaugeOpts{Name: "precis_gateway_prepared_bytes", Help: "About how many bytes the prompts take that are kept for requests that come while precis is slow."}),
	}
}

func (m *Metrics) answered(a *api, status int) {
	name := "other"
	if a != nil {
		name = a.name
	}
	m.requests.WithLabelValues(name, strconv.Itoa(status)).Inc()
}
