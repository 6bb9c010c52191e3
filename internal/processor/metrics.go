package processor

import (
	"cmp"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"precis/events"
	"precis/internal/broker"
	"precis/internal/fold"
	"precis/internal/service"
	"precis/internal/thread"
	"precis/state"
	"precis/summarize/rules"
)

// metrics are what an operator watches. Names follow Prometheus: base units, _total for counters.
type metrics struct {
	registry *prometheus.Registry

	events      []prometheus.Counter // by outcome
	rejections  *prometheus.CounterVec
	batch       prometheus.Histogram
	commits     prometheus.Histogram
	publishes   prometheus.Histogram
	records     prometheus.Counter
	positions   *prometheus.GaugeVec
	waiting     *prometheus.GaugeVec
	parking     *prometheus.CounterVec // by outcome
	parkedReads prometheus.Histogram
	parked      *prometheus.GaugeVec
	parkedBytes *prometheus.GaugeVec
	missing     *prometheus.CounterVec
	holes       *prometheus.GaugeVec
	refused     *prometheus.CounterVec
	prompts     *prometheus.CounterVec
	promptSize  *prometheus.CounterVec
	api         *prometheus.CounterVec
	foreign     prometheus.Counter
	leftOut     prometheus.Counter
	unpublished prometheus.Counter
	lag         prometheus.Histogram
	summaries   *prometheus.CounterVec
	tokens      *prometheus.CounterVec
	stale       *prometheus.CounterVec
	swept       *prometheus.CounterVec
	sweepLeft   *prometheus.GaugeVec
	idleLooks   *prometheus.CounterVec
	givenUp     prometheus.Counter
	reloads     *prometheus.CounterVec
	badReload   prometheus.Gauge
	failures    *prometheus.CounterVec
	calls       *prometheus.CounterVec
	callTokens  *prometheus.CounterVec
	callCost    *prometheus.CounterVec
	unknownCost *prometheus.CounterVec
	requests    *prometheus.HistogramVec
	following   prometheus.Gauge
	followed    prometheus.Counter
	started     prometheus.Gauge
	snapshots   *prometheus.CounterVec

	mu     sync.Mutex
	agents map[string]bool    // those with series of their own
	users  map[modelUser]bool // the same for prompts
}

// modelUser is an agent, and the model that its messages name.
type modelUser struct{ agent, model string }

// mostAgents is how many agents have series of their own, and mostUsers how many agents with a model: these names are whatever agents
// publish. The rest share "other".
const mostAgents, mostUsers = 200, 400

// others is the label of those beyond.
const others = "other"

