package tracing

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"precis/events"
	"precis/internal/thread"
	"precis/state"
	"precis/summarize/llm"
)

// mostLinks is how many events of a batch the span of its commit links to.
const mostLinks = 128

// Tracer makes spans and exports them. A nil one makes none.
type Tracer struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
	exporter *exporter
	made     made
	stop     context.CancelFunc // ends what is exported
	log      zerolog.Logger
}

// complainEvery is how often the log repeats that spans can't be exported.
const complainEvery = time.Minute

// complaints is the log of a collector that does not take spans: a line at once, and then one a minute, however many batches fail.
func complaints(log zerolog.Logger, now func() time.Time) func(error) {
	var (
		mu     sync.Mutex
		last   time.Time
		silent int
	)
	return func(err error) {
		mu.Lock()
		defer mu.Unlock()
		if at := now(); last.IsZero() || at.Sub(last) >= complainEvery {
			log.Warn().Err(err).Int("failures_not_logged", silent).Msg("traces")
			last, silent = at, 0
			return
		}
		silent++
	}
}

// made counts the sampled spans that have ended. The SDK drops what its queue does not hold without a word.
type made struct{ count atomic.Int64 }

func (m *made) OnStart(context.Context, sdk.ReadWriteSpan) {}
func (m *made) Shutdown(context.Context) error             { return nil }
func (m *made) ForceFlush(context.Context) error           { return nil }
func (m *made) OnEnd(s sdk.ReadOnlySpan) {
	if s.SpanContext().IsSampled() {
		m.count.Add(1)
	}
}

// Open reads the environment, under OpenTelemetry's names. It returns nil where nothing asks for traces. The SDK reads those of samplers, limits and
// batches itself.
func Open(ctx context.Context, env func(string) string, version string, log zerolog.Logger) (*Tracer, error) {
	s, err := read(env)
	if s == nil || err != nil {
		return nil, err
	}
	about, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", "precis"), attribute.String("service.version", version)),
		resource.WithTelemetrySDK(), resource.WithFromEnv(),
	)
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(complaints(log, time.Now)))
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	t := &Tracer{exporter: &exporter{settings: *s, client: s.client(), ending: make(chan struct{}), life: life}, stop: stop, log: log}
	t.provider = sdk.NewTracerProvider(sdk.WithResource(about), sdk.WithSpanProcessor(&t.made), sdk.WithBatcher(t.exporter))
	t.tracer = t.provider.Tracer("precis", trace.WithInstrumentationVersion(version))
	return t, nil
}

// Close exports what is left, until ctx ends, and logs how many spans the collector has not got. It is called once.
func (t *Tracer) Close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	close(t.exporter.ending)
	err := t.provider.Shutdown(ctx)
	t.stop()
	t.exporter.client.CloseIdleConnections()
	made, taken := t.made.count.Load(), t.exporter.taken.Load()
	line := t.log.Debug()
	if taken < made {
		line = t.log.Warn()
	}
	line.Int64("exported", taken).Int64("lost", made-taken).Msg("traces end")
	if err != nil {
		return fmt.Errorf("export the last spans: %w", err)
	}
	return nil
}

// Span is one that may not be recorded: a nil one does nothing.
type Span struct{ trace.Span }

func recorded(s trace.Span) *Span {
	if !s.IsRecording() {
		return nil
	}
	return &Span{s}
}

// Log adds the ids of the span in a context to a line of the log.
func Log(ctx context.Context, line *zerolog.Event) *zerolog.Event {
	if of := trace.SpanContextFromContext(ctx); of.IsValid() {
		return line.Stringer("trace_id", of.TraceID()).Stringer("span_id", of.SpanID())
	}
	return line
}

// Context puts the span into a context.
func (s *Span) Context(ctx context.Context) context.Context {
	if s == nil {
		return ctx
	}
	return trace.ContextWithSpan(ctx, s.Span)
}

// End ends the span with what came of it; an error marks it as failed.
func (s *Span) End(outcome string, err error) {
	if s == nil {
		return
	}
	if outcome != "" {
		s.SetAttributes(attribute.String("precis.outcome", outcome))
	}
	if err != nil { // its text may repeat contents
		s.SetStatus(codes.Error, "")
		s.SetAttributes(attribute.String("error.type", "_OTHER"))
	}
	s.Span.End()
}

