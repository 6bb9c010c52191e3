package tracing

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// settings are those of the environment, under OpenTelemetry's names.
type settings struct {
	endpoint string // of traces
	headers  map[string]string
	timeout  time.Duration
	gzip     bool
	grpc     bool
	tls      *tls.Config
}

// read returns nil if nothing asks for traces. A variable of traces alone takes precedence over that of all signals; an empty one counts as unset.
func read(env func(string) string) (*settings, error) {
	of := func(name string) (string, string) {
		if own := "OTEL_EXPORTER_OTLP_TRACES_" + name; env(own) != "" {
			return own, env(own)
		}
		return "OTEL_EXPORTER_OTLP_" + name, env("OTEL_EXPORTER_OTLP_" + name)
	}
	endpointName, endpoint := of("ENDPOINT")
	exporters := strings.Split(env("OTEL_TRACES_EXPORTER"), ",")
	switch {
	case strings.EqualFold(env("OTEL_SDK_DISABLED"), "true"):
		return nil, nil
	case env("OTEL_TRACES_EXPORTER") == "" && endpoint == "", slices.Contains(exporters, "none"):
		return nil, nil
	case env("OTEL_TRACES_EXPORTER") != "" && !slices.Equal(exporters, []string{"otlp"}):
		return nil, fmt.Errorf("OTEL_TRACES_EXPORTER: %q is not known; use otlp or none", env("OTEL_TRACES_EXPORTER"))
	}
	s := &settings{timeout: 10 * time.Second, headers: map[string]string{}}
	if err := s.readEndpoint(of, endpointName, endpoint); err != nil {
		return nil, err
	}
	if err := s.readHeaders(of("HEADERS")); err != nil {
		return nil, err
	}
	if name, text := of("TIMEOUT"); text != "" {
		ms, err := strconv.Atoi(text)
		if err != nil || ms <= 0 {
			return nil, fmt.Errorf("%s: %q is not a number of milliseconds above 0", name, text)
		}
		s.timeout = time.Duration(ms) * time.Millisecond
	}
	switch name, text := of("COMPRESSION"); text {
	case "", "none":
	case "gzip":
		s.gzip = true
	default:
		return nil, fmt.Errorf("%s: %q is not known; use gzip or none", name, text)
	}
	return s, s.certificates(of)
}

// readEndpoint reads where spans go, and in which protocol.
func (s *settings) readEndpoint(of func(string) (string, string), name, endpoint string) error {
	s.endpoint = "http://localhost:4318"
	switch name, protocol := of("PROTOCOL"); protocol {
	case "", "http/protobuf":
	case "grpc":
		s.grpc, s.endpoint = true, "http://localhost:4317"
	default:
		return fmt.Errorf("%s: %q is not supported; use http/protobuf, which collectors take on port 4318, or grpc, on port 4317", name, protocol)
	}
	if endpoint != "" {
		s.endpoint = endpoint
	}
	if s.grpc && !strings.Contains(s.endpoint, "://") { // gRPC alone takes a host and a port, and the variable
		s.endpoint = "https://" + endpoint
		if _, insecure := of("INSECURE"); strings.EqualFold(insecure, "true") {
			s.endpoint = "http://" + endpoint
		}
	}
	u, err := url.Parse(s.endpoint)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("%s is not a URL with http or https and a host", name) // it may hold credentials
	}
	switch {
	case s.grpc && strings.Trim(u.Path, "/") != "":
		return fmt.Errorf("%s has a path, and gRPC takes none: leave it out, or use http/protobuf", name)
	case s.grpc:
		u.Path = grpcExport
		s.endpoint = u.String()
	case name != "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": // that of all signals is a base
		s.endpoint = u.JoinPath("v1/traces").String()
	}
	return nil
}

// readHeaders reads a list of name=value, with values in percent-encoding. An error repeats no value: they are credentials.
func (s *settings) readHeaders(name, text string) error {
	for item := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(item) == "" {
			continue
		}
		key, value, ok := strings.Cut(item, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if key = strings.TrimSpace(key); !ok || key == "" || err != nil {
			return fmt.Errorf("%s: item %q is not a header as name=value, with the value in percent-encoding", name, key)
		}
		s.headers[key] = value
	}
	return nil
}

func (s *settings) certificates(of func(string) (string, string)) error {
	s.tls = &tls.Config{MinVersion: tls.VersionTLS12}
	if name, path := of("CERTIFICATE"); path != "" {
		text, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		s.tls.RootCAs = x509.NewCertPool()
		if !s.tls.RootCAs.AppendCertsFromPEM(text) {
			return fmt.Errorf("%s: %s: %w", name, path, errNone)
		}
	}
	name, cert := of("CLIENT_CERTIFICATE")
	_, key := of("CLIENT_KEY")
	if cert == "" && key == "" {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return fmt.Errorf("%s and its key: %w", name, err)
	}
	s.tls.Certificates = []tls.Certificate{pair}
	return nil
}

func (s *settings) client() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = s.tls
	if s.grpc {
		transport.Protocols = new(http.Protocols)
		transport.Protocols.SetHTTP2(true)
		transport.Protocols.SetUnencryptedHTTP2(true)
	}
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}
