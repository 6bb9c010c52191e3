package state

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"precis/internal/thread"
)

// whole is a summary with a value of its own in every field.
func whole() *thread.Summary {
	sum := &thread.Summary{}
	fill(reflect.ValueOf(sum).Elem(), new(int64))
	sum.ExpiresAt = time.Unix(1, 2).UTC()
	sum.Record, sum.Invalidated = jsontext.Value(`{"id":"s1"}`), jsontext.Value(`{"reason":"x"}`)
	return sum
}

func TestNoFieldOfSummaryIsForgotten(t *testing.T) {
	want := whole()
	got, err := decodeSummary(encodeSummary(want))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("got %+v, %v, want %+v", got, err, want)
	}
}

func TestSummaryRowsThatAreDamaged(t *testing.T) {
	row := encodeSummary(whole())
	for n := range row {
		if _, err := decodeSummary(row[:n]); !errors.Is(err, ErrDamaged) {
			t.Fatalf("the first %d of %d bytes: %v", n, len(row), err)
		}
	}
	if _, err := decodeSummary(append(row, 0)); !errors.Is(err, ErrDamaged) {
		t.Errorf("a byte too many: %v", err)
	}
	row[0]++
	if _, err := decodeSummary(row); !errors.Is(err, ErrDamaged) {
		t.Errorf("another version: %v", err)
	}
}
