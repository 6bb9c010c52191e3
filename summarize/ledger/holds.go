package ledger

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"precis/summarize/lex"
)

var (
	// denies begins an answer of the user that turns down what the assistant proposed.
	denies = regexp.MustCompile(`(?i)^(?:(?:ok(?:ay)?|hm+|well|ah|oh|i think)[,.!:]? )*(?:no\b|nope|nah|don['’]?t\b|do not\b|do nothing|leave (?:it|that|this)|never ?mind|not (?:needed|necessary|worth|yet)|skip (?:it|that|this)|stop\b|revert|undo|forget (?:it|that|this)|that['’]?s (?:wrong|not)|this is (?:fine|wrong|not)|it['’]?s fine|wrong\b)`)
	// refutes is how a user reports that something did not help, and hopes is in a statement about what is the matter or what works.
	refutes = regexp.MustCompile(`(?i)\bstill (?:\w+ )?(?:looks?|not|the same|doesn|isn|aren|can['’]?t|fail|see|get|broken|wrong|missing|happen)|\b(?:doesn['’]?t|does not|didn['’]?t|did not|not|isn['’]?t) (?:seem to |really |actually )?(?:work|help|fix|change|right|correct)|\bsame (?:error|issue|problem|thing|result)|\bno (?:change|difference)\b`)
	hopes   = regexp.MustCompile(finding.String() + `|(?i)\b(?:should|now|fixed|works|both|because|since)\b`)
	// undoing is in a request that takes something back.
	undoing = regexp.MustCompile(`(?i)\b(?:instead|rather than|replace|rename|remove|delete|drop|revert|undo|get rid|no longer|any ?more|take (?:it|that|them) out|scrap|forget)\b`)
	// finding is the wording of what was the matter, which the edits that follow are meant to change.
	finding = regexp.MustCompile(`(?i)\b(?:root cause|turn(?:s|ed) out|(?:real|actual) (?:problem|issue|bug|cause|reason)|(?:problem|issue|bug|cause|culprit|reason|fix|catch|gap) (?:is|was))\b`)
)

// beforeEdits is put in front of what was found before files changed, with their names if they are few.
func beforeEdits(files string) string {
	if files = "edits of " + files; strings.HasSuffix(files, " before)") {
		files = "later edits"
	}
	return "(found before " + files + ") "
}

var (
	// foundMark is such a mark, of one statement or several, in this form and in an earlier one.
	foundMark = regexp.MustCompile(`^\((?:this and the next (\d+) |the first (\d+) )?(found before (?:edits of [^)]*|later edits)\) )`)
)

// eachMarked returns the statements of a compaction with the mark of several before each of them.
func eachMarked(lines []string) (all []string) {
	mark, n := "", 0
	for _, l := range lines {
		l = strings.TrimPrefix(l, "- ")
		if m := foundMark.FindStringSubmatch(l); m != nil {
			l, mark, n = "("+m[3]+l[len(m[0]):], "("+m[3], lex.Atoi("0"+m[1])+max(0, lex.Atoi("0"+m[2])-1)
		} else if n > 0 {
			l, n = mark+l, n-1
		}
		all = append(all, "- "+l)
	}
	return all
}

