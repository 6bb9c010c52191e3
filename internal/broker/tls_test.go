package broker

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
)

func TestTLS(t *testing.T) {
	cert, key := selfSigned(t)
	b := openBroker(t, func(o *Options) {
		o.Listen, o.TLS = "127.0.0.1:0", TLS{Cert: cert, Key: key}
	})
	url := strings.Replace(b.URL(), "nats://", "tls://", 1)
	_, err := Provision(testContext(t), b.JetStream(), StreamSpec{Partitions: 1}) // in process, without TLS
	require.NoError(t, err)

	c := openBroker(t, func(o *Options) { *o = Options{URL: url, TLS: TLS{CA: cert}, Logger: zerolog.Nop()} })
	publish(t, c, "tool.result.t", "x")
	state, err := c.Conn().TLSConnectionState()
	require.NoError(t, err)
	require.True(t, state.HandshakeComplete)

	_, err = Open(testContext(t), Options{URL: url, Logger: zerolog.Nop()})
	require.ErrorIs(t, err, ErrUnreachable, "a certificate that nobody vouches for")
	require.ErrorContains(t, err, "certificate")
	_, err = Open(testContext(t), Options{URL: url, TLS: TLS{CA: filepath.Join(t.TempDir(), "none.pem")}, Logger: zerolog.Nop()})
	require.ErrorIs(t, err, ErrInvalidOptions)
	require.ErrorContains(t, err, "none.pem")
}

// selfSigned is a certificate for 127.0.0.1 that is its own authority.
func selfSigned(t *testing.T) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "precis test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.ParseIP("127.0.0.1")}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	return writePEM(t, "CERTIFICATE", der), writePEM(t, "PRIVATE KEY", pkcs8)
}

func writePEM(t *testing.T, kind string, der []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file.pem")
	require.NoError(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
	return path
}
