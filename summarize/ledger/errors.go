package ledger

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"precis/summarize/lex"
	"precis/summarize/verdict"
)

// failures returns the errors of failed runs that have not passed since, and those that were fixed, with the place of the
// fix. A run is named by its kind if the State section shows its whole command.
func (v *view) failures() (open, mended []string) {
	var foreigners []string
	others := 0
	for _, r := range highestFirst(v.l.Runs, Run.rank) {
		if r.Failed == 0 || r.Error == "" || r.Kind == "look" || v.failedSince(r) || v.onlyGone(targets(r.Line)) {
			continue
		}
		told, since := v.placesOf(r)
		switch good := v.passedSince(r); {
		case good == 0 && ofGit.MatchString(r.Error) && len(v.eventsOf(settled, r.Failed)) > 0:
		case good == 0 && told == "":
		case good == 0 && r.other() && (others == 2 || v.cleanSince(r) || v.asked(r.Failed, v.l.To+1)):
		case good == 0 && len(open) < 5:
			name := briefly(r.Line)
			if latest, unclear := v.latest(r.Kind); !r.other() && latest.Line == r.Line {
				if name = r.calledBy(name); strings.Contains(name, "test") && ofTest.MatchString(r.Error) {
					name = "test" // what stands in front of it in the line went well
				}
				if unclear {
					name += ", before the last run"
				}
			}
			if claim := v.claimOf(r); claim != "" {
				name += ", before “" + lex.Clip(claim, 60) + "”"
			} else if v.cleanSince(r) {
				name += since + ", no error shown since"
			} else if later := v.scriptSince(r); later != "" {
				name += ", " + later
			} else {
				name += since
			}
			if said := v.foreignTo(r); said != "" {
				foreigners = append(foreigners, "- not of this work (“"+lex.Clip(said, 80)+"”): "+name+": "+told)
				continue
			}
			open = append(open, "- "+name+": "+told)
			if r.other() {
				others++
			}
		case !r.other() && len(mended) < 2:
			if names := v.mendedIn(r, good); names != "" {
				mended = append(mended, "- fixed in "+names+": "+lex.Clip(r.Error, 100))
			}
		}
	}
	if len(open) > 0 {
		mended = mended[:min(len(mended), 1)]
	}
	return append(open, foreigners...), mended
}

var (
	// placedIn is a file with a line, as errors name it.
	placedIn = regexp.MustCompile(`((?:[\w.@-]*/)*[\w.@-]+\.\w{1,8})(?::\d+|\(\d+)`)
	// failedTest is the name of a test that failed.
	failedTest = regexp.MustCompile(`--- FAIL: (\w+)|FAILED \S+::(\w+)|(?:FAIL|ERROR): (\w+) \(|test (?:\w+::)*(\w+) \.\.\. FAILED`)
)

// placesOf returns the error of a run without what it says of files that are gone, and what was edited since: the files that it names, or
// else any that matter. It is nothing if all that it names is gone or was written anew, or all tests that failed were taken out.
func (v *view) placesOf(r Run) (told, since string) {
	off, tests := 0, failedTest.FindAllStringSubmatch(r.Error, -1)
	for _, m := range tests {
		if v.takenOff(m[1]+m[2]+m[3]+m[4], r.Failed) {
			off++
		}
	}
	if off > 0 && off == len(tests) {
		return "", ""
	}
	var kept, names []string
	placed, stands := 0, 0
	for part := range strings.SplitSeq(r.Error, "; ") {
		m := placedIn.FindStringSubmatch(part)
		if m == nil {
			kept = append(kept, part)
			continue
		}
		placed++
		f := v.fileOf(m[1])
		switch {
		case f.Path == "":
			stands++
		case f.gone() && f.goneAt() > r.Failed && f.Moved == "" && v.movedTo(f) == nil && !v.backAgain(f):
			continue
		default:
			if f.Whole <= r.Failed {
				stands++
			}
			if len(f.Changed) > 0 && f.Changed[0] > r.Failed && !slices.Contains(names, base(f.Path)) {
				names = append(names, base(f.Path))
			}
		}
		kept = append(kept, part)
	}
	switch {
	case placed > 0 && stands == 0:
		return "", ""
	case len(names) > 0:
		since = ", " + strings.Join(names, " and ") + " edited since"
	case !r.other() && !(r.Kind == "lint" && placed == len(kept)) && v.writtenFor(r, r.Failed) != "":
		since = ", edits since"
	}
	return strings.Join(kept, "; "), since
}