func newMetrics(version string) *metrics {
	m := &metrics{registry: prometheus.NewRegistry(), agents: map[string]bool{}, users: map[modelUser]bool{}}
	m.gauges("precis_build_info", "1, with the versions of the program, its rules, its store and config.applied, and of the embedded server.", "version", "rules", "store", "config", "nats_server", "goversion").
		WithLabelValues(version, rules.Version, state.Format(), strconv.Itoa(events.ConfigVersion), broker.ServerVersion, runtime.Version()).Set(1)
	// The process collector has its time from /proc/stat, which the unit for systemd hides (ProcSubset=pid).
	m.started = promauto.With(m.registry).NewGauge(prometheus.GaugeOpts{Name: "precis_start_time_seconds", Help: "When the processor started, in seconds since 1970."})
	m.registry.MustRegister(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.makeFlow()
	m.makeSummaries()
	m.makeCalls()
	m.makeParking()
	return m
}

// makeFlow makes the metrics of the event flow.
func (m *metrics) makeFlow() {
	outcomes := m.counters("precis_events_total", "Events applied, by outcome: accepted, duplicate, ignored, held or rejected.", "outcome")
	for o := thread.Accepted; o <= thread.Rejected; o++ {
		m.events = append(m.events, outcomes.WithLabelValues(o.String()))
	}
	m.rejections = m.counters("precis_rejected_events_total", "Events rejected, by code; what was rejected before is not counted again while a lost store is made from the log.", "code")
	m.batch = m.histogram("precis_commit_events", "Events in one commit.", 1, 11)
	m.commits = m.histogram("precis_commit_seconds", "Time of one commit, the disk's sync included.", 0.0001, 16)
	m.publishes = m.histogram("precis_publish_seconds", "Time until the server has stored a wave of records.", 0.0001, 16)
	m.lag = m.histogram("precis_apply_lag_seconds", "From an event's arrival in the stream until it is applied.", 0.0005, 20)
	m.records = m.counter("precis_published_records_total", "Records that the server has stored in SUMMARIES and REJECTED, repeats included.")
	m.positions = m.gauges("precis_position", "The last EVENTS sequence that is durable, by partition.", "partition")
	m.waiting = m.gauges("precis_outbox_rows", "Records decided and not yet confirmed by the server, by partition.", "partition")
	m.missing = m.counters("precis_log_missing_total", "Messages that a stream should have given out and did not, met while reading.", "stream")
	m.holes = m.gauges("precis_log_holes", "Messages between the first and the last of a stream that the server knew to be gone at the start.", "stream")
	m.prompts = m.counters("precis_prompts_total", "Answers of precis.thread.context, by the policy that serves the thread (empty: none) and outcome: served, over_budget, stale, refused or failed.", "policy", "outcome")
	m.promptSize = m.counters("precis_prompt_tokens_total", "Tokens of the prompts that were served (held), and of all messages of their threads (whole), by the thread's first agent, its policy and the model that its messages reported last.", "agent", "policy", "model", "side")
	m.refused = m.counters("precis_requests_refused_total", "Requests to the service that were not worked on: reply_subject (no inbox to answer to) or waiting (too many wait for a min_event_seq).", "reason")
	m.requests = promauto.With(m.registry).NewHistogramVec(prometheus.HistogramOpts{
		Name: "precis_request_seconds", Help: "Time of a request to the service, by subject and outcome (ok, or the code of the error); one that waits for its min_event_seq counts its wait.",
		Buckets: prometheus.ExponentialBuckets(0.0005, 2, 15),
	}, []string{"subject", "outcome"})
	m.api = m.counters("precis_api_requests_total", "Answers of the HTTP API, by route (other: no such one, or refused before it) and status.", "route", "status")
	m.foreign = m.counter("precis_foreign_records_total", "Messages of SUMMARIES that are no record of a processor of these streams, or not in their place; met while reading.")
	m.leftOut = m.counter("precis_records_left_out_total", "Records of SUMMARIES that a recovery could not take over: unreadable, or what they refer to is missing.")
	m.unpublished = m.counter("precis_unpublished_records_total", "Records given up since they are larger than the server takes.")
	m.following = promauto.With(m.registry).NewGauge(prometheus.GaugeOpts{Name: "precis_standby_partitions", Help: "Partitions of other processors of the cluster that this one follows."})
	m.followed = m.counter("precis_standby_events_total", "Events folded in partitions of other processors of the cluster.")
	m.snapshots = m.counters("precis_snapshots_total", "Snapshots of partitions: made, failed, used by a partition that begins here, or refused there.", "outcome")
	// Start at 0, so that an increase includes the first one.
	for _, code := range []string{
		events.CodeInvalidJSON, events.CodeSchema, events.CodeThreadMismatch, events.CodeTypeMismatch,
		events.CodeMessageConflict, events.CodeUnknownMessage, events.CodeTooLarge,
	} {
		m.rejections.WithLabelValues(code)
	}
	for _, reason := range []string{service.RefusedReply, service.RefusedWaiting} {
		m.refused.WithLabelValues(reason)
	}
	for _, stream := range []string{broker.StreamEvents, broker.StreamSummaries, broker.StreamRejected} {
		m.missing.WithLabelValues(stream)
	}
}

// answered counts an answer of the HTTP API.
func (m *metrics) answered(route string, status int) {
	m.api.WithLabelValues(route, strconv.Itoa(status)).Inc()
}

// requested counts an answer of the service.
func (m *metrics) requested(subject, code string, took time.Duration) {
	m.requests.WithLabelValues(subject, cmp.Or(code, "ok")).Observe(took.Seconds())
}

// agent is the label of an agent: its id, or that of all that came after many others.
func (m *metrics) agent(id string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return bounded(m.agents, id, mostAgents, others)
}

// user are the labels of an agent and its model, in the same way.
func (m *metrics) user(agent, model string) modelUser {
	m.mu.Lock()
	defer m.mu.Unlock()
	return bounded(m.users, modelUser{agent, model}, mostUsers, modelUser{others, others})
}

func bounded[K comparable](known map[K]bool, name K, most int, rest K) K {
	if !known[name] {
		if len(known) >= most {
			return rest
		}
		known[name] = true
	}
	return name
}

// served counts an answer of precis.thread.context.
func (m *metrics) served(s service.Served) {
	m.prompts.WithLabelValues(s.Policy, s.Outcome).Inc()
	if s.Held > 0 {
		of := m.user(s.Agent, s.Model)
		m.promptSize.WithLabelValues(of.agent, s.Policy, of.model, "held").Add(float64(s.Held))
		m.promptSize.WithLabelValues(of.agent, s.Policy, of.model, "whole").Add(float64(s.Whole))
	}
}

// makeSummaries makes the metrics of summaries.
func (m *metrics) makeSummaries() {
	m.summaries = m.counters("precis_summaries_total", "Summaries made.", "kind", "method", "policy")
	m.tokens = m.counters("precis_summary_tokens_total", "Tokens of what summaries were made from (before) and of the summaries (after).", "kind", "policy", "side")
	m.stale = m.counters("precis_invalidations_total", "Summaries that became stale, by reason.", "kind", "reason")
	m.swept = m.counters("precis_sweep_summaries_total", "Summaries that a changed configuration was held against (looked_at), and those that it made stale, with what was made from them (stale).", "outcome")
	m.sweepLeft = m.gauges("precis_sweep_summaries_left", "Summaries that the configuration in force has yet to be held against, by partition.", "partition")
	m.idleLooks = m.counters("precis_idle_looks_total", "Threads looked at for being idle: compacted, not_due or failed.", "outcome")
	m.givenUp = m.counters("precis_renewals_given_up_total", "Stale summaries that are not made again: source_gone, the log no longer holds what they were made from.", "reason").WithLabelValues("source_gone")
	m.reloads = m.counters("precis_config_reloads_total", "Configurations read again: done or refused.", "outcome")
	m.badReload = promauto.With(m.registry).NewGauge(prometheus.GaugeOpts{Name: "precis_config_refused", Help: "1 from a refused reload until one succeeds, else 0."})
	m.failures = m.counters("precis_summary_failures_total", "Summaries that came to nothing, by code.", "kind", "code", "policy")
}

// makeCalls makes the metrics of model calls. The agent is that of the thread's first event.
func (m *metrics) makeCalls() {
	by := []string{"agent", "policy", "model"}
	m.calls = m.counters("precis_model_calls_total", "Calls of models, by outcome.", append([]string{"outcome"}, by...)...)
	m.callTokens = m.counters("precis_model_tokens_total", "Tokens of calls of models: input, output, and cached_input as a part of input.", append([]string{"direction"}, by...)...)
	m.callCost = m.counters("precis_model_cost_microusd_total", "Known cost of calls of models, in millionths of a US dollar.", by...)
	m.unknownCost = m.counters("precis_model_calls_of_unknown_cost_total", "Calls of models that no price is known for.", by...)
}

func (m *metrics) counter(name, help string) prometheus.Counter {
	return promauto.With(m.registry).NewCounter(prometheus.CounterOpts{Name: name, Help: help})
}

func (m *metrics) counters(name, help string, labels ...string) *prometheus.CounterVec {
	return promauto.With(m.registry).NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

func (m *metrics) gauges(name, help string, labels ...string) *prometheus.GaugeVec {
	return promauto.With(m.registry).NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
}

// histogram has buckets that double from the first one on.
func (m *metrics) histogram(name, help string, first float64, buckets int) prometheus.Histogram {
	return promauto.With(m.registry).NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: prometheus.ExponentialBuckets(first, 2, buckets)})
}

