package ledger

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"precis/events"
)

var (
	measured = regexp.MustCompile(`[A-Za-z0-9_]+(?:[./:\-][A-Za-z0-9_]+)*`)
	inner    = regexp.MustCompile(`[a-z][A-Z]|[A-Za-z][0-9]|[0-9][A-Za-z]|_|[./:\-]`)
	joints   = regexp.MustCompile(`[./:\-]`)
	writers  = regexp.MustCompile(`(?i)write|edit|create|str_replace|patch|insert`)
)

// bag counts identifiers.
type bag map[string]int

// add counts a text's identifiers, by a definition that is independent of the code under measurement.
func (b bag) add(text string) {
	for _, whole := range measured.FindAllString(text, -1) {
		list := []string{whole}
		if joints.MatchString(whole) {
			list = append(list, joints.Split(whole, -1)...)
		}
		for _, w := range list {
			_, err := strconv.Atoi(w)
			upper := strings.ToUpper(w) == w && strings.ToLower(w) != w
			if len(w) >= 4 && (inner.MatchString(w) || err == nil || upper) {
				b[w]++
			}
		}
	}
}

// result is a pass's score.
type result struct {
	used, kept    int
	paths, named  int
	chars, listed int
}

func score(p pass, cache map[string][]bag) result {
	words := wordsOf(p.thread, cache)
	replaced, kept, later := bag{}, bag{}, bag{}
	in := map[int]bool{}
	for _, i := range p.replaced {
		in[i] = true
	}
	paths := map[string]bool{}
	for i, m := range p.thread.messages {
		switch {
		case in[i]:
			replaced.merge(words[i])
			writtenPaths(m, paths)
		case i <= p.asOf:
			kept.merge(words[i])
		case m.Role == events.RoleAssistant:
			later.merge(words[i])
		}
	}
	have := bag{}
	have.add(p.text)
	r := result{paths: len(paths), chars: runes(p.text), listed: bare(p.text)}
	for w := range replaced {
		if later[w] > 0 && kept[w] == 0 {
			r.used++
			if have[w] > 0 {
				r.kept++
			}
		}
	}
	for path := range paths {
		if strings.Contains(p.text, path) || strings.Contains(p.text, path[strings.LastIndexByte(path, '/')+1:]) {
			r.named++
		}
	}
	return r
}

func wordsOf(th thread, cache map[string][]bag) []bag {
	if w, ok := cache[th.id]; ok {
		return w
	}
	var list []bag
	for _, m := range th.messages {
		b := bag{}
		b.add(fullText(m))
		list = append(list, b)
	}
	cache[th.id] = list
	return list
}

func (b bag) merge(from bag) {
	for w, n := range from {
		b[w] += n
	}
}

func writtenPaths(m Message, into map[string]bool) {
	for _, call := range m.ToolCalls {
		if !writers.MatchString(call.Name) {
			continue
		}
		args := parseArguments(call.Arguments)
		for _, k := range []string{"file_path", "path", "filename", "file"} {
			if s, ok := args.fields[k].(string); ok {
				into[s] = true
			}
		}
	}
}

// bare counts the characters of lines that only list identifiers.
func bare(text string) int {
	n := 0
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(line, "Also named: ") {
			n += runes(line)
		}
	}
	return n
}

// figures are means over passes.
type figures struct {
	n                         int
	recall, artifacts, listed float64
	cases, written            int
	longest                   int
}

func (f *figures) add(r result) {
	f.n++
	f.longest = max(f.longest, r.chars)
	f.listed += float64(r.listed) / float64(max(r.chars, 1))
	if r.used > 0 {
		f.cases++
		f.recall += float64(r.kept) / float64(r.used)
	}
	if r.paths > 0 {
		f.written++
		f.artifacts += float64(r.named) / float64(r.paths)
	}
}

func (f figures) report(t *testing.T, label string) {
	t.Logf("%-14s passes %3d  recall macro %.3f  artifacts %.3f  bare %.2f  longest %d",
		label, f.n, f.mean(f.recall, f.cases), f.mean(f.artifacts, f.written), f.mean(f.listed, f.n), f.longest)
}

func (f figures) mean(sum float64, n int) float64 { return sum / float64(max(n, 1)) }

// yardsticks measure simple methods in the same passes: head and tail of the replaced messages, and bare lists of the
// identifiers that occur in most of those messages, or most often there and in none of the kept ones.
func yardsticks(t *testing.T, all []pass, cache map[string][]bag) {
	by := map[string]*figures{"head and tail": {}, "bare list": {}, "first: list": {}, "list, not kept": {}}
	for _, p := range all {
		var texts []string
		seen, often := bag{}, bag{}
		words := wordsOf(p.thread, cache)
		for _, i := range p.replaced {
			texts = append(texts, fullText(p.thread.messages[i]))
			for w := range words[i] {
				seen[w]++
			}
			often.merge(words[i])
		}
		for _, i := range p.kept {
			for w := range words[i] {
				delete(often, w)
			}
		}
		p.text = headTail(strings.Join(texts, "\n"))
		by["head and tail"].add(score(p, cache))
		p.text = mostSeen(often)
		by["list, not kept"].add(score(p, cache))
		p.text = mostSeen(seen)
		r := score(p, cache)
		by["bare list"].add(r)
		if p.number == 1 {
			by["first: list"].add(r)
		}
	}
	for _, l := range []string{"head and tail", "bare list", "first: list", "list, not kept"} {
		by[l].report(t, l)
	}
}

func headTail(text string) string {
	r := []rune(text)
	if len(r) <= measureChars {
		return text
	}
	head := measureChars * 6 / 10
	return string(r[:head]) + "\n" + string(r[len(r)-(measureChars-head-1):])
}

func mostSeen(seen bag) string {
	words := slices.Sorted(maps.Keys(seen))
	slices.SortStableFunc(words, func(a, b string) int { return seen[b] - seen[a] })
	var out strings.Builder
	for _, w := range words {
		if out.Len()+len(w)+1 > measureChars {
			break
		}
		out.WriteString(w + " ")
	}
	return out.String()
}