// mendedIn names the files that were written between a failure and the run that passed: of those that the error names, if one of them is
// known, or else any that matter to it. A failed search or an environment is mended in none.
func (v *view) mendedIn(r Run, good uint64) string {
	var named []string
	for _, m := range placedIn.FindAllStringSubmatch(r.Error, -1) {
		if f := v.fileOf(m[1]); f.Path != "" && !ofTests.MatchString(f.Path) {
			named = append(named, f.Path)
		}
	}
	return v.writtenOf(r.Failed, good, func(path string) bool {
		return v.matters(r, path) && (len(named) == 0 || slices.Contains(named, path))
	})
}

// fileOf returns the only file that a path may be, as an error names it: whole, or by its end.
func (v *view) fileOf(path string) (found File) {
	path = strings.TrimPrefix(path, "./")
	for strings.HasPrefix(path, "../") {
		path = path[3:]
	}
	for _, f := range v.files {
		if f.Path == path {
			return f
		}
		if strings.HasSuffix(f.Path, "/"+path) {
			if found.Path != "" {
				return File{} // two could be meant
			}
			found = f
		}
	}
	return found
}

// takenOff reports whether a declaration was taken out of a file after a message, and not put in again.
func (v *view) takenOff(name string, after uint64) bool {
	declares := func(f File) bool { return slices.Contains(f.What, name) }
	return name != "" && !slices.ContainsFunc(v.files, declares) && slices.ContainsFunc(v.files, func(f File) bool {
		return slices.Contains(f.Gone, name) && len(f.Changed) > 0 && f.Changed[0] > after
	})
}

// calledBy returns the kind of a run as its name if its line says it: a compiler that is called by hand is not the build.
func (r Run) calledBy(name string) string {
	for kind := range strings.SplitSeq(r.Kind, "+") {
		if !strings.Contains(r.Line, kind) {
			return name
		}
	}
	return r.Kind
}

// ofTest is an error that only a runner of tests reports.
var ofTest = regexp.MustCompile(`^(?:--- FAIL: |FAILED \S+::|\(fail\) |not ok \d|(?:FAIL|ERROR): \w+ \(|test \S+ \.\.\. FAILED)`)

// foreignTo returns what the assistant said of an error at once that is not of its work.
func (v *view) foreignTo(r Run) (said string) {
	for _, e := range v.eventsOf(foreign, r.Failed) {
		if e.Last <= r.Failed+stalePlan || share(e.Text, r.Error) {
			said = e.Text
		}
	}
	return said
}

// claimOf returns what the assistant said at last of the success of such a run since it failed.
func (v *view) claimOf(r Run) (text string) {
	for _, e := range v.eventsOf(claimed, r.Failed) {
		for _, k := range kinds {
			if strings.Contains(r.Kind, k.name) && (k.claims.MatchString(e.Text) || ofAll.MatchString(e.Text)) {
				text = e.Text
			}
		}
	}
	return text
}

// ofAll is in a claim about whatever was run.
var ofAll = regexp.MustCompile(`(?i)\b(?:everything|it|checks?)\b`)

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
		return later && b.Error != "" && b.repeats(r, v.read)
	})
}

// cleanSince reports whether a run was made again after its end that is known, or one that does all of it, and showed no error the last time.
func (v *view) cleanSince(known Run) bool {
	newest := Run{}
	for _, r := range v.l.Runs {
		if r.Last > max(known.Ended, newest.Last) && r.covers(known, v.read) {
			newest = r
		}
	}
	return newest.Clean > 0 && newest.Clean == newest.Last
}