// standing returns the statements of the assistant that nothing later is known to have overtaken, and marks those that were
// made before files changed.
func (v *view) standing() (kept []Note) {
	for _, n := range v.l.Decisions {
		if n.Rank >= refusedCall {
			if !v.settledSince(n) {
				kept = append(kept, n)
			}
			continue
		}
		edited := v.changedSince(n.Text, max(n.Last, 1)-1)
		if edited == "" && len(v.eventsOf(discarded, n.Last)) > 0 {
			edited = "files that were thrown away"
		}
		changed := edited != ""
		finds := finding.MatchString(n.Text)
		switch {
		case v.overtaken(n) || v.superseded(n) || v.chosenOtherwise(n), wiped.MatchString(n.Text) && v.wipedAgain(n):
		case n.Rank == 0 && guesses(n.Text) && (changed || v.foundAgain(n)):
		case n.Rank == 0 && ofNow.MatchString(n.Text) && (changed || v.acted(n)), n.Rank == 0 && ofScreen.MatchString(n.Text) && v.acted(n): // a moment that is over
		case (finds || n.Rank == 0) && v.settledOtherwise(n), n.Rank < 2 && v.outOfDate(n):
		case n.Rank < 3 && changed && (v.mended(n) || prescribing.MatchString(n.Text) && !ownChoice.MatchString(n.Text) || bareVerdict.MatchString(n.Text)):
		case n.Rank < 2 && changed && v.renewed(n) && !ofChange.MatchString(n.Text), finds && v.foundLater(n):
		case n.Rank == 0 && v.asked(n.Last, v.l.To+1), n.Rank == 1 && changed && !reasoned.MatchString(n.Text):
		case n.Rank == 3 && intends.MatchString(n.Text) && !reasoned.MatchString(n.Text) && v.asked(n.Last, v.l.To+1): // done since, or overtaken
		case finds && v.foundAgain(n), n.Rank < 3 && preferring.MatchString(n.Text) && v.written(max(n.Last, 1)-1, v.l.To+1) != "": // followed since, or not
		case changed && (finds || n.Rank < 3 || wiped.MatchString(n.Text) && v.lost() == ""):
			n.Text = beforeEdits(edited) + foundMark.ReplaceAllString(n.Text, "")
			kept = append(kept, n)
		default:
			kept = append(kept, n)
		}
	}
	return kept
}

var (
	// prescribing is in a statement of what is to be done; whether it was isn't known once files changed.
	prescribing = regexp.MustCompile(`(?i)\b(?:the fix (?:is|would be)|should|needs? to|has to|have to|must)\b`)
	// ownChoice is in one of what the assistant takes upon itself, and ofChange in one of what was changed.
	ownChoice = regexp.MustCompile(`\b(?:I|[Ww]e) (?:should|must)\b`)
	ofChange  = regexp.MustCompile(`(?i)\b(?:renamed|changed|added|moved|fixed|updated|replaced|removed|extracted|switched)\b`)
	// bareVerdict is one of another agent that wants changes and does not say which.
	bareVerdict = regexp.MustCompile(`(?i)^reported by [^:]+: (?:request(?:s|ed)? changes|changes requested|needs? (?:changes|work)|not approved|fail(?:ed)?|rejected)\W*$`)
)

// mended reports whether a statement of what is the matter belongs to a turn that is over, in which files were changed after it.
func (v *view) mended(n Note) bool {
	if !finding.MatchString(n.Text) && !lacking.MatchString(n.Text) || !v.asked(n.Last, v.l.To+1) {
		return false
	}
	end := v.l.To + 1
	for _, at := range v.unseen {
		if at > n.Last {
			end = min(end, at)
		}
	}
	for _, r := range v.l.Requests {
		for _, at := range []uint64{r.First, r.Last} {
			if at > n.Last {
				end = min(end, at)
			}
		}
	}
	return v.writtenOf(max(n.Last, 1)-1, end, func(path string) bool { return !ofDocs.MatchString(path) || strings.Contains(n.Text, base(path)) }) != ""
}

// renewed reports whether what a statement names was written again since, or taken out.
func (v *view) renewed(n Note) (is bool) {
	var names []string
	for _, f := range v.files {
		if len(f.Changed) > 0 && f.Changed[0] >= n.Last {
			names = append(append(names, f.What...), f.Gone...)
		}
	}
	if len(names) > 0 {
		eachWord(n.Text, func(w string) { is = is || slices.Contains(names, w) })
	}
	return is
}

// foundLater reports whether a later statement finds what is the matter with the same thing.
func (v *view) foundLater(n Note) bool {
	return slices.ContainsFunc(v.l.Decisions, func(d Note) bool {
		return d.Last > n.Last && d.Rank < refusedCall && finding.MatchString(d.Text) && share(n.Text, d.Text) && sameSubject(n.Text, d.Text)
	})
}

