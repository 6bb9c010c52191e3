package fold

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"precis/events"
	"precis/summarize"
)

// Config is what the fold works under. config.applied records it, so that a replay knows what was in force.
type Config struct {
	Policies []summarize.Policy
	Limits   Limits
	// Retention is how long EVENTS keeps an event; 0 keeps all. An audit excuses only missing events that a recorded retention
	// may have removed.
	Retention  time.Duration
	Prompts    map[string]string
	PriceTable jsontext.Value
	// Providers are the models that may write summaries, by provider.
	Providers      map[string]Provider
	ProgramVersion string
	RulesVersion   string
	// Newer is not nil if only a newer program knows all of the record; it says what this program does not know.
	Newer error
}

// Provider holds the settings of a provider that can change a summary.
type Provider struct {
	Kind  string `json:"kind"`
	Model string `json:"model"`
}

// mainProvider is used if a policy's own provider is not configured.
const mainProvider = "main"

// model returns the model that a policy's summaries try first; empty if none is configured.
func (c *Config) model(p *summarize.Policy) string {
	if own, ok := c.Providers[p.Provider]; ok {
		return own.Model
	}
	return c.Providers[mainProvider].Model
}

// Limits bound events.
type Limits struct {
	EventBytes        int    `json:"event_bytes"`
	PendingEditEvents uint64 `json:"pending_edit_events"`
}

// Durations have the same form as in the configuration: 30s.
var (
	durationsOut = json.WithMarshalers(json.MarshalFunc(func(d time.Duration) ([]byte, error) {
		return json.Marshal(d.String())
	}))
	durationsIn = json.WithUnmarshalers(json.UnmarshalFunc(func(b []byte, d *time.Duration) (err error) {
		var text string
		if err = json.Unmarshal(b, &text); err == nil {
			*d, err = time.ParseDuration(text)
		}
		return err
	}))
)

// record returns the config.applied of a configuration.
func (c *Config) record() (*events.Config, error) {
	policies, err := json.Marshal(c.Policies, json.Deterministic(true), durationsOut)
	if err != nil {
		return nil, fmt.Errorf("record configuration: %w", err)
	}
	limits, err := json.Marshal(c.Limits)
	if err != nil {
		return nil, fmt.Errorf("record configuration: %w", err)
	}
	rec := &events.Config{
		ConfigVersion: events.ConfigVersion, Policies: policies, Limits: limits, Prompts: c.Prompts, PriceTable: c.PriceTable,
		ProgramVersion: c.ProgramVersion, RulesVersion: c.RulesVersion,
		Retention: events.Retention{Events: c.Retention.String()},
	}
	if rec.Prompts == nil {
		rec.Prompts = map[string]string{}
	}
	if len(rec.PriceTable) == 0 {
		rec.PriceTable = jsontext.Value("null")
	}
	if rec.Providers, err = json.Marshal(c.Providers, json.Deterministic(true)); err != nil {
		return nil, fmt.Errorf("record configuration: %w", err)
	}
	rec.Fingerprint, err = fingerprint(*rec)
	return rec, err
}

// ErrConfigTooLarge: the configuration does not fit in a record.
var ErrConfigTooLarge = errors.New("configuration too large to be put on record")

// Fits returns ErrConfigTooLarge if the configuration, with its prompts and prices, does not fit in a record.
func (c *Config) Fits() error {
	rec, err := c.record()
	if err != nil {
		return err
	}
	data, err := json.Marshal(rec, json.Deterministic(true))
	if err == nil && len(data) > recordBytes-headBytes {
		err = fmt.Errorf("%w: %d bytes of %d, with all prompts and prices: shorten them", ErrConfigTooLarge, len(data), recordBytes-headBytes)
	}
	return err
}

// headBytes reserves room for the chain values and sequences that only a sealed record has.
const headBytes = 1 << 10

// fingerprint is a digest of everything that can change a decision. It excludes the program's version: another build with the
// same rules decides the same.
func fingerprint(rec events.Config) (string, error) {
	rec.ProgramVersion = ""
	return digest(rec)
}

func digest(v any) (string, error) {
	b, err := json.Marshal(v, json.Deterministic(true), durationsOut)
	if err != nil {
		return "", fmt.Errorf("record configuration: %w", err)
	}
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

// judges is a digest of what a sweep compares summaries with: under two configurations with the same digest the same summaries
// are stale, so that no sweep is needed between them. It includes the built-in prompts, since another build of the program may
// have different ones.
func (c *Config) judges() (string, error) {
	type judge struct {
		Name         string
		Enabled      bool
		Match        summarize.Match
		On           []string
		Fingerprints []string
		Provider     string
		Prompts      []string
	}
	policies := make([]judge, 0, len(c.Policies))
	for _, p := range c.Policies {
		j := judge{Name: p.Name, Enabled: p.Enabled, Match: p.Match, On: slices.Sorted(slices.Values(p.Staleness.On)), Provider: p.Provider}
		for _, kind := range []string{events.KindToolResult, events.KindCompaction, events.KindHistory} {
			j.Fingerprints = append(j.Fingerprints, summarize.KindFingerprint(p, kind))
		}
		j.Prompts = promptsOf(&p).Versions()
		policies = append(policies, j)
	}
	models := map[string]string{}
	for name, p := range c.Providers {
		models[name] = p.Model
	}
	return digest(struct {
		Policies []judge
		Models   map[string]string
	}{policies, models})
}