// scriptSince tells of the newest later run of a failed one's kinds, in its directory and on all of it, where one of the two is a
// script: it may run the other's program, which its line does not say. It is nothing if that run showed an error.
func (v *view) scriptSince(failed Run) string {
	newest := Run{}
	for _, r := range v.l.Runs {
		if r.Last <= max(failed.Failed, newest.Last) || r.Dir != failed.Dir || failed.other() || !r.repeats(failed, v.read) {
			continue
		}
		on, of := v.read(r.Line), v.read(failed.Line)
		part := slices.ContainsFunc(strings.Split(failed.Kind, "+"), func(kind string) bool { return !strings.Contains(r.Kind, kind) })
		if !part && on.scripts != of.scripts && len(on.paths)+len(on.filters)+len(on.places) == 0 {
			newest = r
		}
	}
	switch {
	case newest.Line == "":
	case newest.End == ends[verdict.Success] && newest.Ended == newest.Last:
		return briefly(newest.Line) + " later: passed"
	case newest.Clean == newest.Last:
		return briefly(newest.Line) + " later: no error shown"
	}
	return ""
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
		if at > failed.Failed && (first == 0 || at < first) && r.covers(failed, v.read) {
			first = at
		}
	}
	if first == 0 {
		return v.passedInParts(failed)
	}
	return first
}

// passedInParts returns when the last program of a failed line that runs several had passed, each in a run of its own on all there is.
func (v *view) passedInParts(failed Run) (last uint64) {
	of := v.read(failed.Line)
	if len(of.programs) < 2 || failed.other() || strings.HasSuffix(failed.Line, "…") {
		return 0
	}
	for program, kind := range of.programs {
		first := uint64(0)
		for _, r := range v.l.Runs {
			on := v.read(r.Line)
			if r.End == ends[verdict.Success] && r.Ended > failed.Failed && (first == 0 || r.Ended < first) && sameDir(r.Dir, failed.Dir) &&
				on.has(program, kind) && len(on.paths)+len(on.filters)+len(on.places) == 0 {
				first = r.Ended
			}
		}
		if first == 0 {
			return 0
		}
		last = max(last, first)
	}
	return last
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
		if len(w) > 12 && pathLike(w) && w[0] != '@' { // the scope of a package is part of its name
			dir, all := strings.CutSuffix(w, "/...")
			if words[i] = base(dir); all {
				words[i] += "/..."
			}
		}
	}
	return shortened(strings.Join(words, " "), 36)
}

// shortened clips a command line to n characters. Of a longer one that joins several commands it keeps the last, which says what the
// line did in the end, such as git commit --amend.
func shortened(line string, n int) string {
	if i := strings.LastIndex(line, " && "); lex.Runes(line) > n && i > 0 && !strings.HasSuffix(line, "…") {
		line = "…" + line[i:]
	}
	return lex.Clip(line, n)
}

// written names the files that were written between two messages, in the order of their last writes; those for temporary files
// are no part of the work.
func (v *view) written(from, to uint64) string {
	return v.writtenOf(from, to, func(string) bool { return true })
}

// writtenOf names those of some files.
func (v *view) writtenOf(from, to uint64, which func(path string) bool) string {
	return v.names(from, to, 5, which)
}

// names is writtenOf with at most so many names.
func (v *view) names(from, to uint64, most int, which func(path string) bool) string {
	last := map[string]uint64{}
	for _, f := range v.files {
		all := len(f.Changed) > 0 && len(f.Changed) >= f.Written && f.Changed[len(f.Changed)-1] > from
		if to > v.l.To && all && v.isBack(f) || !which(f.Path) {
			continue // as it was then
		}
		for _, at := range f.Changed {
			if from < at && at < to && !temporary.MatchString(f.Path) {
				last[base(f.Path)] = max(last[base(f.Path)], at)
			}
		}
	}
	names := slices.SortedFunc(maps.Keys(last), func(a, b string) int { return cmp.Or(cmp.Compare(last[a], last[b]), cmp.Compare(a, b)) })
	if more := len(names) - most; more > 0 {
		return fmt.Sprintf("%s (and %d before)", strings.Join(names[more:], ", "), more)
	}
	return strings.Join(names, ", ")
}