// acted reports whether the assistant called a tool with or after a statement that may change what it speaks of.
func (v *view) acted(n Note) bool {
	return slices.ContainsFunc(v.l.Calls, func(c Note) bool { return c.Last >= n.Last })
}

// settledOtherwise reports whether the user, after turning down what was found, confirmed what was said later: what was found before
// that was not it.
func (v *view) settledOtherwise(n Note) bool {
	const talk = 60 // messages
	later := v.eventsOf(confirmed, n.Last)
	if len(later) == 0 || later[0].Last > n.Last+talk {
		return false
	}
	said := uint64(0) // when what is confirmed was
	for _, list := range [][]Note{v.l.Plans, v.l.Answers, v.l.Decisions} {
		for _, d := range list {
			if d.Last < later[0].Last {
				said = max(said, d.Last)
			}
		}
	}
	return n.Last < said && slices.ContainsFunc(v.l.Requests, func(r Note) bool {
		return n.Last < r.Last && r.Last < later[0].Last && (denies.MatchString(r.Text) || refutes.MatchString(r.Text))
	})
}

// intends is in a sentence about what the assistant is going to do.
var intends = regexp.MustCompile(`(?i)\b(?:(?:I|we)['’](?:ll|m|re)|(?:I|we) (?:will|am|are|should)|let['’]s)\b`)

// settledSince reports whether the user later approved of what was refused, or only said something else of a call refused without a word.
func (v *view) settledSince(n Note) bool {
	what, words, _ := strings.Cut(strings.TrimPrefix(n.Text, refusedBy), ": “")
	return n.Text != approvedBy+what && (words == "" && strings.HasPrefix(n.Text, refusedBy) && v.asked(n.Last, v.l.To+1) ||
		slices.ContainsFunc(v.l.Decisions, func(d Note) bool { return d.Last > n.Last && d.Text == approvedBy+what }))
}

// chosenOtherwise reports whether a message came with a question to the user who did not agree to it. What the message says was a proposal;
// the answer says what holds.
func (v *view) chosenOtherwise(n Note) bool {
	return slices.ContainsFunc(v.eventsOf(answeredElse, max(n.Last, 1)-1), func(e Note) bool { return e.Last <= n.Last+1 })
}

// wipedAgain reports whether a later statement says as well that work is gone.
func (v *view) wipedAgain(n Note) bool {
	return slices.ContainsFunc(v.l.Decisions, func(d Note) bool { return d.Last > n.Last && wiped.MatchString(d.Text) })
}

// overtaken reports whether what the assistant said was turned down, refuted, taken back or removed.
func (v *view) overtaken(n Note) bool {
	return v.denied(n) || v.overridden(n.Text, n.Last) || v.corrected(n)
}

// eventsOf returns the events of a kind after a message, oldest first.
func (v *view) eventsOf(kind int, after uint64) (list []Note) {
	for _, e := range v.l.Events {
		if e.Rank == kind && e.Last > after {
			list = append(list, e)
		}
	}
	slices.SortStableFunc(list, func(a, b Note) int { return int(int64(a.Last) - int64(b.Last)) })
	return list
}

// asked reports whether the user said something between two messages.
func (v *view) asked(from, to uint64) bool {
	return slices.ContainsFunc(v.unseen, func(at uint64) bool { return from < at && at < to }) || slices.ContainsFunc(v.l.Requests, func(r Note) bool {
		return from < r.Last && r.Last < to || from < r.First && r.First < to
	})
}

// denied reports whether the user's answer to a statement turned it down, or reports that what it finds or promises is not so.
func (v *view) denied(n Note) bool {
	return slices.ContainsFunc(v.l.Requests, func(r Note) bool {
		return r.Last > n.Last && !v.asked(n.Last, r.Last) &&
			(denies.MatchString(r.Text) || undid.MatchString(r.Text) || hopes.MatchString(n.Text) && refutes.MatchString(lex.Clip(r.Text, 160)) || v.granted(r) && sameSubject(n.Text, r.Text))
	})
}

