package config

import (
	"precis/summarize/pricing"
)

// Table is the built-in price table, with the file's prices over it.
func (p Pricing) Table() (*pricing.Table, error) {
	table := pricing.Builtin()
	if p.File == "" {
		return table, nil
	}
	own, err := readBounded(p.File)
	if err != nil {
		return nil, err
	}
	return table.With(own)
}
