package events_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"precis/events"
)

func hexOf(b []byte) string { return hex.EncodeToString(b) }

func record(seq uint64) events.Failed {
	thread := "t€"
	return events.Failed{
		Head:      events.Head{ThreadID: &thread, EventSeq: 7, EffectiveSeq: 8, ChainSeq: seq},
		SummaryID: "sum_1", Kind: events.KindCompaction, Code: "x", Message: "<&>\u2028", Action: events.ActionTrim,
	}
}

// The formula, spelled out by hand.
func TestSealFormula(t *testing.T) {
	data, chain, err := events.Seal("", record(1))
	if err != nil {
		t.Fatal(err)
	}
	plain := strings.Replace(string(data), `"chain":"`+chain+`",`, "", 1)
	sum := sha256.Sum256([]byte(plain))
	if chain != hexOf(sum[:]) {
		t.Errorf("chain %s over %s", chain, plain)
	}
	if !strings.Contains(plain, `"message":"<&>`+"\u2028"+`"`) || strings.Contains(plain, "chain\"") {
		t.Errorf("not RFC 8785: %s", plain)
	}
	canonical := jsontext.Value(data).Clone()
	if err := canonical.Canonicalize(); err != nil || string(canonical) != string(data) {
		t.Errorf("the sealed data is not canonical itself: %s", data)
	}
	var back events.Failed
	if err := json.Unmarshal(data, &back); err != nil || back.Chain != chain || back.Message != record(1).Message {
		t.Errorf("%+v, %v", back, err)
	}
}

func TestVerifyChain(t *testing.T) {
	first, chain1, err := events.Seal("", record(1))
	if err != nil {
		t.Fatal(err)
	}
	second, chain2, err := events.Seal(chain1, record(2))
	if err != nil {
		t.Fatal(err)
	}
	spaced := jsontext.Value(second).Clone()
	if err := spaced.Indent(); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		prev, data, chain string
	}{
		"first":                 {"", string(first), chain1},
		"second":                {chain1, string(second), chain2},
		"laid out otherwise":    {chain1, string(spaced), chain2},
		"first taken away":      {"", string(second), ""},
		"moved":                 {chain2, string(first), ""},
		"altered":               {"", strings.Replace(string(first), "sum_1", "sum_2", 1), ""},
		"member added":          {"", strings.Replace(string(first), "{", `{"a":1,`, 1), ""},
		"chain altered":         {"", strings.Replace(string(first), chain1, chain2, 1), ""},
		"upper case":            {"", strings.Replace(string(first), chain1, strings.ToUpper(chain1), 1), ""},
		"chain taken away":      {"", strings.Replace(string(first), `"chain":"`+chain1+`",`, "", 1), ""},
		"chain of another type": {"", strings.Replace(string(first), `"`+chain1+`"`, "5", 1), ""},
	} {
		got, err := events.VerifyChain(c.prev, []byte(c.data))
		if got != c.chain || (err == nil) != (c.chain != "") || err != nil && !errors.Is(err, events.ErrChain) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestSealErrors(t *testing.T) {
	sealed := record(1)
	sealed.Chain = "x"
	if _, _, err := events.Seal("", sealed); !errors.Is(err, events.ErrChainSet) {
		t.Errorf("sealed twice: %v", err)
	}
	for _, bad := range []any{[]int{1}, "text", nil, map[string]int{}, map[string]string{"a": "\xff"}} {
		if _, _, err := events.Seal("", bad); err == nil {
			t.Errorf("%v is sealed", bad)
		}
	}
	for _, bad := range []string{``, `[]`, `{`, `{"chain":"a","chain":"b"}`} {
		if _, err := events.VerifyChain("", []byte(bad)); err == nil {
			t.Errorf("%s is verified", bad)
		}
	}
}

func BenchmarkSeal(b *testing.B) {
	r := record(1)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := events.Seal("prev", r); err != nil {
			b.Fatal(err)
		}
	}
}
