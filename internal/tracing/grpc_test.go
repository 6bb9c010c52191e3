package tracing

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rs/zerolog"
	collector "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"precis/internal/thread"
)

// rpcAnswer is what a collector answers: a message unless it is nil, and the status behind it.
type rpcAnswer struct {
	http    int // 0: 200
	message []byte
	status  string // empty: none
	text    string
	details []byte
}

// rpcCollector takes calls of gRPC, over TLS or not, and holds each to the protocol.
func rpcCollector(t *testing.T, secure bool, answers ...rpcAnswer) (s *httptest.Server, calls *atomic.Int64) {
	calls = &atomic.Int64{}
	s = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in collector.ExportTraceServiceRequest
		if err := rpcRead(r, &in); err != nil || len(in.ResourceSpans) != 1 {
			t.Error(err, &in)
		}
		if r.ProtoMajor != 2 || r.Method != http.MethodPost || r.URL.Path != grpcExport || r.Header.Get("Content-Type") != "application/grpc" || r.Header.Get("Te") != "trailers" || r.Header.Get("Api-Key") != "k" ||
			!strings.HasSuffix(r.Header.Get("Grpc-Timeout"), "m") {
			t.Error(r.Proto, r.Method, r.URL, r.Header)
		}
		a := answers[min(int(calls.Add(1)), len(answers))-1]
		w.Header().Set("Content-Type", "application/grpc")
		to := http.TrailerPrefix
		if a.message == nil { // all in the headers
			to = ""
		}
		if a.http > 0 {
			w.WriteHeader(a.http)
		}
		if a.message != nil {
			_, _ = w.Write(framed(a.message, false))
			w.(http.Flusher).Flush()
		}
		if a.status != "" {
			w.Header().Set(to+"Grpc-Status", a.status)
			w.Header().Set(to+"Grpc-Message", a.text)
			w.Header().Set(to+"Grpc-Status-Details-Bin", base64.StdEncoding.EncodeToString(a.details))
		}
	}))
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetHTTP2(secure)
	s.Config.Protocols.SetUnencryptedHTTP2(!secure)
	s.EnableHTTP2 = secure
	if secure {
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return s, calls
}

func rpcRead(r *http.Request, in proto.Message) error {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	if len(text) < 5 || int(binary.BigEndian.Uint32(text[1:])) != len(text)-5 || (text[0] == 1) != (r.Header.Get("Grpc-Encoding") == "gzip") {
		return fmt.Errorf("a wrong frame: % x", text[:min(len(text), 9)])
	}
	body := text[5:]
	if text[0] == 1 {
		z, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return err
		}
		if body, err = io.ReadAll(z); err != nil {
			return err
		}
	}
	return proto.Unmarshal(body, in)
}

// retryIn is a google.rpc.Status with a RetryInfo.
func retryIn(seconds, nanos uint64) []byte {
	duration := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), seconds)
	duration = protowire.AppendVarint(protowire.AppendTag(duration, 2, protowire.VarintType), nanos)
	info := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), duration)
	detail := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "type.googleapis.com/google.rpc.RetryInfo")
	detail = protowire.AppendBytes(protowire.AppendTag(detail, 2, protowire.BytesType), info)
	status := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 8)
	return protowire.AppendBytes(protowire.AppendTag(status, 3, protowire.BytesType), detail)
}

