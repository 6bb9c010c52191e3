package rules

import (
	"cmp"
	"fmt"
	"go/format"
	"maps"
	"math"
	"math/rand/v2"
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

// topWorth is the mean worth of an output's topNames best names, over the cases of both sets, by the weights in features.go. What
// else a summary chooses by (a declaration's worth, a heading's) has its size beside it. Agents differ in how much of an output they
// write again, so that weights fitted on some of them put all names higher or lower against the rest; their bias is set so that they
// do not. Of two agents' halves the other one then loses 0.01 where it lost 0.03.
const (
	topWorth = 0.112
	topNames = 40
)

// TestTrain fits the weights by logistic regression and writes them to features.go, with PRECIS_RULES_TRAIN set.
func TestTrain(t *testing.T) {
	if os.Getenv("PRECIS_RULES_TRAIN") == "" {
		t.Skip("PRECIS_RULES_TRAIN is not set")
	}
	w := weightsOf(fittings(cases(transcripts(t))))
	var b strings.Builder
	for f, name := range names(t) {
		fmt.Fprintf(&b, "\t%s: %.2f,\n", name, w[f])
	}
	file, err := os.ReadFile("features.go")
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
	if err := os.WriteFile("features.go", source, 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestCross measures every group of cases with weights fitted on all others, with PRECIS_RULES_CROSS set: an estimate for unseen
// agents, tools and projects. A file is an agent.
func TestCross(t *testing.T) {
	if os.Getenv("PRECIS_RULES_CROSS") == "" {
		t.Skip("PRECIS_RULES_CROSS is not set")
	}
	list := fittings(cases(transcripts(t)))
	for _, split := range []struct {
		name  string
		group func(scored) string
	}{
		{"file", func(s scored) string { return s.thread.file }},
		{"tool", func(s scored) string { return strings.ToLower(s.event().ToolName) }},
		{"half", func(s scored) string { return strconv.FormatBool(heldOut(s.thread.id)) }},
	} {
		groups := map[string][]fitting{}
		for _, s := range list {
			groups[split.group(s.scored)] = append(groups[split.group(s.scored)], s)
		}
		var all tally
		for _, name := range slices.Sorted(maps.Keys(groups)) {
			rest := slices.DeleteFunc(slices.Clone(list), func(s fitting) bool { return split.group(s.scored) == name })
			one := measuredWith(weightsOf(rest), groups[name])[""]
			t.Logf("without %s %-24s %s", split.name, name, one)
			all.merge(one)
		}
		t.Logf("without %s, all %20s %s", split.name, "", all)
	}
}

// TestHalves fits weights on a half of the agents and measures them on the other half, beside weights that were fitted on that other
// half itself and those in features.go, with PRECIS_RULES_CROSS set: the two sets, and halves by a seed. Run it with
// PRECIS_RULES_SET="dev dev2".
func TestHalves(t *testing.T) {
	if os.Getenv("PRECIS_RULES_CROSS") == "" {
		t.Skip("PRECIS_RULES_CROSS is not set")
	}
	list := fittings(cases(transcripts(t)))
	agents := map[string]string{} // set of each
	for _, s := range list {
		agents[s.thread.file] = s.thread.set
	}
	all := slices.Sorted(maps.Keys(agents))
	one := slices.DeleteFunc(slices.Clone(all), func(a string) bool { return agents[a] != "dev" })
	halves := [][]string{one}
	for seed := range uint64(8) {
		shuffled := slices.Clone(all)
		rand.New(rand.NewPCG(seed, 0)).Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		halves = append(halves, shuffled[:len(all)/2])
	}
	for _, half := range halves {
		var a, b []fitting
		for _, s := range list {
			if slices.Contains(half, s.thread.file) {
				a = append(a, s)
			} else {
				b = append(b, s)
			}
		}
		wa, wb := weightsOf(a), weightsOf(b)
		for _, way := range []struct {
			from, to []fitting
			own      vector
			other    vector
		}{{a, b, wb, wa}, {b, a, wa, wb}} {
			other, own, shipped := measuredWith(way.other, way.to), measuredWith(way.own, way.to), measuredWith(weights, way.to)
			for _, name := range slices.Sorted(maps.Keys(own)) {
				t.Logf("fitted on the other %4d cases: %-32s %4d cases, other %.3f own %.3f shipped %.3f", len(way.from), cmp.Or(name, "all"), own[name].cases,
					other[name].meanMacro(), own[name].meanMacro(), shipped[name].meanMacro())
			}
		}
	}
}

// fitting is a case with its samples.
type fitting struct {
	scored
	samples []sample
}

func fittings(list []scored) []fitting {
	all := make([]fitting, len(list))
	for i := range list {
		all[i] = fitting{list[i], samplesOf(&list[i])}
	}
	return all
}

// weightsOf fits weights and sets their bias by topWorth.
func weightsOf(list []fitting) vector {
	var samples []sample
	for _, c := range list {
		samples = append(samples, c.samples...)
	}
	w := fit(samples, ridge)
	least, most := w[fBias]-5, w[fBias]+5
	for range 30 {
		w[fBias] = (least + most) / 2
		if meanTop(list, &w) < topWorth {
			least = w[fBias]
		} else {
			most = w[fBias]
		}
	}
	return w
}

// meanTop is what topWorth is of other weights.
func meanTop(list []fitting, w *vector) float64 {
	sum, n := 0.0, 0
	for _, c := range list {
		var worth []float64
		for i := range c.samples {
			worth = append(worth, probability(&c.samples[i].x, w))
		}
		slices.SortFunc(worth, func(a, b float64) int { return cmp.Compare(b, a) })
		worth = worth[:min(topNames, len(worth))]
		if len(worth) == 0 {
			continue
		}
		mean := 0.0
		for _, p := range worth {
			mean += p / float64(len(worth))
		}
		sum, n = sum+mean, n+1
	}
	return sum / float64(n)
}

// measuredWith measures cases with weights, by file and, under the empty name, together.
func measuredWith(w vector, list []fitting) map[string]tally {
	former := weights
	defer func() { weights = former }()
	weights = w
	plain := make([]scored, len(list))
	for i := range list {
		plain[i] = list[i].scored
	}
	by := map[string]tally{}
	for _, s := range measure(plain, standard) {
		for _, name := range []string{"", s.thread.file} {
			sum := by[name]
			sum.add(s)
			by[name] = sum
		}
	}
	return by
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
