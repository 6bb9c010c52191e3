package rules

import (
	"fmt"
	"go/format"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"precis/summarize/rules/call"
	"precis/summarize/rules/words"
)

// sample is one identifier that an output introduced, and whether the assistant wrote it later.
type sample struct {
	x    vector
	used bool
	w    float64
}

// Chosen by their effect on files and tools left out of the fit, not on those in it: a ridge of 1 and a
// weight of 0.5 are as good on all cases, and 0.02 worse on the largest file when it is left out.
const (
	ridge = 30.0
	// caseWeight: 0 weighs every identifier equally, 1 every case.
	caseWeight = 0.9
)

// prior is the target of the ridge, if not 0: measures, dates and a loop's output are
// rare in the transcripts, but an agent seldom repeats how long a step took.
var prior = vector{fDate: -0.5, fDigits: -0.3, fHex: -0.3, fAlike: -0.2}

// TestTrain fits the weights by logistic regression and writes them to weight.go, with PRECIS_RULES_TRAIN set.
func TestTrain(t *testing.T) {
	if os.Getenv("PRECIS_RULES_TRAIN") == "" {
		t.Skip("PRECIS_RULES_TRAIN is not set")
	}
	w := fit(samplesOfAll(cases(transcripts(t))), ridge)
	var b strings.Builder
	for f, name := range names(t) {
		fmt.Fprintf(&b, "\t%s: %.2f,\n", name, w[f])
	}
	file, err := os.ReadFile("weight.go")
	if err != nil {
		t.Fatal(err)
	}
	s := string(file)
	from := strings.Index(s, "var weights = vector{")
	to := from + strings.Index(s[from:], "}")
	source, err := format.Source([]byte(s[:from] + "var weights = vector{\n" + b.String() + s[to:]))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("weight.go", source, 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestCross measures every group of cases with weights fitted on all others, with PRECIS_RULES_CROSS set:
// an estimate for unseen agents, tools and projects.
func TestCross(t *testing.T) {
	if os.Getenv("PRECIS_RULES_CROSS") == "" {
		t.Skip("PRECIS_RULES_CROSS is not set")
	}
	list := cases(transcripts(t))
	fitted := weights
	defer func() { weights = fitted }()
	for _, split := range []struct {
		name  string
		group func(scored) string
	}{
		{"file", func(s scored) string { return s.thread.file }},
		{"tool", func(s scored) string { return strings.ToLower(s.event().ToolName) }},
		{"half", func(s scored) string { return strconv.FormatBool(heldOut(s.thread.id)) }},
	} {
		groups := map[string][]scored{}
		for _, s := range list {
			groups[split.group(s)] = append(groups[split.group(s)], s)
		}
		var all tally
		for _, name := range slices.Sorted(maps.Keys(groups)) {
			rest := slices.DeleteFunc(slices.Clone(list), func(s scored) bool { return split.group(s) == name })
			weights = fit(samplesOfAll(rest), ridge)
			var one tally
			for _, s := range measure(groups[name], standard) {
				one.add(s)
				all.add(s)
			}
			t.Logf("without %s %-24s %s", split.name, name, one)
		}
		t.Logf("without %s, all %20s %s", split.name, "", all)
	}
}

func samplesOfAll(list []scored) []sample {
	var samples []sample
	for i := range list {
		samples = append(samples, samplesOf(&list[i])...)
	}
	return samples
}

func samplesOf(c *scored) []sample {
	in := inputOf(c.thread, c.at, standard)
	args := call.ParseArguments(in.Arguments)
	doc := read(in, proper(in.Content), categoryOf(in.ToolName, args, in.Content), args)
	v := newVocabulary(&doc, nil)
	s := newScene(&doc, v, v.recall(in.Earlier, in.Seen))
	var list []sample
	for id := range v.words {
		if w := &v.words[id]; !w.seen && w.how&words.IsName == 0 {
			list = append(list, sample{x: s.vector(int32(id)), used: c.used[w.text], w: math.Pow(float64(len(c.used)), -caseWeight)})
		}
	}
	return list
}

// fit is logistic regression with a ridge, by Newton's method.
func fit(samples []sample, ridge float64) vector {
	const n = int(numFeatures)
	var w vector
	for range 12 {
		var grad [n]float64
		var hess [n][n]float64
		for _, s := range samples {
			z := 0.0
			for i := range w {
				z += w[i] * s.x[i]
			}
			p := 1 / (1 + math.Exp(-z))
			err := (flag(s.used) - p) * s.w
			h := p * (1 - p) * s.w
			for i := range w {
				if s.x[i] == 0 {
					continue
				}
				grad[i] += err * s.x[i]
				for j := 0; j <= i; j++ {
					hess[i][j] += h * s.x[i] * s.x[j]
				}
			}
		}
		for i := range w {
			grad[i] -= ridge * (w[i] - prior[i])
			hess[i][i] += ridge
			for j := i + 1; j < n; j++ {
				hess[i][j] = hess[j][i]
			}
		}
		step := solve(hess, grad)
		for i := range w {
			w[i] += step[i]
		}
	}
	return w
}

func solve(a [numFeatures][numFeatures]float64, b [numFeatures]float64) [numFeatures]float64 {
	const n = int(numFeatures)
	for i := range n {
		p := i
		for r := i + 1; r < n; r++ {
			if math.Abs(a[r][i]) > math.Abs(a[p][i]) {
				p = r
			}
		}
		a[i], a[p] = a[p], a[i]
		b[i], b[p] = b[p], b[i]
		for r := i + 1; r < n; r++ {
			f := a[r][i] / a[i][i]
			for c := i; c < n; c++ {
				a[r][c] -= f * a[i][c]
			}
			b[r] -= f * b[i]
		}
	}
	for i := n - 1; i >= 0; i-- {
		for c := i + 1; c < n; c++ {
			b[i] -= a[i][c] * b[c]
		}
		b[i] /= a[i][i]
	}
	return b
}

// names reads the features' names from their declaration.
func names(t *testing.T) []string {
	source, err := os.ReadFile("features.go")
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(string(source), "fBias feature = iota")
	body, _, _ = strings.Cut(body, "numFeatures")
	list := []string{"fBias"}
	for _, l := range strings.Split(body, "\n") {
		if f := strings.Fields(l); len(f) > 0 && strings.HasPrefix(f[0], "f") {
			list = append(list, f[0])
		}
	}
	return list
}
