package ui

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"precis/events"
	"precis/internal/broker"
)

const (
	// shownConfigs is how many configurations of the past are shown.
	shownConfigs = 50
	// longValue is how many characters of a setting are shown.
	longValue = 200
)

// configurationBody is the configuration in force, and those before it.
type configurationBody struct {
	Reload  Reload
	Lines   []setting
	History []applied
	More    int
}

// setting is a line of the configuration, and where its value is from.
type setting struct {
	Text, Gap, Origin string
	Default           bool
}

// settingsIn splits what config.WriteYAML writes.
func settingsIn(text string) (list []setting) {
	for line := range strings.Lines(text) {
		s := setting{Text: strings.TrimSuffix(line, "\n")}
		if at := strings.LastIndex(s.Text, " # "); at >= 0 {
			s.Text, s.Origin = s.Text[:at], s.Text[at+1:]
			value := strings.TrimRight(s.Text, " ")
			s.Text, s.Gap, s.Default = value, s.Text[len(value):]+" ", s.Origin == "# default"
		}
		list = append(list, s)
	}
	return list
}

// applied is a configuration that was put in force.
type applied struct {
	At       time.Time
	Version  string
	Changes  []change
	First    bool
	Loss     *events.AcceptedLoss
	settings map[string]string
}

// change is a setting that differs from the configuration before.
type change struct{ Key, Old, New string }

func (u *UI) configuration(r *http.Request, v *Viewer) (*page, error) {
	if err := whole(v); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), lookFor)
	defer cancel()
	b := &configurationBody{Reload: u.Backend.Reloaded()}
	var text bytes.Buffer
	if err := u.Backend.Config().WriteYAML(&text); err != nil {
		return nil, err
	}
	b.Lines = settingsIn(u.Backend.Mask(text.String()))
	var before *applied
	err := u.history.summaries.ScanSubjects(ctx, 1, []string{string(events.ConfigApplied) + ".=p0"}, func(m broker.Stored) error {
		next := appliedOf(m.Data)
		if next == nil {
			return nil
		}
		next.First = before == nil
		if before != nil {
			next.Changes = changes(before.settings, next.settings)
		}
		before = next
		b.History = append(b.History, *next)
		return nil
	}, nil)
	if err != nil {
		return nil, err
	}
	slices.Reverse(b.History)
	b.More = max(0, len(b.History)-shownConfigs)
	b.History = b.History[:len(b.History)-b.More]
	return &page{Name: "configuration", Title: "Configuration", Nav: "configuration", Live: true, Body: b}, nil
}

// appliedOf reads a config.applied; nil where it can't be read.
func appliedOf(data []byte) *applied {
	var rec events.Config
	var all map[string]any
	if json.Unmarshal(data, &rec) != nil || json.Unmarshal(data, &all) != nil {
		return nil
	}
	for _, name := range []string{
		"thread_id", "partition", "event_seq", "effective_seq", "chain_seq", "chain", "event_at", "applied_at", "fingerprint", "accepted_loss", "program_version", "cause", "config_version",
	} {
		delete(all, name)
	}
	a := &applied{At: rec.AppliedAt, Version: rec.ProgramVersion, Loss: rec.AcceptedLoss, settings: map[string]string{}}
	flatten("", all, a.settings)
	return a
}

// flatten makes keys with dots of nested objects. Items of lists are named by their name or place.
func flatten(key string, value any, to map[string]string) {
	switch value := value.(type) {
	case map[string]any:
		for name, of := range value {
			next := name
			if key != "" {
				next = key + "." + name
			}
			flatten(next, of, to)
		}
	case []any:
		for i, of := range value {
			name := fmt.Sprint(i)
			if object, ok := of.(map[string]any); ok {
				if text, ok := object["name"].(string); ok {
					name = text
				}
			}
			flatten(key+"["+name+"]", of, to)
		}
	case nil:
		to[key] = "null"
	default:
		to[key] = fmt.Sprint(value)
	}
}

func changes(old, now map[string]string) (list []change) {
	keys := maps.Clone(old)
	maps.Copy(keys, now)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		a, inOld := old[key]
		b, inNow := now[key]
		if a == b && inOld == inNow {
			continue
		}
		if !inOld {
			a = "–"
		}
		if !inNow {
			b = "–"
		}
		list = append(list, change{key, clipped(a), clipped(b)})
	}
	return list
}

func clipped(text string) string {
	if r := []rune(text); len(r) > longValue {
		return string(r[:longValue]) + "…"
	}
	return text
}
