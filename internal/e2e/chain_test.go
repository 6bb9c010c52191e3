package e2e_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// holdChain checks a thread's records, all of them and in order, by the contract's words: each chain value
// is the sha256 of the one before it and the RFC 8785 form of the data without chain.
func holdChain(t testing.TB, records []stored) {
	t.Helper()
	prev := ""
	var effective int64
	for i, m := range records {
		data := m.data(t)
		if got := number(t, data, "chain_seq"); got != int64(i+1) {
			t.Errorf("%s: record %d has chain_seq %d", m.subject, i+1, got)
		}
		if got := number(t, data, "effective_seq"); got < effective || got < number(t, data, "event_seq") {
			t.Errorf("%s: effective_seq %d behind %d, decided at %d", m.subject, got, effective, number(t, data, "event_seq"))
		} else {
			effective = got
		}
		given := text(t, data, "chain")
		delete(data, "chain")
		rest := jsontext.Value(encode(t, data))
		if err := rest.Canonicalize(); err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256([]byte(prev + string(rest)))
		if want := hex.EncodeToString(sum[:]); given != want {
			t.Errorf("%s: record %d has chain %s, want %s", m.subject, i+1, given, want)
		}
		prev = given
	}
}

// everything reads all that SUMMARIES holds now, by thread token.
func (w *world) everything() map[string][]stored {
	w.t.Helper()
	stream, err := w.js.Stream(within(w.t), "SUMMARIES")
	if err != nil {
		w.t.Fatal(err)
	}
	all := map[string][]stored{}
	n := int(stream.CachedInfo().State.Msgs)
	for _, m := range w.follow("SUMMARIES", ">").take(n) {
		tok := m.subject[strings.LastIndexByte(m.subject, '.')+1:]
		all[tok] = append(all[tok], m)
	}
	return all
}

// own returns a partition's own records: who has claimed it, and what was in force.
func (w *world) own(partition int) []stored {
	w.t.Helper()
	return w.everything()[fmt.Sprintf("=p%d", partition)]
}

// configured returns the records of what was in force in a partition.
func (w *world) configured(partition int) []stored {
	w.t.Helper()
	return slices.DeleteFunc(w.own(partition), claim)
}

func claim(m stored) bool { return strings.HasPrefix(m.subject, "partition.claimed.") }
