package pricing

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// recorded is a table in the form of config.applied: prices in micro-dollars per million tokens.
type recorded struct {
	Name   string `json:"name"`
	Prices []Row  `json:"prices"`
}

// Record returns the complete table in the form of config.applied, so that a replay prices a call as before.
func (t *Table) Record() (jsontext.Value, error) {
	r := recorded{Name: t.name, Prices: []Row{}}
	for _, model := range slices.Sorted(maps.Keys(t.rows)) {
		r.Prices = append(r.Prices, t.rows[model]...)
	}
	b, err := json.Marshal(r, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("record price table: %w", err)
	}
	return b, nil
}

// Parse reads a recorded table; nil if none is recorded. Errors wrap ErrTable.
func Parse(record jsontext.Value) (*Table, error) {
	if len(record) == 0 || bytes.Equal(record, []byte("null")) {
		return nil, nil
	}
	var r recorded
	if err := json.Unmarshal(record, &r); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrTable, err)
	}
	for _, row := range r.Prices {
		if why := row.wrong(); why != "" {
			return nil, fmt.Errorf("%w: %s: %s", ErrTable, row.Model, why)
		}
	}
	return &Table{name: r.Name, rows: index(r.Prices)}, nil
}