// undid is how a user reports that the work was taken back.
var undid = regexp.MustCompile(`(?i)\bi(?:['’]ve| have)? (?:just |now )?(?:undid|undone|reverted|rolled back|discarded|threw away|took back) (?:your|the|all|those|these|that|it|everything)\b`)

// granted reports whether the assistant answered a request by granting that the user is right.
func (v *view) granted(r Note) bool {
	const soon = 3
	return slices.ContainsFunc(v.eventsOf(retracted, r.Last), func(e Note) bool {
		return e.Last <= r.Last+soon && yields.MatchString(e.Text) && !praising.MatchString(e.Text)
	})
}

// praising begins a message that grants nothing.
var praising = regexp.MustCompile(`(?i)^\W*(?:\w+\W+){0,2}(?:good|great) question`)

// sameSubject reports whether two texts have words in common that tell a subject, at least two.
func sameSubject(a, b string) bool {
	words := map[string]bool{}
	for _, w := range subjects(a) {
		words[w] = true
	}
	same := map[string]bool{}
	for _, w := range subjects(b) {
		if words[w] {
			same[w] = true
		}
	}
	return len(same) > 1
}

// leastSubject is the length in bytes from which a word tells a subject.
const leastSubject = 5

// subjects are the words of a text that tell its subject, in lower case and in the singular.
func subjects(text string) (all []string) {
	for _, w := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if w = strings.TrimSuffix(w, "s"); len(w) >= leastSubject && !commonWords[w] && !anySubject[w] {
			all = append(all, w)
		}
	}
	return all
}

// anySubject are words that may be about any subject.
var anySubject = setOf("about after again already before change code comment commit branch directly everything error feature files file first function instead issue later method never other please problem should thing those today version without")

// takingOut is how a request takes something out, with what it names.
var takingOut = regexp.MustCompile(`(?i)\b(?:remove|delete|drop|get rid of|scrap|replace|instead of|rather than|no longer (?:need|want|use)|take out)\s+(?:(?:the|this|that|all|any|our|my|your|of|these|those|an?|using|old|whole|entire)\s+)*([\w-]+(?: [\w-]+)?)`)

// keeping is in a statement by which something is to be kept or used.
var keeping = regexp.MustCompile(`(?i)\b(?:should|must|will|keep(?:s|ing)?|reus(?:e|es|ing)|leav(?:e|es|ing)|retain\w*)\b|['’]ll\b`)

// taken is what a request takes out.
type taken struct {
	at    uint64
	words []string
}

// takenOut returns what requests take out.
func takenOut(requests []Note) (all []taken) {
	for _, r := range requests {
		for _, m := range takingOut.FindAllStringSubmatch(lex.Clip(r.Text, maxOlder), 4) {
			if words := subjects(m[1]); len(words) > 0 {
				all = append(all, taken{r.Last, words})
			}
		}
	}
	return all
}

var (
	// lacking is in a statement of what is not as it should be.
	lacking = regexp.MustCompile(`(?i)\b(?:no|not|never|missing|lacks?|only|still|stale|old|without|unused|deprecated|outdated|inconsistent|wrong)\b|n['’]t\b`)
	// ofWork is in one about the assistant's own work.
	ofWork = regexp.MustCompile(`\b(?:I|[Ww]e|(?:has|have|had) been|was|were|changed|now)\b`)
)

// outOfDate reports whether a statement of what is not as it should be names a file that was changed since.
func (v *view) outOfDate(n Note) bool {
	if !lacking.MatchString(n.Text) || ofWork.MatchString(n.Text) {
		return false
	}
	for _, name := range namedFile.FindAllString(n.Text, 8) {
		if slices.ContainsFunc(v.files, func(f File) bool {
			return len(f.Changed) > 0 && f.Changed[0] >= n.Last && (f.Path == name || strings.HasSuffix(f.Path, "/"+strings.TrimPrefix(name, "./")))
		}) {
			return true
		}
	}
	return false
}

