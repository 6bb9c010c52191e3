package pricing

import (
	"regexp"
	"time"
)

// Table prices calls. It does not change after it is made.
type Table struct {
	name string
	rows map[string][]Row // by model; latest From first
}

// snapshot is the date that providers append to a model's name: -20251001, -2025-04-14.
var snapshot = regexp.MustCompile(`-(\d{8}|\d{4}-\d{2}-\d{2})$`)

// Name is what a cost record states as its price table: the built-in table's date, and where own prices
// lie over it, a digest of their file: 2026-11-20+1f2e3d4c.
func (t *Table) Name() string { return t.name }

// Cost prices a call at the first of models that has a price on that day, and nil where none has. The
// name that was asked for goes first, then the one that the provider said it used.
func (t *Table) Cost(tokens Tokens, day time.Time, models ...string) *int64 {
	row, ok := t.Lookup(day, models...)
	if !ok {
		return nil
	}
	micro := int64(row.ratesFor(tokens).cost(tokens))
	return &micro
}

// Lookup finds the row in force: the model's own, else that of its name without the snapshot's date.
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