// decided notes a record on the span of its event.
func (s *Span) decided(record any) {
	switch rec := record.(type) {
	case *events.Summary:
		s.AddEvent(string(events.SummaryCreated), trace.WithAttributes(
			attribute.String("precis.summary.id", rec.ID), attribute.String("precis.summary.kind", rec.Kind), attribute.String("precis.summary.method", rec.Method),
		), trace.WithAttributes(sizes(rec)...))
		if rec.Kind == events.KindCompaction {
			s.SetAttributes(attribute.Bool("gen_ai.conversation.compacted", true))
		}
	case *events.Invalidated:
		s.AddEvent(string(events.SummaryInvalidated), trace.WithAttributes(
			attribute.String("precis.summary.id", rec.SummaryID), attribute.String("precis.summary.kind", rec.Kind), attribute.String("precis.stale.reason", rec.Reason),
		))
	case *events.Started:
		s.AddEvent(string(events.SummaryStarted), trace.WithAttributes(attribute.String("precis.summary.id", rec.SummaryID), attribute.String("precis.summary.kind", rec.Kind)))
	}
}

// stepped ends the span of an event.
func (s *Span) stepped(outcome thread.Outcome, code string, err error) {
	if code != "" {
		s.SetAttributes(attribute.String("precis.rejection.code", code))
	}
	s.End(outcome.String(), err)
}

// sizes are the tokens of what a summary stands for, and its own.
func sizes(rec *events.Summary) []attribute.KeyValue {
	return []attribute.KeyValue{
		attribute.Int64("precis.summary.tokens_before", rec.TokenCountBefore), attribute.Int64("precis.summary.tokens_after", rec.TokenCountAfter),
	}
}

// sendSpan begins the span of a record's way into the log.
func (t *Tracer) sendSpan(of parent, row *state.Outgoing) *Span {
	_, s := t.tracer.Start(of.context(), "send "+string(row.Type), trace.WithSpanKind(trace.SpanKindProducer), trace.WithAttributes(
		attribute.String("messaging.system", "nats"), attribute.String("messaging.operation.type", "send"), attribute.String("messaging.operation.name", "send"),
		attribute.String("messaging.destination.name", string(row.Type)), attribute.String("messaging.message.id", row.ID),
		attribute.String("gen_ai.conversation.id", row.Thread),
	))
	return recorded(s)
}

// sent ends the span of a record's way with its sequence; 0: it is stored, but the server has not said where.
func (s *Span) sent(seq uint64) {
	if seq > 0 {
		s.SetAttributes(attribute.Int64("precis.record.seq", int64(seq)))
	}
	s.Span.End()
}

// unsent ends the span of an attempt that the server has not confirmed: another follows.
func (s *Span) unsent() {
	s.SetStatus(codes.Error, "")
	s.SetAttributes(attribute.String("error.type", "unconfirmed"))
	s.Span.End()
}

// summarized ends the span of a job.
func (s *Span) summarized(method, model, failure string) {
	s.SetAttributes(attribute.String("precis.summary.method", method))
	if model != "" {
		s.SetAttributes(attribute.String("gen_ai.response.model", model))
	}
	if failure != "" {
		s.SetStatus(codes.Error, "")
		s.SetAttributes(attribute.String("error.type", failure))
	}
	s.Span.End()
}

// eventSpan begins the span of an event. The samplers of the environment look at no attributes, so that an event which is not recorded does
// not cost them.
func (t *Tracer) eventSpan(of parent, subject string, partition int, seq uint64) *Span {
	typ, token, _ := events.ParseSubject(subject)
	_, started := t.tracer.Start(of.context(), "process "+string(typ), trace.WithSpanKind(trace.SpanKindConsumer))
	s := recorded(started)
	if s == nil {
		return nil
	}
	name, err := events.ThreadOf(token)
	if err != nil {
		name = "" // it is rejected
	}
	s.SetAttributes(
		attribute.String("messaging.system", "nats"), attribute.String("messaging.operation.type", "process"), attribute.String("messaging.operation.name", "process"),
		attribute.String("messaging.destination.name", string(typ)), attribute.String("messaging.destination.partition.id", strconv.Itoa(partition)),
		attribute.String("gen_ai.conversation.id", name), attribute.Int64("precis.event.seq", int64(seq)),
	)
	return s
}

