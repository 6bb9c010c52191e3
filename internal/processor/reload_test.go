package processor_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"unicode/utf8"

	"precis/internal/config"
	"precis/internal/processor"
)

// A refused reload is told of until one succeeds: by the probe in one short line, by a gauge, and to the pages.
func TestRefusedReloadIsToldUntilOneSucceeds(t *testing.T) {
	c, reload := settings(t), make(chan os.Signal)
	var file atomic.Pointer[func() (*config.Config, error)]
	p := start(t, processor.Options{Config: c, Logger: logger(t), Broker: openBroker(t, t.TempDir()), Reload: reload, Load: func() (*config.Config, error) { return (*file.Load())() }})
	defer p.end()
	<-p.Ready()
	again := func(load func() (*config.Config, error)) {
		file.Store(&load)
		for range 3 { // the one before may be under way yet, and the last is taken once the second is through
			reload <- os.Interrupt
		}
	}
	good := func(contents bool) {
		again(func() (*config.Config, error) {
			next := *c
			next.UI.Contents = contents
			return &next, nil
		})
	}
	text := func() string {
		w := httptest.NewRecorder()
		p.Readyz(w, httptest.NewRequest(http.MethodGet, "/readyz", nil))
		if w.Code != http.StatusOK {
			t.Errorf("/readyz says %d %s", w.Code, w.Body)
		}
		return w.Body.String()
	}
	if got := text(); got != "ready\n" || p.gauge("precis_config_refused") != 0 {
		t.Errorf("before a reload: %q, %v", got, p.gauge("precis_config_refused"))
	}
	again(func() (*config.Config, error) {
		return nil, errors.New("precis.yaml:3: polices:\n  \x1b[31munknown key " + strings.Repeat("é", 10_000))
	})
	got := text()
	if !strings.HasPrefix(got, "ready; the last reload was refused: precis.yaml:3: polices: \ufffd[31munknown key é") || strings.Count(got, "\n") != 1 || utf8.RuneCountInString(got) > 400 {
		t.Errorf("%q", got)
	}
	if r := p.Reloaded(); p.gauge("precis_config_refused") != 1 || !strings.Contains(r.Refused, "polices") || utf8.RuneCountInString(r.Refused) > 4000 || r.At.IsZero() {
		t.Errorf("gauge %v, %+v", p.gauge("precis_config_refused"), r)
	}
	good(!c.UI.Contents)
	if r := p.Reloaded(); text() != "ready\n" || p.gauge("precis_config_refused") != 0 || r.Refused != "" || !slices.Equal(r.Waiting, []string{"ui.contents"}) {
		t.Errorf("after a good one: %q, %+v", text(), r)
	}
	good(c.UI.Contents)
	if r := p.Reloaded(); len(r.Waiting) > 0 {
		t.Errorf("%q wait", r.Waiting)
	}
}

// gauge is the value of a metric without labels; -1: there is none.
func (r *running) gauge(name string) float64 {
	r.t.Helper()
	families, err := r.Registry().Gather()
	if err != nil {
		r.t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			return f.Metric[0].GetGauge().GetValue()
		}
	}
	return -1
}

// docs/operations.md lists the keys that change with a restart alone, and docs/configuration.md the others.
func TestDocsListWhatNeedsARestart(t *testing.T) {
	page := func(name string) string {
		text, err := os.ReadFile("../../docs/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	listed := regexp.MustCompile(`(?s)Nothing below (.*?)\s+changes without a restart`).FindStringSubmatch(page("operations.md"))
	if listed == nil {
		t.Fatal("docs/operations.md has no list")
	}
	var keys []string
	for _, key := range regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(listed[1], -1) {
		keys = append(keys, key[1])
	}
	if !slices.Equal(keys, processor.FixedKeys) {
		t.Errorf("docs/operations.md lists %q, the code %q", keys, processor.FixedKeys)
	}
	var rest []string
	for _, s := range config.Default().Settings() {
		top, _, _ := strings.Cut(s.Key, ".")
		top, _, _ = strings.Cut(top, "[")
		if !slices.Contains(keys, top) && !slices.Contains(rest, top) {
			rest = append(rest, top)
		}
	}
	slices.Sort(rest)
	if want := []string{"limits", "policies", "pricing"}; !slices.Equal(slices.DeleteFunc(rest, func(key string) bool { return key == "providers" }), want) ||
		!strings.Contains(page("configuration.md"), "reloads policies, providers, limits and prices") {
		t.Errorf("%q change by a reload: docs/configuration.md says which", rest)
	}
}
