package ledger

import (
	"slices"
	"strings"

	"precis/summarize/lex"
	"precis/summarize/verdict"
)

// failures tells what runs reported that failed and have not passed since, and what was mended and where. A run is named by
// its kind if the state names it whole.
func (v *view) failures() (open, mended []string) {
	others := 0
	for _, r := range highestFirst(v.l.Runs, Run.rank) {
		if r.Failed == 0 || r.Error == "" || r.Kind == "look" || v.failedSince(r) || v.onlyGone(targets(r.Line)) {
			continue
		}
		switch good := v.passedSince(r); {
		case good == 0 && r.other() && others == 2:
		case good == 0 && len(open) < 5:
			name := briefly(r.Line)
			if latest, unclear := v.latest(r.Kind); !r.other() && latest.Line == r.Line {
				name = r.Kind
				if unclear {
					name += ", before the last run"
				}
			}
			open = append(open, "- "+name+": "+r.Error)
			if r.other() {
				others++
			}
		case !r.other() && len(mended) < 2:
			if names := v.written(r.Failed, good); names != "" {
				mended = append(mended, "- fixed in "+names+": "+lex.Clip(r.Error, 100))
			}
		}
	}
	if len(open) > 0 {
		mended = mended[:min(len(mended), 1)]
	}
	return open, mended
}

// errors lists failures, as many as can be shown at a length that says something.
func (v *view) errors(room int) []string {
	open, mended := v.failures()
	all := append(open, mended...)
	for ; len(all) > 0; all = all[:len(all)-1] {
		if long := longest(all, room); long >= leastError || len(all) == 1 && long >= leastOpening {
			for i, s := range all {
				if first, _, more := strings.Cut(s, "; "); more && lex.Runes(s) > long && lex.Runes(first) > leastOpening {
					s = first
				}
				all[i] = lex.Clip(s, long)
			}
			return all
		}
	}
	return nil
}

// leastError is the length from which an error says what is wrong, with its place.
const leastError = 64

// failedSince reports whether another run that does the same failed later: its error is the newer one.
func (v *view) failedSince(r Run) bool {
	return slices.ContainsFunc(v.l.Runs, func(b Run) bool {
		later := b.Failed > r.Failed || b.Failed == r.Failed && b.Line > r.Line // calls at once have one ordinal
		return later && b.Error != "" && b.covers(r)
	})
}

// passedSince returns when what failed first passed again, in the same run or in one of the same kind that covers it; 0 if it
// did not.
func (v *view) passedSince(failed Run) uint64 {
	first := failed.Good
	for _, r := range v.l.Runs {
		at := r.Good
		if at <= failed.Failed && r.End == ends[verdict.Success] {
			at = r.Ended
		}
		if at > failed.Failed && (first == 0 || at < first) && r.covers(failed) {
			first = at
		}
	}
	return first
}

// covers reports whether a run does what another one does: it is of one of its kinds, or the same program's, and on the same
// files, or on all.
func (r Run) covers(b Run) bool {
	if b.other() {
		return program(r.Line) == program(b.Line) || strings.HasSuffix(b.Line, " "+r.Line)
	}
	same := false
	for kind := range strings.SplitSeq(b.Kind, "+") {
		same = same || strings.Contains(r.Kind, kind)
	}
	if !same {
		return false
	}
	on, of := targets(r.Line), targets(b.Line)
	return len(on) == 0 || len(of) == 0 || slices.ContainsFunc(on, func(p string) bool { return slices.Contains(of, p) })
}

// onlyGone reports whether all of some files were deleted.
func (v *view) onlyGone(paths []string) bool {
	return len(paths) > 0 && !slices.ContainsFunc(paths, func(p string) bool {
		return !slices.ContainsFunc(v.files, func(f File) bool { return f.gone() && (f.Path == p || strings.HasSuffix(f.Path, "/"+p)) })
	})
}

// briefly names a run: its line with paths by their last elements.
func briefly(line string) string {
	words := strings.Fields(line)
	for i, w := range words {
		if len(w) > 12 && pathLike(w) {
			words[i] = base(w)
		}
	}
	return lex.Clip(strings.Join(words, " "), 36)
}

// program returns the program that a line runs at last, and its first word.
func program(line string) string {
	if i := strings.LastIndexAny(line, "&;"); i >= 0 {
		line = line[i+1:]
	}
	words := strings.Fields(line)
	for len(words) > 0 && strings.Contains(words[0], "=") {
		words = words[1:]
	}
	return strings.Join(words[:min(len(words), 2)], " ")
}

// targets returns the files and directories that a line names.
func targets(line string) (paths []string) {
	for _, p := range operands(strings.Fields(line)) {
		if !strings.Contains(p, "...") {
			paths = append(paths, p)
		}
	}
	return paths
}

// written names the files that were written between two messages.
func (v *view) written(from, to uint64) string {
	var names []string
	for _, f := range v.files {
		if len(names) < 3 && slices.ContainsFunc(f.Changed, func(at uint64) bool { return from < at && at < to }) {
			names = append(names, base(f.Path))
		}
	}
	return strings.Join(names, ", ")
}
