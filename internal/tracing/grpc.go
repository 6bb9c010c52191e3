package tracing

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	collector "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// One unary call of gRPC is a POST of HTTP/2 with a framed message, and a status in the trailers: net/http does that. The official
// library is 5 MB of program for it.

// grpcExport is the method of OTLP that takes spans.
const grpcExport = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"

// Statuses of gRPC that OTLP calls retryable. grpcExhausted is retryable where the collector says when.
const (
	grpcOK        = 0
	grpcUnknown   = 2
	grpcExhausted = 8
)

var grpcAgain = map[int]bool{1: true, 4: true, 10: true, 11: true, 14: true, 15: true}

// grpcOf is the status that gRPC gives an answer without one, by its HTTP status; others are unknown.
var grpcOf = map[int]int{
	http.StatusBadRequest: 13, http.StatusUnauthorized: 16, http.StatusForbidden: 7, http.StatusNotFound: 12,
	http.StatusTooManyRequests: 14, http.StatusBadGateway: 14, http.StatusServiceUnavailable: 14, http.StatusGatewayTimeout: 14,
}

// framed is a message as gRPC has it: whether it is compressed, its length, and itself.
func framed(body []byte, packed bool) []byte {
	head := make([]byte, 5, 5+len(body))
	if packed {
		head[0] = 1
	}
	binary.BigEndian.PutUint32(head[1:], uint32(len(body)))
	return append(head, body...)
}

var errFrame = errors.New("the collector's answer is not a message of gRPC")

// unframed is the message of an answer; it is not compressed, since the request asks for that.
func unframed(text []byte) ([]byte, error) {
	if len(text) < 5 || text[0] != 0 || int(binary.BigEndian.Uint32(text[1:5])) > len(text)-5 {
		return nil, errFrame
	}
	return text[5 : 5+binary.BigEndian.Uint32(text[1:5])], nil
}

// call makes one attempt over gRPC; its results are those of attempt.
func (e *exporter) call(ctx context.Context, body []byte) (after time.Duration, rejected int64, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.endpoint, bytes.NewReader(framed(body, e.gzip)))
	if err != nil {
		return -1, 0, fmt.Errorf("export spans: %w", err)
	}
	for name, value := range e.headers {
		req.Header.Set(name, value)
	}
	req.Header.Set("Content-Type", "application/grpc")
	req.Header.Set("Te", "trailers")
	req.Header.Set("Grpc-Accept-Encoding", "identity")
	if until, ok := ctx.Deadline(); ok {
		req.Header.Set("Grpc-Timeout", strconv.FormatInt(max(time.Until(until).Milliseconds(), 1), 10)+"m")
	}
	if e.gzip {
		req.Header.Set("Grpc-Encoding", "gzip")
	}
	res, err := e.client.Do(req)
	if err != nil {
		return 0, 0, fmt.Errorf("export spans: %w", err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, answerBytes))
	if err != nil {
		return 0, 0, fmt.Errorf("export spans: %w", err)
	}
	code, message, wait := grpcStatus(res)
	if code != grpcOK {
		err = fmt.Errorf("export spans: the collector answers with status %d of gRPC (%s): %.200s", code, res.Status, message)
		if grpcAgain[code] || code == grpcExhausted && wait > 0 {
			return max(wait, retryMin), 0, err
		}
		return -1, 0, err
	}
	answered, err := unframed(text)
	if err != nil {
		return -1, 0, fmt.Errorf("export spans: %w", err)
	}
	return taken(answered)
}

// grpcStatus is how a call ended: in the trailers, or in the headers of an answer without a message. wait is what the collector asks for.
func grpcStatus(res *http.Response) (code int, message string, wait time.Duration) {
	of := res.Trailer
	if of.Get("Grpc-Status") == "" {
		of = res.Header
	}
	code, err := strconv.Atoi(of.Get("Grpc-Status"))
	if err != nil {
		if code = grpcOf[res.StatusCode]; code == grpcOK {
			code = grpcUnknown
		}
		return code, "no status of gRPC", 0
	}
	if message, err = url.PathUnescape(of.Get("Grpc-Message")); err != nil {
		message = of.Get("Grpc-Message")
	}
	details, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(of.Get("Grpc-Status-Details-Bin"), "="))
	if err != nil {
		return code, message, 0
	}
	return code, message, retryDelay(details)
}

// retryDelay is that of the RetryInfo in a google.rpc.Status: field 3 has the details, each an Any of a type (1) and a value (2), whose field 1 is
// a duration in seconds (1) and nanoseconds (2).
func retryDelay(status []byte) (wait time.Duration) {
	fields(status, func(number protowire.Number, detail []byte, _ uint64) {
		if number != 3 {
			return
		}
		var kind, value []byte
		fields(detail, func(number protowire.Number, text []byte, _ uint64) {
			switch number {
			case 1:
				kind = text
			case 2:
				value = text
			}
		})
		if string(kind) != "type.googleapis.com/google.rpc.RetryInfo" {
			return
		}
		fields(value, func(_ protowire.Number, duration []byte, _ uint64) {
			fields(duration, func(number protowire.Number, _ []byte, n uint64) {
				unit := time.Nanosecond
				if number == 1 {
					unit = time.Second
				}
				wait += time.Duration(min(n, maxAfter*uint64(time.Second/unit))) * unit
			})
		})
	})
	return min(wait, maxAfter*time.Second)
}

// fields calls fn for the fields of a message that are texts or integers; it ends at the first that is neither.
func fields(message []byte, fn func(number protowire.Number, text []byte, n uint64)) {
	for len(message) > 0 {
		number, kind, size := protowire.ConsumeTag(message)
		if size < 0 {
			return
		}
		message = message[size:]
		var text []byte
		var n uint64
		switch kind {
		case protowire.BytesType:
			text, size = protowire.ConsumeBytes(message)
		case protowire.VarintType:
			n, size = protowire.ConsumeVarint(message)
		default:
			return
		}
		if size < 0 {
			return
		}
		message = message[size:]
		fn(number, text, n)
	}
}

// taken reads a collector's answer: it may have rejected some of the spans.
func taken(answer []byte) (after time.Duration, rejected int64, err error) {
	var a collector.ExportTraceServiceResponse
	if proto.Unmarshal(answer, &a) == nil && a.GetPartialSuccess().GetRejectedSpans() > 0 {
		part := a.PartialSuccess
		return -1, part.RejectedSpans, fmt.Errorf("export spans: the collector rejected %d: %.200s", part.RejectedSpans, part.ErrorMessage)
	}
	return 0, 0, nil
}
