package processor_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"precis/internal/broker"
	"precis/internal/processor"
)

// An operator sees a store that fills up before the server refuses what agents publish, and when it does.
func TestReadyzSaysThatTheServersStoreFillsUp(t *testing.T) {
	const limit = 120 << 20
	b, err := broker.Open(t.Context(), broker.Options{StoreDir: t.TempDir(), MaxStore: limit, Sync: "2m", Logger: logger(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(context.Background()); err != nil {
			t.Errorf("close broker: %v", err)
		}
	})
	p := start(t, processor.Options{Config: settings(t), Logger: logger(t), Broker: b})
	defer p.end()
	<-p.Ready()
	probe(t, p, http.StatusOK, "ready\n")

	half := strings.Repeat("x", 500_000)
	fill := func(enough func(broker.Storage) bool) broker.Storage {
		for i := 0; ; i++ {
			s, err := b.Storage(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if enough(s) {
				return s
			}
			put(t, b.Conn(), "thread.message.t1", fmt.Sprintf(`{"message_id":"%d-%d","role":"user","content":"%s"}`, s.Used, i, half))
		}
	}
	fill(func(s broker.Storage) bool { return s.Used > limit*9/10 })
	probe(t, p, http.StatusOK, "ready; the server's store is nearly full: ")
	s := fill(func(s broker.Storage) bool { return s.Used > limit-broker.MaxPayload })
	probe(t, p, http.StatusServiceUnavailable, "the server's store is full: ")

	got := map[string]float64{}
	families, err := p.Registry().Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if strings.HasPrefix(f.GetName(), "precis_nats_store") {
			got[f.GetName()] = f.Metric[0].GetGauge().GetValue()
		}
	}
	if got["precis_nats_store_limit_bytes"] != limit || got["precis_nats_store_bytes"] < float64(s.Used) {
		t.Errorf("metrics %v, stored %+v", got, s)
	}
}

func probe(t *testing.T, p *running, status int, text string) {
	t.Helper()
	w := httptest.NewRecorder()
	p.Readyz(w, httptest.NewRequest(http.MethodGet, "/readyz", nil))
	if w.Code != status || !strings.HasPrefix(w.Body.String(), text) {
		t.Errorf("/readyz says %d %q, want %d %q", w.Code, w.Body.String(), status, text)
	}
}