// overridden reports whether the user later took something back that a statement names.
func (v *view) overridden(text string, after uint64) bool {
	if slices.ContainsFunc(v.undoing, func(r Note) bool { return r.Last > after && share(text, r.Text) }) {
		return true
	}
	if !keeping.MatchString(text) {
		return false // what is said of it may hold all the same
	}
	var words []string
	return slices.ContainsFunc(v.takenOut, func(t taken) bool {
		if t.at <= after {
			return false
		}
		if words == nil {
			words = subjects(text)
		}
		return !slices.ContainsFunc(t.words, func(w string) bool { return !slices.Contains(words, w) })
	})
}

// corrected reports whether the assistant took a statement back: in the same turn and not long after, or by a name that both have.
func (v *view) corrected(n Note) bool {
	const soon = 12
	return slices.ContainsFunc(v.eventsOf(retracted, n.Last), func(e Note) bool {
		return share(n.Text, e.Text) || (e.Last <= n.Last+soon || guesses(n.Text)) && !v.asked(n.Last, e.Last)
	})
}

// foundAgain reports whether a later statement of the same turn finds something else to be the matter.
func (v *view) foundAgain(n Note) bool {
	return slices.ContainsFunc(v.l.Decisions, func(d Note) bool {
		return d.Last > n.Last && d.Rank < refusedCall && finding.MatchString(d.Text) && !v.asked(n.Last, d.Last)
	})
}

var (
	// ofHistory is in a statement about what git keeps, which the next command of git may change.
	ofHistory = regexp.MustCompile(`(?i)\b(?:commits?|branch(?:es)?|rebas(?:e|ed|ing)|merge[ds]?|conflicts?|unmerged|staged|stash(?:ed)?|ahead of|behind|diverge\w*)\b`)
	// ofIndex is in one about what is to be in the next commit.
	ofIndex = regexp.MustCompile(`(?i)\b(?:un)?stag(?:ed|ing)\b`)
	// ofReview is in one about what others keep.
	ofReview = regexp.MustCompile(`(?i)\bPRs?\b|\b(?:pull|merge) requests?\b|#\d`)
	// unpublished says that work is not where others see it.
	unpublished = regexp.MustCompile(`(?i)\b(?:not|nothing|never|needs?|pending|without)\b.{0,40}\b(?:push(?:ed|ing)?|PRs?|pull requests?)\b|n['’]t\b.{0,40}\b(?:push(?:ed|ing)?|PRs?|pull requests?)\b`)
	// ofRuns is in a statement about a run that failed.
	ofRuns = regexp.MustCompile(`(?i)\b(?:tests?|suites?|lint\w*|builds?|typecheck|compil\w+|CI)\b.*\bfail|\bfail(?:s|ed|ing|ures?)?\b.{0,40}\b(?:tests?|suites?|lint\w*|builds?|typecheck|CI)\b`)
)

// superseded reports whether a later command of git, a push or a later run tells the state of what a statement speaks of.
func (v *view) superseded(n Note) bool {
	if n.Rank < 3 && ofHistory.MatchString(n.Text) && !ofReview.MatchString(n.Text) && len(v.eventsOf(settled, n.Last))+len(v.eventsOf(rewrote, n.Last)) > 0 {
		return true
	}
	if n.Rank < 3 && ofIndex.MatchString(n.Text) && slices.ContainsFunc(slices.Concat(v.eventsOf(staged, n.Last), v.eventsOf(unstaged, n.Last)), func(e Note) bool { return e.Text != "git status" }) {
		return true
	}
	if n.Rank < 3 && unpublished.MatchString(n.Text) && !intends.MatchString(n.Text) && !reasoned.MatchString(n.Text) && slices.ContainsFunc(v.l.Commits, func(m Note) bool {
		return m.Last > n.Last && (strings.HasPrefix(m.Text, "pushed ") || strings.HasPrefix(m.Text, "opened "))
	}) {
		return true
	}
	return n.Rank < 3 && ofRuns.MatchString(n.Text) && slices.ContainsFunc(v.l.Runs, func(r Run) bool { return r.Last > n.Last+1 && !r.other() && r.Kind != "look" })
}

