package audit_test

import (
	"encoding/base64"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"precis/events"
	"precis/internal/audit"
	"precis/internal/broker"
	"precis/internal/processor"
	"precis/state"
)

// head reads the head of the log.
func (w *world) head() (h *audit.Head) {
	w.t.Helper()
	w.scratch(func(o audit.Options) (err error) {
		h, err = audit.ReadHead(within(w.t), o)
		return err
	})
	return h
}

// differs verifies a head against the log, and returns the members that differ.
func (w *world) differs(h *audit.Head) (members []string) {
	w.t.Helper()
	w.scratch(func(o audit.Options) error {
		found, err := audit.VerifyHead(within(w.t), o, h)
		for _, d := range found {
			members = append(members, d.What)
		}
		return err
	})
	return members
}

func equal(t testing.TB, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q differ, want %q", what, got, want)
	}
}

func (w *world) outputs(ids ...string) {
	w.t.Helper()
	w.run(func(*processor.Processor) {
		for _, id := range ids {
			w.put([2]string{"tool.result." + id[:1], output(id, 80, `,"policy":"by-model"`)})
		}
	})
}

// A head holds while the log grows, and shows when SUMMARIES was rewritten with new chains, which replay accepts.
func TestHead(t *testing.T) {
	w := newWorld(t)
	w.outputs("a1", "a2", "b1")
	h := w.head()
	original := w.messages(broker.StreamSummaries)
	if h.Records != uint64(len(original)) || h.LastSeq != original[len(original)-1].Seq || h.Chains != 7 { // 2 threads, 5 partitions
		t.Fatalf("%d records: %+v", len(original), h)
	}
	equal(t, "as it was", w.differs(h))
	w.put([2]string{"summary.created.a", `{"thread_id":"a"}`}) // foreign
	w.outputs("a3", "b2", "c1")
	equal(t, "grown", w.differs(h))
	grown := w.head()
	if want := uint64(len(w.messages(broker.StreamSummaries)) - 1); grown.Records != want || grown.Chains <= h.Chains {
		t.Errorf("%+v, want %d records", grown, want)
	}

	// Replay takes the text of a model from the record.
	all := w.messages(broker.StreamSummaries)
	at := nth(t, all, events.SummaryCreated, "a", 0)
	text := strings.Replace(string(all[at].Data), "compiled every part", "skipped a few parts", 1)
	if text == string(all[at].Data) {
		t.Fatalf("not a text of the model: %s", text)
	}
	all[at].Data = []byte(text)
	all = slices.DeleteFunc(all, func(m broker.Stored) bool { return m.Header.Get("ce-id") == "" })
	reseal(t, all)
	w.rewrite(broker.StreamSummaries, all)
	clean(t, w.replay())
	equal(t, "rewritten", w.differs(h), "stream_created", "digest")

	w.rewrite(broker.StreamSummaries, original[:len(original)-1])
	equal(t, "truncated", w.differs(h), "stream_created", "last_seq", "records", "digest")
	w.rewrite(broker.StreamSummaries, original)
	equal(t, "restored", w.differs(h), "stream_created")
}

// Messages that are deleted behind a head change nothing about it; those deleted before it do.
func TestHeadOfALogWithGaps(t *testing.T) {
	w := newWorld(t)
	w.outputs("a1", "a2", "a3")
	list := w.messages(broker.StreamSummaries)
	far := list[nth(t, list, events.SummaryCreated, "a", 0)]
	far.Data, far.Header = set(t, far.Data, map[string]any{"id": "sum_far", "chain_seq": 99}), clone(far.Header, "summary.created/sum_far")
	maps.DeleteFunc(far.Header, func(name string, _ []string) bool {
		return strings.HasPrefix(name, "Nats-Expected") || strings.HasPrefix(name, "Nats-Batch")
	})
	if _, err := w.broker.JetStream().PublishMsg(within(t), &nats.Msg{Subject: far.Subject, Header: far.Header, Data: far.Data}); err != nil {
		t.Fatal(err)
	}
	h := w.head()
	if h.Records != uint64(len(list)) {
		t.Errorf("%d of %d records: %+v", h.Records, len(list), h)
	}
	w.outputs("b1", "b2")
	list = w.messages(broker.StreamSummaries)
	if err := w.stream(broker.StreamSummaries).DeleteMsg(within(t), list[nth(t, list, events.SummaryCreated, "b", 0)].Seq); err != nil {
		t.Fatal(err)
	}
	equal(t, "a gap behind it", w.differs(h))
	if err := w.stream(broker.StreamSummaries).DeleteMsg(within(t), list[nth(t, list, events.SummaryCreated, "a", 1)].Seq); err != nil {
		t.Fatal(err)
	}
	equal(t, "a gap before its end", w.differs(h), "digest") // the record that claims to be far behind now stands behind a gap
}

