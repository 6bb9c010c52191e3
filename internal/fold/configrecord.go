package fold

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"precis/events"
	"precis/summarize"
)

// A config.applied is read as the program that wrote it meant it. Keys were added over time, the first ones before records had a
// version, so older records lack some. An absent key stands for what programs did that did not know the key, not for today's
// default or zero.
//
//	since  key                              absent
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
	rec, err := read[events.Config](data)
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
		s := &c.Policies[i].Staleness
		s.Meanwhile = cmp.Or(s.Meanwhile, summarize.MeanwhileRaw)
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
	if f.config.Newer == nil || f.watch != nil {
		return nil
	}
	return fmt.Errorf("%w: precis %s wrote it for partition %d, and more of the log depends on it: run that program, or a newer one",
		f.config.Newer, cmp.Or(f.config.ProgramVersion, "(unknown)"), f.part.ID())
}