// share reports whether two texts name the same identifier.
func share(a, b string) bool {
	names := map[string]bool{}
	eachWord(a, func(w string) { names[w] = true })
	same := false
	eachWord(b, func(w string) { same = same || names[w] })
	return same
}

// discardedAt returns when changes of a file were thrown away at last: by a command that discards what is not committed, with no
// commit between them and it; 0 if they were not.
func (v *view) discardedAt(f File) (at uint64) {
	for _, e := range v.eventsOf(discarded, 0) {
		i := slices.IndexFunc(f.Changed, func(changed uint64) bool { return changed < e.Last })
		if i >= 0 && v.concerns(e.Text, f.Path) && !v.committed(f.Changed[i], e.Last) && !v.spares(e, f) {
			at = e.Last
		}
	}
	return at
}

// spares reports whether a command that throws work away leaves a file alone: git clean those that git keeps, checkout and restore
// those that are new to it.
func (v *view) spares(e Note, f File) bool {
	created := f.Created && !v.committed(f.Changed[len(f.Changed)-1], e.Last)
	if strings.HasPrefix(e.Text, "git clean") {
		return !created
	}
	return created && (strings.HasPrefix(e.Text, "git checkout") || strings.HasPrefix(e.Text, "git restore"))
}

// undone reports whether a file was not changed again since its changes were thrown away.
func (v *view) undone(f File) bool { return len(f.Changed) > 0 && v.discardedAt(f) > f.Changed[0] }

// committed reports whether a commit was made between two messages.
func (v *view) committed(from, to uint64) bool {
	return slices.ContainsFunc(v.l.Commits, func(n Note) bool { return from < n.Last && n.Last < to })
}

// leftOn returns the branch that a file was last changed and committed on, if the work has returned to another one since, without
// a command that brings the change there; or nothing.
func (v *view) leftOn(f File) string {
	at := f.goneAt()
	if len(f.Changed) > 0 {
		at = max(at, f.Changed[0])
	}
	var now Note
	for _, b := range v.l.Branches {
		if b.Last > now.Last {
			now = b
		}
	}
	was := v.branchAt(at)
	left := now.Last
	if now.First > at {
		left = now.First
	}
	brought := slices.ContainsFunc(v.eventsOf(settled, at), func(e Note) bool {
		return bringing.MatchString(e.Text) && (!strings.Contains(e.Text, "git reset") || strings.Contains(e.Text, was))
	})
	if at == 0 || was == "" || was == now.Text || left <= at || brought || !v.committed(at, left) {
		return ""
	}
	return was
}

// bringing is a command by which a branch gets the work of another one.
var bringing = regexp.MustCompile(`\bgit (?:merge|pull|rebase|cherry-pick|reset)\b`)

// ofTools is a path in a hidden directory at home, where tools keep files that are no part of the work.
var ofTools = regexp.MustCompile(`^(?:~|/(?:home|Users)/[^/]+|/root)/\.\w`)

// concerns reports whether a command that throws work away has a file among its operands, or names none.
func (v *view) concerns(command, path string) bool {
	if ofTools.MatchString(path) {
		return false
	}
	named := false
	for _, w := range strings.Fields(command) {
		w = strings.TrimPrefix(strings.TrimSuffix(strings.Trim(w, `"'`), "/"), "./")
		if w == "." || w == ":/" {
			return true
		}
		if pathLike(w) && !strings.HasPrefix(w, "HEAD") && !strings.HasPrefix(w, "origin/") && !strings.HasPrefix(w, "stash@") {
			named = true
			if path == w || strings.HasSuffix(path, "/"+w) || strings.HasPrefix(path, w+"/") || strings.Contains(path, "/"+w+"/") {
				return true
			}
		}
	}
	return !named
}
