package config

import (
	"precis/summarize/pricing"
)

// Table returns the built-in price table, overridden by the file's prices.
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
