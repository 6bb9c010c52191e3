package fold

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"precis/events"
	"precis/state"
	"precis/summarize"
	"precis/summarize/llm"
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

// model returns the model that a policy's summaries try first; empty if none is configured.
func (c *Config) model(p *summarize.Policy) string {
	if own, ok := c.Providers[p.Provider]; ok {
		return own.Model
	}
	return c.Providers[summarize.ProviderMain].Model
}

// promptsOf returns a policy's prompts, which were checked when the configuration was read.
func promptsOf(p *summarize.Policy) llm.Prompts {
	prompts, err := llm.NewPrompts(p.Prompts)
	if err != nil {
		return llm.Prompts{}
	}
	return prompts
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

// applied returns the config.applied of a configuration.
func (c *Config) applied() (*events.Config, error) {
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

// Claim returns a partition.claimed of a processor with the configuration, but for its head.
func (c *Config) Claim(owner string) (events.Claimed, error) {
	rec, err := c.applied()
	if err != nil {
		return events.Claimed{}, err
	}
	return events.Claimed{Owner: owner, ProgramVersion: c.ProgramVersion, RulesVersion: c.RulesVersion, Fingerprint: rec.Fingerprint}, nil
}

// ErrConfigTooLarge: the configuration does not fit in a record.
var ErrConfigTooLarge = errors.New("configuration too large to be put on record")

// Fits returns ErrConfigTooLarge if the configuration, with its prompts and prices, does not fit in a record.
func (c *Config) Fits() error {
	rec, err := c.applied()
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

// A config.applied is read as the program that wrote it meant it. Keys were added over time, the first ones before records had a
// version, so older records lack some. An absent key stands for what programs did that did not know the key, not for today's
// default or zero.
//
//	since  key                              absent
//	6      policies[].tool_output.max_summary_chars  never: it can be "auto" since then
//	5      policies[].context.retrieval     cli
//	5      policies[].tools                 none: every tool was recognized (today the key is omitted for that too)
//	4      policies[].compaction.window     tokenizer
//	3      policies[].context.keep_outputs  a summary stood in for its output at once (today the key is omitted for that too)
//	2      config_version                   1
//	1      retention.events                 nothing is known to have been removed: 0s
//	1      applied_at                       unknown: nothing is compared between partitions
//	1      policies[].staleness.meanwhile   raw: stale summaries stood in no prompt
//	1      accepted_loss                    none
//	1      policies[].compaction.max_summary_chars  bounded by tokens only (today the key is omitted for that too)
//
// The reverse has no such meaning: a key or a version that this program does not know may change any decision. Such a
// configuration is in force as far as it can be read, and Config.Newer says that it is incomplete: nothing that depends on it is
// decided here (Fold.known), and an audit proves nothing with it.

// readConfig reads a config.applied.
func readConfig(data []byte) (*events.Config, *Config, error) {
	newer := events.KnownConfig(data)
	if !errors.Is(newer, events.ErrNewerConfig) {
		newer = nil
	}
	rec, err := record[events.Config](data)
	if err != nil && newer != nil {
		// Its members have unknown types: it takes its place in the chain, and nothing else of it is known.
		var named struct {
			events.Head
			ConfigVersion  int    `json:"config_version"`
			ProgramVersion string `json:"program_version"`
			Fingerprint    string `json:"fingerprint"`
		}
		if json.Unmarshal(data, &named) == nil {
			rec = &events.Config{Head: named.Head, ConfigVersion: named.ConfigVersion, ProgramVersion: named.ProgramVersion, Fingerprint: named.Fingerprint}
			return rec, &Config{ProgramVersion: named.ProgramVersion, Newer: newer}, nil
		}
	}
	if err != nil {
		return nil, nil, err
	}
	c := &Config{
		Prompts: rec.Prompts, PriceTable: rec.PriceTable,
		ProgramVersion: rec.ProgramVersion, RulesVersion: rec.RulesVersion, Newer: newer,
	}
	err = errors.Join(member(c, "policies", rec.Policies, &c.Policies), member(c, "providers", rec.Providers, &c.Providers),
		member(c, "limits", rec.Limits, &c.Limits))
	if err != nil {
		return nil, nil, err
	}
	for i := range c.Policies {
		s, k := &c.Policies[i].Staleness, &c.Policies[i].Compaction
		s.Meanwhile = cmp.Or(s.Meanwhile, summarize.MeanwhileRaw)
		k.Window = cmp.Or(k.Window, summarize.WindowTokenizer)
		c.Policies[i].Context.Retrieval = cmp.Or(c.Policies[i].Context.Retrieval, summarize.RetrievalCLI)
	}
	if c.Retention, err = time.ParseDuration(cmp.Or(rec.Retention.Events, "0s")); err != nil && c.Newer == nil {
		return nil, nil, fmt.Errorf("%w: read configuration record: retention: %w", ErrRecord, err)
	}
	return rec, c, nil
}

// member reads one member of a config.applied; of a newer program's, as much as it can.
func member[T any](c *Config, name string, data jsontext.Value, to *T) error {
	err := json.Unmarshal(data, to, durationsIn, json.RejectUnknownMembers(true))
	if at, ok := errors.AsType[*json.SemanticError](err); ok && errors.Is(err, json.ErrUnknownName) && c.Newer == nil {
		c.Newer = fmt.Errorf("%w: this program does not know its key /%s%s", events.ErrNewerConfig, name, at.JSONPointer)
	}
	switch {
	case err == nil:
		return nil
	case c.Newer == nil:
		return fmt.Errorf("%w: read configuration record: %s: %w", ErrRecord, name, err)
	}
	var some T
	if json.Unmarshal(data, &some, durationsIn) != nil {
		some = *new(T)
	}
	*to = some
	return nil
}

// NewerConfig returns events.ErrNewerConfig if a config.applied has content that this program does not know.
func NewerConfig(data []byte) error {
	_, c, err := readConfig(data)
	if err != nil {
		return nil // unreadable, which is a different error
	}
	return c.Newer
}

// known fails if the next record or event would be folded under a configuration that this program can't read completely. A
// processor must not guess: what it summarizes, counts and rejects would differ from what the program that wrote the
// configuration did, and from the records that follow. A watched fold decides nothing: it continues, and its watch knows.
func (f *Fold) known() error {
	if f.config.Newer == nil || f.Watch != nil {
		return nil
	}
	return fmt.Errorf("%w: precis %s wrote it for partition %d, and more of the log depends on it: run that program, or a newer one",
		f.config.Newer, cmp.Or(f.config.ProgramVersion, "(unknown)"), f.part.ID())
}

// Configure puts a configuration in force from the partition's position on and, unless it is in force already, records it with
// the time from which it applies. It may replace a newer program's: nothing after it is folded under that one. While records are
// being adopted the configuration on record stands and done is false: call it again after the recovery.
func (f *Fold) Configure(c *Config, since time.Time) (done bool, err error) {
	if f.part.Meta().Staged > 0 {
		return false, nil
	}
	rec, err := c.applied()
	if err != nil {
		return false, err
	}
	newer := f.config.Newer
	if newer == nil && rec.Fingerprint == f.fingerprint && rec.ProgramVersion == f.config.ProgramVersion {
		return true, nil
	}
	if newer != nil {
		f.Logger.Warn().Err(newer).Str("program", f.config.ProgramVersion).Msg("a newer program's configuration is replaced by this program's")
	}
	st, err := f.part.LoadThread("")
	if err != nil {
		return false, err
	}
	position := f.part.Meta().Position
	f.begin(events.ByConfiguration)
	id := events.PositionEventID(events.ConfigApplied, f.part.ID(), position)
	if f.fingerprint != "" && st.Header.EventSeq == position {
		// Two configurations at one position are two records: the second must not be dropped as a duplicate of the first.
		id += state.OwnSuffix
	}
	rec.AppliedAt = since.UTC()
	rec.Head = events.Head{Partition: f.part.ID(), EventSeq: position, EffectiveSeq: max(position, f.applied), Step: events.Step{Cause: f.cause, Index: 1}}
	data, err := unsealed(rec)
	if err != nil {
		return false, err
	}
	st.Header.EventSeq, f.prev = position, ""
	f.send(st, rec, "", events.ConfigApplied, id, data, since)
	f.part.Save(st)
	f.flush()
	f.part.SaveConfig(data)
	// Later decisions of turns are made under this configuration: a rebuild must adopt it first.
	f.applied = max(f.applied, position)
	kept, read, err := readConfig(data) // what a rebuild will read
	if err != nil {
		return false, err
	}
	return true, f.replace(kept, read)
}

// unsealed is the data of a configuration that gets its place in the partition's own chain when it is published.
func unsealed(rec *events.Config) ([]byte, error) {
	data, err := json.Marshal(rec, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("record configuration: %w", err)
	}
	return state.Unsealed(data)
}
