package rest_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"precis/internal/rest"
)

// With a certificate it speaks TLS alone; a certificate that can't be used ends the start, and a reload of it changes nothing.
func TestTLS(t *testing.T) {
	made := httptest.NewTLSServer(nil) // for its certificate
	defer made.Close()
	pair := made.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	cert, keyFile := filepath.Join(t.TempDir(), "c.pem"), filepath.Join(t.TempDir(), "k.pem")
	writeFile(t, cert, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]})))
	writeFile(t, keyFile, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})))
	w := begin(t, options{Options: rest.Options{Cert: cert, Key: keyFile}})
	if got := w.raw("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"); !strings.Contains(got, "HTTPS") {
		t.Errorf("without TLS: %s", got)
	}
	pool := x509.NewCertPool()
	pool.AddCert(made.Certificate())
	w.client.CloseIdleConnections()
	w.client = &http.Client{Timeout: patience, Transport: &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: pool}}}
	w.url = strings.Replace(w.url, "http:", "https:", 1)
	w.put("/v1/threads/t", large("r"))
	if _, kind := w.follow("/v1/threads/t/records").next(); kind != "summary.created" {
		t.Errorf("over HTTP/2: %s", kind)
	}
	writeFile(t, cert, "no certificate")
	if err := w.server.Reload(); !errors.Is(err, rest.ErrCertificate) {
		t.Errorf("reload: %v", err)
	}
	w.client.CloseIdleConnections()
	w.wants(200, "GET", "/v1/openapi.json", "")
}