// The status of a call decides whether spans are sent again, as the status of an answer over HTTP does.
func TestExportOverGRPC(t *testing.T) {
	partial, err := proto.Marshal(&collector.ExportTraceServiceResponse{PartialSuccess: &collector.ExportTracePartialSuccess{RejectedSpans: 1, ErrorMessage: "too old"}})
	if err != nil {
		t.Fatal(err)
	}
	done := rpcAnswer{message: []byte{}, status: "0"}
	for name, c := range map[string]struct {
		answers []rpcAnswer
		sent    int64
		warns   string
	}{
		"taken":                  {[]rpcAnswer{done}, 1, ""},
		"unavailable":            {[]rpcAnswer{{status: "14", text: "starting"}, done}, 2, ""},
		"exhausted, with a time": {[]rpcAnswer{{status: "8", details: retryIn(0, 1000)}, done}, 2, ""},
		"exhausted for good":     {[]rpcAnswer{{status: "8", text: "quota%20used"}, done}, 1, "status 8 of gRPC (200 OK): quota used"},
		"wrong":                  {[]rpcAnswer{{message: []byte{}, status: "3", text: "what is that"}, done}, 1, "status 3 of gRPC"},
		"a proxy that is busy":   {[]rpcAnswer{{http: 503}, done}, 2, ""},
		"a proxy that refuses":   {[]rpcAnswer{{http: 403}, done}, 1, "status 7 of gRPC (403 Forbidden)"},
		"no status":              {[]rpcAnswer{{message: []byte{}}, done}, 1, "status 2 of gRPC"},
		"no message":             {[]rpcAnswer{{status: "0"}, done}, 1, errFrame.Error()},
		"in part":                {[]rpcAnswer{{message: partial, status: "0"}}, 1, "rejected 1: too old"},
	} {
		t.Run(name, func(t *testing.T) {
			s, calls := rpcCollector(t, false, c.answers...)
			log, flushed := exportOne(t, "OTEL_EXPORTER_OTLP_ENDPOINT", s.URL, "OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "OTEL_EXPORTER_OTLP_HEADERS", "api-key=k")
			lost := strings.Contains(log, `"lost":1`)
			if calls.Load() != c.sent || lost != (c.warns != "") || (flushed != nil) != lost || lost && !strings.Contains(flushed.Error(), c.warns) {
				t.Errorf("sent %d times; %v; %s", calls.Load(), flushed, log)
			}
		})
	}
}

// TLS with a certificate of the collector's own, a host without a scheme, and gzip.
func TestExportOverGRPCSecurely(t *testing.T) {
	s, calls := rpcCollector(t, true, rpcAnswer{message: []byte{}, status: "0"})
	log, err := exportOne(t, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", strings.TrimPrefix(s.URL, "https://"), "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "grpc",
		"OTEL_EXPORTER_OTLP_HEADERS", "api-key=k", "OTEL_EXPORTER_OTLP_COMPRESSION", "gzip", "OTEL_EXPORTER_OTLP_CERTIFICATE", certificateOf(t, s))
	if err != nil || calls.Load() != 1 || !strings.Contains(log, `"lost":0`) {
		t.Error(calls.Load(), err, log)
	}
}

// certificateOf writes a server's certificate into a file.
func certificateOf(t *testing.T, s *httptest.Server) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(name, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// exportOne makes a span under variables, and returns the log and how its export ended.
func exportOne(t *testing.T, variables ...string) (log string, flushed error) {
	t.Helper()
	var lines text
	tracer, err := Open(t.Context(), env(variables...), "v1", zerolog.New(&lines))
	if err != nil {
		t.Fatal(err)
	}
	of := New(tracer, 0)
	of.End(of.Begin(1, "0.tool.result.t", nil), thread.Accepted, "", nil)
	flushed = tracer.provider.ForceFlush(t.Context())
	if err := tracer.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return lines.String(), flushed
}

// Whatever stands in the details of a status, a wait is read or none.
func FuzzRetryDelay(f *testing.F) {
	f.Add(retryIn(3, 5))
	f.Add(retryIn(1<<63, 1<<63))
	f.Add([]byte{0x1a, 0x02, 0x0a})
	f.Fuzz(func(t *testing.T, status []byte) {
		if wait := retryDelay(status); wait < 0 || wait > maxAfter*1e9 {
			t.Error(wait)
		}
	})
	if got := retryDelay(retryIn(3, 5)); got != 3_000_000_005 {
		f.Error(got)
	}
}