// jobSpan begins the span of a job.
func (t *Tracer) jobSpan(of parent, job *thread.Job, name string) *Span {
	at := []attribute.KeyValue{
		attribute.String("gen_ai.conversation.id", name), attribute.String("precis.summary.id", job.ID()), attribute.String("precis.summary.kind", job.Started.Kind),
		attribute.String("precis.summary.slot", job.Started.Slot), attribute.String("precis.trigger", job.Started.Trigger.Reason), attribute.String("precis.policy", job.Started.Policy),
	}
	if job.Started.Kind == events.KindCompaction {
		at = append(at, attribute.Bool("gen_ai.conversation.compacted", true))
	}
	_, s := t.tracer.Start(of.context(), "summarize "+job.Started.Kind, trace.WithAttributes(at...))
	return recorded(s)
}

// commitSpan makes the span of a batch that has become durable. It belongs to no event's trace, and links to those that are recorded.
func (t *Tracer) commitSpan(batch []trace.SpanContext, partition, count int, began, ended time.Time) {
	links := make([]trace.Link, len(batch))
	for i, of := range batch {
		links[i] = trace.Link{SpanContext: of}
	}
	_, s := t.tracer.Start(context.Background(), "commit", trace.WithTimestamp(began), trace.WithLinks(links...), trace.WithAttributes(
		attribute.String("messaging.system", "nats"), attribute.Int("messaging.batch.message_count", count), attribute.String("messaging.destination.partition.id", strconv.Itoa(partition)),
	))
	s.End(trace.WithTimestamp(ended))
}

// Called makes the span of a call to a provider, below the span in ctx.
func Called(ctx context.Context, made llm.Made) {
	in := trace.SpanFromContext(ctx)
	if !in.IsRecording() {
		return
	}
	_, s := in.TracerProvider().Tracer("precis").Start(ctx, "chat "+made.Requested, trace.WithSpanKind(trace.SpanKindClient), trace.WithTimestamp(made.Began), trace.WithAttributes(
		attribute.String("gen_ai.operation.name", "chat"), attribute.String("gen_ai.provider.name", made.Kind), attribute.String("gen_ai.request.model", made.Requested),
		attribute.String("server.address", made.Host), attribute.String("precis.provider", made.Provider), attribute.Int("precis.attempt", made.Attempt),
	))
	if made.Reported != "" {
		s.SetAttributes(attribute.String("gen_ai.response.model", made.Reported))
	}
	if u := made.Usage; u.InputTokens+u.OutputTokens > 0 {
		s.SetAttributes(
			attribute.Int64("gen_ai.usage.input_tokens", u.InputTokens), attribute.Int64("gen_ai.usage.output_tokens", u.OutputTokens),
			attribute.Int64("gen_ai.usage.cache_read.input_tokens", u.CachedInputTokens), attribute.Int64("gen_ai.usage.cache_creation.input_tokens", u.CacheWriteTokens),
			attribute.Bool("precis.usage.estimated", u.Source == llm.FromEstimate),
		)
	}
	if made.Cost != nil {
		s.SetAttributes(attribute.Int64("precis.cost.microusd", *made.Cost))
	}
	if made.Why != "" {
		s.SetStatus(codes.Error, "")
		s.SetAttributes(attribute.String("error.type", made.Why))
	}
	s.End(trace.WithTimestamp(made.Began.Add(made.Latency)))
}

// context has the parent that headers name.
func (p parent) context() context.Context {
	if p.parent == "" {
		return context.Background()
	}
	return propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{headerTraceparent: p.parent, headerTracestate: p.state})
}

// headers are those that continue a span.
func headers(of trace.SpanContext) parent {
	return parent{parent: "00-" + of.TraceID().String() + "-" + of.SpanID().String() + "-" + of.TraceFlags().String(), state: of.TraceState().String()}
}
