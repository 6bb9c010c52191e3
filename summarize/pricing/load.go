package pricing

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/goccy/go-yaml"
)

//go:embed prices.yaml
var builtin []byte

// file is the form of prices.yaml and of a user's price file.
type file struct {
	Date   string `yaml:"date,omitempty"` // the day the prices were read
	Prices []Row  `yaml:"prices"`
}

// Builtin is the table that comes with the program. Tables are read-only, so all callers share it.
func Builtin() *Table { return loadBuiltin() }

// loadBuiltin parses it once: a start needs it several times, and parsing takes tens of milliseconds.
var loadBuiltin = sync.OnceValue(func() *Table {
	f, err := parse(builtin)
	if err != nil {
		panic(err) // a test reads it; it can't change after the build
	}
	return &Table{name: f.Date, rows: index(f.Prices)}
})

// With overrides the table with own prices: a model in the file has the file's price on every
// day. Errors wrap ErrTable and name the row.
func (t *Table) With(own []byte) (*Table, error) {
	f, err := parse(own)
	if err != nil {
		return nil, err
	}
	digest := sha256.Sum256(own)
	merged := &Table{name: t.name + "+" + hex.EncodeToString(digest[:4]), rows: map[string][]Row{}}
	for model, rows := range t.rows {
		merged.rows[model] = rows
	}
	for model, rows := range index(f.Prices) {
		merged.rows[model] = rows
	}
	return merged, nil
}

func index(rows []Row) map[string][]Row {
	byModel := map[string][]Row{}
	for _, row := range rows {
		byModel[row.Model] = append(byModel[row.Model], row)
	}
	for _, rows := range byModel {
		slices.SortFunc(rows, func(a, b Row) int { return strings.Compare(b.From, a.From) })
	}
	return byModel
}

func parse(text []byte) (file, error) {
	var f file
	if err := yaml.UnmarshalWithOptions(text, &f, yaml.Strict()); err != nil {
		return file{}, fmt.Errorf("%w: %w", ErrTable, err)
	}
	seen := map[[2]string]bool{}
	for i, row := range f.Prices {
		key := [2]string{row.Model, row.From}
		if why := row.wrong(); why != "" {
			return file{}, fmt.Errorf("%w: price %d (%s): %s", ErrTable, i+1, row.Model, why)
		}
		if seen[key] {
			return file{}, fmt.Errorf("%w: price %d (%s): stands twice", ErrTable, i+1, row.Model)
		}
		seen[key] = true
	}
	return f, nil
}

func (r Row) wrong() string {
	if r.Model == "" {
		return "no model"
	}
	if r.From != "" {
		if _, err := time.Parse(time.DateOnly, r.From); err != nil {
			return "from is not a day"
		}
	}
	if r.Input == nil || r.Output == nil {
		return "needs input and output"
	}
	if r.Long != nil && (r.Long.Input == nil || r.Long.Output == nil || r.Long.OverInputTokens <= 0) {
		return "long needs over_input_tokens, input and output"
	}
	return ""
}
