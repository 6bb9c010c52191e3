package tracing

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	otel "go.opentelemetry.io/otel/trace"
	collector "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/slim/otlp/common/v1"
	resources "go.opentelemetry.io/proto/slim/otlp/resource/v1"
	traces "go.opentelemetry.io/proto/slim/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

const (
	// Pauses between attempts to deliver spans, for the statuses that OTLP calls retryable.
	retryMin, retryMax = time.Second, 30 * time.Second
	// maxAfter bounds what a collector may ask for, in seconds. An export ends with its timeout in any case.
	maxAfter = 3600
	// answerBytes is what is read of a collector's answer.
	answerBytes = 64 << 10
)

// exporter sends spans by OTLP, over HTTP or gRPC. The official ones link grpc, either of them: 5 MB, and as much again to build.
type exporter struct {
	settings
	client *http.Client
	// ending is closed when the program ends: a collector that is away is not waited for then.
	ending chan struct{}
	// life ends what is under way when the end waits no longer.
	life context.Context //nolint:containedctx // the SDK's queue has a context of its own, which nothing can end
	// taken is how many spans the collector has confirmed.
	taken atomic.Int64
}

// ExportSpans implements sdk.SpanExporter.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	body, err := proto.Marshal(&collector.ExportTraceServiceRequest{ResourceSpans: grouped(spans)})
	if err != nil {
		return fmt.Errorf("export spans: %w", err)
	}
	if e.gzip {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		if _, err := w.Write(body); err != nil {
			return fmt.Errorf("export spans: %w", err)
		}
		if err := w.Close(); err != nil {
			return fmt.Errorf("export spans: %w", err)
		}
		body = b.Bytes()
	}
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	defer context.AfterFunc(e.life, cancel)()
	for wait := retryMin; ; wait = min(2*wait, retryMax) {
		after, rejected, err := e.attempt(ctx, body)
		if err == nil || rejected > 0 {
			e.taken.Add(int64(len(spans)) - rejected)
		}
		if err == nil || after < 0 {
			return err
		}
		ending := e.ending
		if after > 0 {
			ending = nil // it is there
		}
		select {
		case <-time.After(max(after, wait)):
		case <-ending:
			return err
		case <-ctx.Done():
			return err
		}
	}
}

// attempt sends spans once. after is how long to wait at least until the next, 0 if the collector did not answer; negative: another one does not help. rejected
// is how many spans it has not taken although it took the others.
func (e *exporter) attempt(ctx context.Context, body []byte) (after time.Duration, rejected int64, err error) {
	if e.grpc {
		return e.call(ctx, body)
	}
	return e.send(ctx, body)
}

// send makes one attempt over HTTP; its results are those of attempt.
func (e *exporter) send(ctx context.Context, body []byte) (after time.Duration, rejected int64, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.endpoint, bytes.NewReader(body))
	if err != nil {
		return -1, 0, fmt.Errorf("export spans: %w", err)
	}
	for name, value := range e.headers {
		req.Header.Set(name, value)
	}
	req.Header.Set("Content-Type", "application/x-protobuf")
	if e.gzip {
		req.Header.Set("Content-Encoding", "gzip")
	}
	res, err := e.client.Do(req)
	if err != nil {
		return 0, 0, fmt.Errorf("export spans: %w", err)
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(res.Body, answerBytes)) // it only explains
	if res.StatusCode/100 == 2 {
		return taken(text)
	}
	err = fmt.Errorf("export spans: the collector answers %s", res.Status)
	switch res.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		seconds, _ := strconv.Atoi(res.Header.Get("Retry-After")) // a date counts as none
		return max(time.Duration(min(max(seconds, 0), maxAfter))*time.Second, retryMin), 0, err
	}
	return -1, 0, err
}

// Shutdown implements sdk.SpanExporter.
func (e *exporter) Shutdown(context.Context) error {
	e.client.CloseIdleConnections()
	return nil
}