// decided counts a record that enters the outbox.
func (m *metrics) decided(d fold.Decided) {
	switch rec := d.Record.(type) {
	case *events.Summary:
		m.summaries.WithLabelValues(rec.Kind, rec.Method, d.Policy).Inc()
		m.tokens.WithLabelValues(rec.Kind, d.Policy, "before").Add(float64(rec.TokenCountBefore))
		m.tokens.WithLabelValues(rec.Kind, d.Policy, "after").Add(float64(rec.TokenCountAfter))
	case *events.Invalidated:
		m.stale.WithLabelValues(rec.Kind, rec.Reason).Inc()
	case *events.Started:
		if rec.Model != nil { // start at 0, before a call of unknown cost
			m.unknownCost.WithLabelValues(m.agent(d.Agent), d.Policy, *rec.Model)
		}
	case *events.Failed:
		m.failures.WithLabelValues(rec.Kind, rec.Code, d.Policy).Inc()
	case *events.UsageRecord:
		m.called(d, rec)
	}
}

func (m *metrics) called(d fold.Decided, rec *events.UsageRecord) {
	agent := m.agent(d.Agent)
	m.calls.WithLabelValues(rec.Outcome, agent, d.Policy, rec.Model).Inc()
	for direction, n := range map[string]int64{
		"input": rec.Usage.InputTokens, "output": rec.Usage.OutputTokens, "cached_input": rec.Usage.CachedInputTokens,
		"cache_creation_input": rec.Usage.CacheCreationInputTokens,
	} {
		m.callTokens.WithLabelValues(direction, agent, d.Policy, rec.Model).Add(float64(n))
	}
	if cost := rec.Cost.AmountMicroUSD; cost != nil {
		m.callCost.WithLabelValues(agent, d.Policy, rec.Model).Add(float64(*cost))
		return
	}
	m.unknownCost.WithLabelValues(agent, d.Policy, rec.Model).Inc()
}

func (m *metrics) event(d fold.Delivery, out fold.Outcome, now time.Time) {
	m.events[out.Outcome].Inc()
	for _, code := range out.Rejections {
		m.rejections.WithLabelValues(code).Inc()
	}
	m.lag.Observe(now.Sub(d.Time).Seconds())
}

func (m *metrics) commit(partition, events int, took time.Duration, last uint64) {
	if events > 0 {
		m.batch.Observe(float64(events))
	}
	m.commits.Observe(took.Seconds())
	m.positions.WithLabelValues(strconv.Itoa(partition)).Set(float64(last))
}

func (m *metrics) outbox(partition, rows int) {
	m.waiting.WithLabelValues(strconv.Itoa(partition)).Set(float64(rows))
}

// forget drops the series of a partition that this processor no longer has: their last values would stand for ever.
func (m *metrics) forget(partition int) {
	for _, of := range []*prometheus.GaugeVec{m.positions, m.waiting, m.sweepLeft, m.parked, m.parkedBytes} {
		of.DeleteLabelValues(strconv.Itoa(partition))
	}
}

func (m *metrics) published(rows int, took time.Duration) {
	m.records.Add(float64(rows))
	m.publishes.Observe(took.Seconds())
}
