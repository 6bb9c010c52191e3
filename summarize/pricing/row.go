package pricing

// Rates are prices per million tokens. A nil CachedInput or CacheWrite costs what Input costs.
type Rates struct {
	Input       *MicroUSD `yaml:"input" json:"input"`
	CachedInput *MicroUSD `yaml:"cached_input,omitempty" json:"cached_input,omitzero"`
	CacheWrite  *MicroUSD `yaml:"cache_write,omitempty" json:"cache_write,omitzero"`
	Output      *MicroUSD `yaml:"output" json:"output"`
}

// Row is the price of one model from a given day on.
type Row struct {
	Model  string `yaml:"model" json:"model"`
	From   string `yaml:"from,omitempty" json:"from,omitzero"`     // UTC day, 2006-01-02; empty: no start
	Source string `yaml:"source,omitempty" json:"source,omitzero"` // where the price was read
	Rates  `yaml:",inline" json:",inline"`
	Long   *Long `yaml:"long,omitempty" json:"long,omitzero"`
}

// Long is the rate for a whole call whose input exceeds a number of tokens.
type Long struct {
	OverInputTokens int64 `yaml:"over_input_tokens" json:"over_input_tokens"`
	Rates           `yaml:",inline" json:",inline"`
}

// Tokens is the consumption of a call. Input includes everything; CachedInput and CacheWrite are the parts of
// Input that were read from and written to the provider's prompt cache.
type Tokens struct {
	Input       int64
	CachedInput int64
	CacheWrite  int64
	Output      int64
}

func (r Row) ratesFor(t Tokens) Rates {
	if r.Long != nil && t.Input > r.Long.OverInputTokens {
		return r.Long.Rates
	}
	return r.Rates
}