// grouped are spans as OTLP has them. All are of one resource.
func grouped(spans []sdk.ReadOnlySpan) []*traces.ResourceSpans {
	if len(spans) == 0 {
		return nil
	}
	var scopes []*traces.ScopeSpans
	of := map[instrumentation.Scope]*traces.ScopeSpans{}
	for _, s := range spans {
		scope := s.InstrumentationScope()
		if of[scope] == nil {
			of[scope] = &traces.ScopeSpans{Scope: &common.InstrumentationScope{Name: scope.Name, Version: scope.Version}, SchemaUrl: scope.SchemaURL}
			scopes = append(scopes, of[scope])
		}
		of[scope].Spans = append(of[scope].Spans, span(s))
	}
	return []*traces.ResourceSpans{{Resource: resourceOf(spans[0].Resource()), SchemaUrl: spans[0].Resource().SchemaURL(), ScopeSpans: scopes}}
}

func resourceOf(r *resource.Resource) *resources.Resource {
	return &resources.Resource{Attributes: attributes(r.Attributes())}
}

func span(s sdk.ReadOnlySpan) *traces.Span {
	trace, id := s.SpanContext().TraceID(), s.SpanContext().SpanID()
	out := &traces.Span{
		TraceId: trace[:], SpanId: id[:], TraceState: s.SpanContext().TraceState().String(), Flags: flags(s.SpanContext(), s.Parent()),
		Name: s.Name(), Kind: traces.Span_SpanKind(s.SpanKind()),
		StartTimeUnixNano: uint64(s.StartTime().UnixNano()), EndTimeUnixNano: uint64(s.EndTime().UnixNano()),
		Attributes: attributes(s.Attributes()), DroppedAttributesCount: uint32(s.DroppedAttributes()), DroppedLinksCount: uint32(s.DroppedLinks()),
		Status: &traces.Status{Message: s.Status().Description, Code: statuses[uint32(s.Status().Code)]},
	}
	if parent := s.Parent().SpanID(); parent.IsValid() {
		out.ParentSpanId = parent[:]
	}
	for _, e := range s.Events() {
		out.Events = append(out.Events, &traces.Span_Event{TimeUnixNano: uint64(e.Time.UnixNano()), Name: e.Name, Attributes: attributes(e.Attributes)})
	}
	out.DroppedEventsCount = uint32(s.DroppedEvents())
	for _, l := range s.Links() {
		trace, id := l.SpanContext.TraceID(), l.SpanContext.SpanID()
		out.Links = append(out.Links, &traces.Span_Link{
			TraceId: trace[:], SpanId: id[:], TraceState: l.SpanContext.TraceState().String(), Attributes: attributes(l.Attributes), Flags: flags(l.SpanContext, l.SpanContext),
		})
	}
	return out
}

// statuses are OTLP's numbers of the SDK's codes: unset, error, ok.
var statuses = map[uint32]traces.Status_StatusCode{1: traces.Status_STATUS_CODE_ERROR, 2: traces.Status_STATUS_CODE_OK}

// flags are those of a context, and whether the other one is remote.
func flags(of, parent otel.SpanContext) uint32 {
	f := uint32(of.TraceFlags()) | uint32(traces.SpanFlags_SPAN_FLAGS_CONTEXT_HAS_IS_REMOTE_MASK)
	if parent.IsRemote() {
		f |= uint32(traces.SpanFlags_SPAN_FLAGS_CONTEXT_IS_REMOTE_MASK)
	}
	return f
}

func attributes(list []attribute.KeyValue) (out []*common.KeyValue) {
	for _, kv := range list {
		out = append(out, &common.KeyValue{Key: string(kv.Key), Value: value(kv.Value)})
	}
	return out
}

func value(v attribute.Value) *common.AnyValue {
	switch v.Type() {
	case attribute.BOOL:
		return &common.AnyValue{Value: &common.AnyValue_BoolValue{BoolValue: v.AsBool()}}
	case attribute.INT64:
		return &common.AnyValue{Value: &common.AnyValue_IntValue{IntValue: v.AsInt64()}}
	case attribute.FLOAT64:
		return &common.AnyValue{Value: &common.AnyValue_DoubleValue{DoubleValue: v.AsFloat64()}}
	case attribute.STRINGSLICE:
		list := &common.ArrayValue{}
		for _, text := range v.AsStringSlice() {
			list.Values = append(list.Values, &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: text}})
		}
		return &common.AnyValue{Value: &common.AnyValue_ArrayValue{ArrayValue: list}}
	}
	return &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: v.Emit()}}
}

var _ sdk.SpanExporter = (*exporter)(nil)

// errNone: an empty file of certificates.
var errNone = errors.New("no certificate in it")