func newSeed(t testing.TB) (seed []byte, public string) {
	t.Helper()
	pair, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	if seed, err = pair.Seed(); err != nil {
		t.Fatal(err)
	}
	if public, err = pair.PublicKey(); err != nil {
		t.Fatal(err)
	}
	return seed, public
}

func TestHeadSignature(t *testing.T) {
	ends := map[string]state.Link{"t1": {ChainSeq: 1, Chain: "18f4"}}
	h := &audit.Head{Stream: "SUMMARIES", StreamCreated: muchLater(), LastSeq: 7, Chains: 1, Records: 1, Digest: audit.ChainsDigest(ends)}
	seed, public := newSeed(t)
	_, other := newSeed(t)
	unsigned := parsedHead(t, encodedHead(t, h))
	if err := h.Sign(append([]byte("\n"), seed...)); err != nil {
		t.Fatal(err)
	}
	data := encodedHead(t, h)
	elsewhere := *h
	if err := elsewhere.Sign(func() []byte { s, _ := newSeed(t); return s }()); err != nil {
		t.Fatal(err)
	}
	forged := strings.Replace(string(encodedHead(t, &elsewhere)), elsewhere.Signer, public, 1)
	for _, c := range []struct {
		name   string
		head   *audit.Head
		signer string
		want   []string
	}{
		{"unsigned", unsigned, "", nil},
		{"unsigned where a signer is required", unsigned, public, []string{"signer"}},
		{"signed", parsedHead(t, data), "", nil},
		{"signed by the signer", parsedHead(t, data), public, nil},
		{"in another layout", parsedHead(t, []byte(strings.ReplaceAll(string(data), `,"`, ",\n  \""))), public, nil},
		{"signed by another", parsedHead(t, data), other, []string{"signer"}},
		{"altered", parsedHead(t, set(t, data, map[string]any{"last_seq": 8})), public, []string{"signature"}},
		{"with a member added", parsedHead(t, set(t, data, map[string]any{"note": "x"})), public, []string{"signature"}},
		{"another's signature", parsedHead(t, []byte(forged)), public, []string{"signature"}},
		{"another's name", parsedHead(t, set(t, data, map[string]any{"signer": other})), "", []string{"signature"}},
		{"no signature", parsedHead(t, set(t, data, map[string]any{"signature": ""})), public, []string{"signature"}},
		{"no signer", parsedHead(t, set(t, data, map[string]any{"signer": ""})), "", []string{"signer"}},
		{"a seed for a signer", parsedHead(t, set(t, data, map[string]any{"signer": "SU"})), "", []string{"signer"}},
		{"junk", parsedHead(t, set(t, data, map[string]any{"signature": base64.StdEncoding.EncodeToString(make([]byte, 64))})), "", []string{"signature"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, d := range c.head.CheckSignature(c.signer) {
				got = append(got, d.What)
			}
			equal(t, c.name, got, c.want...)
		})
	}
	for _, text := range []string{"", "{}", "[]", `{"stream":"SUMMARIES","stream":"SUMMARIES"}`, strings.Replace(string(data), "sha256:", "", 1)} {
		if _, err := audit.ParseHead([]byte(text)); !errors.Is(err, audit.ErrHead) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if err := h.Sign([]byte("SUnonsense")); err == nil || strings.Contains(err.Error(), "nonsense") {
		t.Errorf("a broken seed: %v", err)
	}
}

func encodedHead(t testing.TB, h *audit.Head) []byte {
	t.Helper()
	data, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func parsedHead(t testing.TB, data []byte) *audit.Head {
	t.Helper()
	h, err := audit.ParseHead(data)
	if err != nil {
		t.Fatal(err)
	}
	return h
}
