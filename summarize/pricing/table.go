package pricing

import (
	"regexp"
	"time"
)

// Table prices calls. It is immutable.
type Table struct {
	name string
	rows map[string][]Row // by model; latest From first
}

// snapshot is the date that providers append to a model name: -20251001, -2025-04-14.
var snapshot = regexp.MustCompile(`-(\d{8}|\d{4}-\d{2}-\d{2})$`)

// Name is the price table's name in a cost record: the built-in table's date, and with own prices
// a digest of their file: 2026-11-20+1f2e3d4c.
func (t *Table) Name() string { return t.name }

// Cost prices a call by the first of models that has a price on that day; nil if none has. Pass the
// requested name first, then the one that the provider reported.
func (t *Table) Cost(tokens Tokens, day time.Time, models ...string) *int64 {
	row, ok := t.Lookup(day, models...)
	if !ok {
		return nil
	}
	micro := int64(row.ratesFor(tokens).cost(tokens))
	return &micro
}

// Lookup returns the row in force: the model's own, else that of its name without the snapshot date.
func (t *Table) Lookup(day time.Time, models ...string) (Row, bool) {
	on := day.UTC().Format(time.DateOnly)
	for _, model := range models {
		for _, name := range []string{model, snapshot.ReplaceAllString(model, "")} {
			if row, ok := t.inForce(name, on); ok {
				return row, true
			}
		}
	}
	return Row{}, false
}

func (t *Table) inForce(model, on string) (Row, bool) {
	for _, row := range t.rows[model] {
		if row.From <= on {
			return row, true
		}
	}
	return Row{}, false
}
