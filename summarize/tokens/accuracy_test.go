package tokens

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// usage is what a provider charged for the messages appended between two calls.
type usage struct {
	ThreadID        string   `json:"thread_id"`
	Provider        string   `json:"provider"`
	Model           string   `json:"model"`
	Delta           int      `json:"delta_prompt_tokens"`
	AppendedChars   int      `json:"appended_chars"`
	Appended        []string `json:"appended_message_ids"`
	Quality         string   `json:"delta_quality"`
	Previous        string   `json:"prev_message_id"`
	PrevOutputChars int      `json:"prev_output_chars"`
}

// measurement is one append: what was charged, and the texts it was charged for.
type measurement struct {
	usage
	appended map[string]int // tokens by counter
	output   map[string]int // of the previous output, which the charge of a tool's result covers too
}

// ratio is a counter's figure over the provider's.
func (m measurement) ratio(name string, withOutput bool) float64 {
	n := m.appended[name]
	if withOutput {
		n += m.output[name]
	}
	return float64(n) / float64(m.Delta)
}

// measurements are the appends of over 1,500 characters.
func measurements(t *testing.T) []measurement {
	t.Helper()
	texts, outputs := map[string]string{}, map[string][]string{}
	for _, messages := range transcripts(t) {
		for _, m := range messages {
			key := m.ThreadID + "\x00" + m.MessageID
			texts[key] = m.text()
			outputs[key] = append(outputs[key], m.text())
			for _, c := range m.ToolCalls {
				outputs[key] = append(outputs[key], string(c.Arguments))
			}
		}
	}
	var all []measurement
	for _, u := range lines[usage](t, filepath.Join(dataDir(t), "usage_dev.jsonl")) {
		if u.AppendedChars <= 1500 {
			continue
		}
		m := measurement{usage: u, appended: map[string]int{}, output: map[string]int{}}
		for _, name := range Names() {
			c, err := For(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, id := range u.Appended {
				m.appended[name] += c.Count(texts[u.ThreadID+"\x00"+id])
			}
			m.output[name] = c.Count(strings.Join(outputs[u.ThreadID+"\x00"+u.Previous], "\n"))
		}
		all = append(all, m)
	}
	return all
}

// bound is what the median of a counter's figure over the charged one must lie in.
type bound struct {
	counter  string
	from, to float64
}

// TestCountsAsCharged prints the table that doc.go has, and holds the medians to the bounds: within
// 5 % for OpenAI, at most 10 % over and never under for Claude. The growth of a prompt covers the
// previous output too wherever a tool's result was appended, although the rows say "exact": where
// that output is longer than a fifth of what was appended, only the columns that add it mean
// anything.
func TestCountsAsCharged(t *testing.T) {
	groups := []struct {
		name   string
		in     func(measurement) bool
		raw    []bound // without the previous output
		output []bound // with it
	}{
		{
			"OpenAI, exact", func(m measurement) bool { return m.Provider == "openai" },
			[]bound{{O200k, .95, 1.05}, {CL100k, .95, 1.05}, {Estimate, 1, 1.5}}, nil,
		},
		{
			"Claude, exact", func(m measurement) bool { return m.Provider == "anthropic" && m.Quality == "exact" },
			[]bound{{Claude, 1, 1.1}, {Estimate, 1, 1.1}},
			[]bound{{Claude, 1, 1.15}, {Estimate, 1, 1.15}},
		},
		{
			"Claude, exact, short output",
			func(m measurement) bool { return m.Provider == "anthropic" && m.Quality == "exact" && m.shortOutput() },
			[]bound{{Claude, 1, 1.1}, {Estimate, 1, 1.1}}, nil,
		},
		{
			"Sonnet 4.5, exact", func(m measurement) bool { return m.Model == "claude-sonnet-4-5" },
			[]bound{{Claude, 1, 1.1}, {Estimate, 1, 1.1}}, nil,
		},
		{
			"Claude, all, short output", func(m measurement) bool { return m.Provider == "anthropic" && m.shortOutput() },
			nil, []bound{{Claude, 1, 1.15}, {Estimate, 1, 1.15}},
		},
		{
			"Claude, over 15,000 chars",
			func(m measurement) bool {
				return m.Provider == "anthropic" && m.shortOutput() && m.AppendedChars > 15000
			},
			nil, []bound{{Claude, 1, 1.15}, {Estimate, 1, 1.15}},
		},
	}
	all := measurements(t)
	for _, g := range groups {
		t.Run(g.name, func(t *testing.T) {
			rows := slices.DeleteFunc(slices.Clone(all), func(m measurement) bool { return !g.in(m) })
			for _, name := range Names() {
				raw, output := quantiles(rows, name, false), quantiles(rows, name, true)
				t.Logf("%-12s n=%3d  appended %s  with output %s", name, len(rows), raw, output)
				check(t, "appended", name, raw, g.raw)
				check(t, "with output", name, output, g.output)
			}
		})
	}
}

func (m measurement) shortOutput() bool { return 5*m.PrevOutputChars < m.AppendedChars }

// spread is the 10th, 25th, 50th, 75th and 90th percentile.
type spread [5]float64

func (s spread) String() string {
	return fmt.Sprintf("p10 %.2f p25 %.2f p50 %.2f p75 %.2f p90 %.2f", s[0], s[1], s[2], s[3], s[4])
}

func quantiles(rows []measurement, name string, withOutput bool) spread {
	ratios := make([]float64, len(rows))
	for i, m := range rows {
		ratios[i] = m.ratio(name, withOutput)
	}
	slices.Sort(ratios)
	var s spread
	for i, p := range []int{10, 25, 50, 75, 90} {
		s[i] = ratios[len(ratios)*p/100]
	}
	return s
}

func check(t *testing.T, what, name string, s spread, bounds []bound) {
	t.Helper()
	for _, b := range bounds {
		if b.counter == name && (s[2] < b.from || s[2] > b.to) {
			t.Errorf("%s, %s: median %.3f, want %.2f to %.2f", name, what, s[2], b.from, b.to)
		}
	}
}

// TestEstimateOfKinds prints how far the estimate is from o200k_base on texts the transcripts have
// little of, and holds it off the worst.
func TestEstimateOfKinds(t *testing.T) {
	m := newMachine(measured)
	for kind, text := range kinds() {
		exact := loadO200k().Count(text)
		ratio := float64(m.thousandths(text)) / 1000 / float64(exact)
		t.Logf("%-14s %5d bytes %5d tokens, %.2f bytes a token, guess %.2f of it", kind, len(text), exact, float64(len(text))/float64(exact), ratio)
		if ratio < .5 || ratio > 1.5 {
			t.Errorf("%s: the guess is %.2f of o200k_base's count", kind, ratio)
		}
	}
}
