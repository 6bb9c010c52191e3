package ledger

import (
	"iter"
	"regexp"
	"slices"
	"strings"
)

var (
	// decided is the wording of a choice or of a cause that was found.
	decided = regexp.MustCompile(`(?i)\b(?:(?:I|we)(?:['’]ve| have)? (?:just )?(?:decided|chose|opted)|decided (?:to|on|against|that)|the decision is|root cause|turn(?:s|ed) out|dead end|(?:I|we)(?:['’]ll| will| should)(?: just)? (?:go with|keep (?:the|this|that|it|both|using|our|existing|\x60)|stick with|skip|leave (?:the|this|that|it)|not|drop)|let['’]s (?:go with|keep|stick with|not)|(?:I['’]m|I am|we['’]re) (?:keeping|leaving|dropping|skipping|taking (?:the|this|that|\w+['’]s) (?:[\w-]+ ){1,3}(?:approach|route|path|way|option|version|side|text|change))|(?:I|we) won['’]t|(?:real|actual) (?:problem|issue|bug|cause|reason))\b`)
	// found is the wording of what is the matter, or of what does not work.
	found = regexp.MustCompile(`(?i)\b(?:(?:problem|issue|bug|cause|culprit|reason|fix|catch|gap) (?:is|was)|workaround|won['’]t|(?:doesn['’]t|does not|didn['’]t|did not|can['’]t|cannot) (?:work|help|be)|not possible|impossible|non-(?:goal|issue))\b`)
	// reasoned is weaker: a reason or a choice.
	reasoned = regexp.MustCompile(`(?i)\b(?:because|instead|rather than|to avoid)\b`)
	// deadEnd is in a statement of a way that leads nowhere, though it begins like a step.
	deadEnd = regexp.MustCompile(`(?i)^using\b.*\b(?:(?:does|did|is|was|ca|wo)n['’]t|does not|did not|cannot|fails?|failed|breaks?|broke)\b`)
	// preferring is the wording of a step that is a choice against another one.
	preferring = regexp.MustCompile(`(?i)\b(?:I|we)(?:['’]ll| will| need to| should| must) (?:use|reuse|build on|call|store|put|write|make|keep|return|rely on|avoid)\b.*(?:\bto avoid\b|\brather than\b|\binstead of\b|\(not |, not )`)
	// mending begins a sentence in which the assistant goes on to change something, altering one in which it changes a state that it
	// has just stated, and wanting is in a statement of what is not as it should be: such are true until the next call.
	mending  = regexp.MustCompile(goesOn + `(?:fix|updat|add|remov|delet|replac|correct|mov|export|import|rewrit|writ|creat|implement|handl|switch|convert|clean|mak|pass\b|wir|restor|regenerat|bump|extend|extract|drop\b|resolv|revert)`)
	altering = regexp.MustCompile(goesOn + `(?:chang|renam|retitl|adjust|set\b|select|fill|type\b|click)`)
	wanting  = regexp.MustCompile(`(?i)\b(?:no|not|never|missing|lacks?|only|still|wrong\w*|stale|incorrect\w*|inconsistent|broken|fails?|failed|simply|without|old|unused|deprecated|outdated|needs?|should)\b|n['’]t\b`)
	// announcing is the wording of a step that the next call takes, or of what follows below.
	announcing = regexp.MustCompile(`(?i)^(?:(?:ok(?:ay)?|good|great|perfect|so|and|but|yes|no)[,.!:]? )*(?:now|let me|let['’]s|i['’]ll|i will|i['’]m|i am|i['’]ve|i have|(?:i|we) (?:also )?need to|next|first|then|finally|here(?:['’]s| is| are)|one more|(?:us|check|look|read|runn?|try|add|updat|fix|creat|writ|implement)ing|step \d)\b|:$`)
	// presents begins what tells of work that is done, though it sounds like a step.
	presents = regexp.MustCompile(`(?i)^(?:here(?:['’]s| is| are)|now (?:when|the|it|all|you|they|this|a|an|both|each|every)|i['’]ve|i have)\b`)
	// leaning begins a sentence that does not stand on its own.
	leaning = regexp.MustCompile(`(?i)^(?:this|that|these|those|it|they|he|she|which|so|but|and|also|however|otherwise|then|same|actually|well|hm+|oh|wait|good|great|nice|perfect|excellent|interesting)\b`)
	// stating is a statement of fact.
	stating = regexp.MustCompile(`(?i)\b(?:is|are|was|were|has|have|had|does|did|ran|failed|rejected|returned|needs?|asks?|exists?|contains?|points?|says?|never|no longer|already|still|must|requires?|passes|returns|means|uses?|sets|starts|causes?|expects?|shows?|makes|calls|reads|writes|lacks?|changed|moved|succeeds?|succeeded|works?|worked|keeps|ends)\b`)
	// nextStep ends a statement of fact with what the assistant does about it.
	nextStep = regexp.MustCompile(`(?:[,;]| [—–-])\s*(?:(?:so|and|but|then|therefore) )?(?:I(?:['’]m| am)|(?:I|we)(?:['’]ll| will| need to| should| must| have to| can now| can first| could)) .*$`)
	// stepBelow is how the assistant goes about what it decided.
	stepBelow = regexp.MustCompile(`(?i): (?:first,? |next,? )?(?:I(?:['’]ll| will)|let me|I(?:['’]m| am) going to) .*$`)
	// dangling begins what is half a sentence without the step that follows.
	dangling = regexp.MustCompile(`(?i)^(?:since|as|because|to|given|before|after|if|when|although|while|based on|from|for|in order to|now that)\b`)
	// danglingEnd is such a half behind a statement.
	danglingEnd = regexp.MustCompile(`(?i)[;,] (?:given|since|because|so that|based on|to) [^;,.]*\.$`)
	// stepping is the wording of a step wherever it stands, and of what comes next.
	stepping = regexp.MustCompile(`(?i)\b(?:I|we)(?:['’]ll| will| can| should| could| need to|['’]m going to| am going to)(?: now| first| then| also| next| just)* (?:now|first|try|attempt|start|begin|proceed|look|check|run|search|open|click|navigate|verify|ensure|see|inspect|read|explore|collect|examine|investigate|examine)\b|\b(?:next|first|best|logical) (?:\w+ )?(?:step|action|thing)s? (?:is|would be|are)\b|\bit would be (?:prudent|best|wise|good|helpful|better)\b|\bI (?:can['’]t|cannot|don['’]t) (?:see|find|tell|know)\b|^the goal (?:is|of)\b|\b(?:use|using|try|call) the \S+ tool\b|\bwant to avoid\b`)
	// proposing begins an item that is one of several, a thing to do or a recommendation.
	proposing = regexp.MustCompile(`(?i)^(?:\[[ x]\] |(?:option|alternative|approach) ?\w{0,2}: |(?:use|set|select|fill|click|verify|check|enforce|gate|add|fix|consider|ensure|update|remove|replace|run|create|implement|write)\b.*)`)
	// ofNow is in a statement about a moment.
	ofNow = regexp.MustCompile(`(?i)\b(?:still|current(?:ly)?|(?:not|n['’]t)\b.{1,40}\byet|at the moment|right now|missing|stale|outdated|out of date|for now|lines? \d+)\b`)
	// ofScreen is in a statement about what a page shows.
	ofScreen = regexp.MustCompile(`(?i)\b(?:accessibility tree|(?:the|this|current) (?:page|screen|form|tab|dialog|menu|window)|button|checkbox|combobox|textbox|text box|dropdown|radio|field|(?:is|are|been) (?:already |now |also |correctly )*(?:set to|selected|checked|filled))\b|\b(?:link|label|option|tab|element)s? (?:has|is|for|labell?ed|with|["'])|\b(?:I|we) have already\b`)

	// vague says that something was found, and not what.
	vague = regexp.MustCompile(`(?i)\b(?:is|was) (?:now )?(?:clear|obvious|simple|here|fixed|resolved|more fundamental)\b[^:]*$|\bsomething else\W*$`)
	// waiting is what is no decision, whatever it sounds like.
	waiting = regexp.MustCompile(`(?i)\b(?:wait|waiting|polling|interval|status again|hands-off)\b|\b(?:leav\w+|keep\w*) (?:the|it|this|that)\b.{0,40}\b(?:running|open|for (?:now|later))\b|\blater\.?$`)
	// progressing tells how far something is that goes on.
	progressing = regexp.MustCompile(`(?i)\b(?:minutes in|(?:latest|partial) tail|letting (?:it|them|the agents?)|interrupting|taking (?:a few|several|some) (?:more )?minutes|(?:remaining|open) question is)\b|\b(?:is|are|it['’]s) (?:now|currently|actively|still) \w+ing\b|\bcommits? (?:behind|ahead)\b|\bthe (?:earlier|previous|first|last) (?:patch|edit|attempt|command|replace\w*|try)\b|\b(?:diagnostics?|warnings?) (?:is|are) expected\b|\bat the moment\b|\bright now\b|\bis running (?:now|in the background|again)\b|\b(?:sed|awk|perl|heredoc|apply_patch)\b.{0,40}(?:n['’]t|\bfail|\bdid not|\bdoes not)|\b(?:edit|patch|write|replace\w*|str_replace|search) tool\b|\bdiagnostics?\b.{0,30}\b(?:false positives?|stale|outdated|old)\b|\b(?:linter|formatter) (?:has )?(?:already|just|automatically)\b`)
	// asksItself is a statement of what is to be decided; where it is, the sentence says it behind.
	asksItself = regexp.MustCompile(`(?i)\b(?:question|decision(?: point)?|point) (?:is|was) (?:whether|how|which)\b`)
	// guessing is in a statement that may turn out to be wrong, or in a proposal.
	guessing = regexp.MustCompile(`(?i)^(?:so |but |and )?if\b|\b(?:unless|likely|probably|perhaps|maybe|might|may|could|would|presumably|potential(?:ly)?|suspect|suggests?|I (?:think|believe|guess|assume)|seems?|appears?|looks like|should be possible)\b`)
	// certain is the wording of what follows from something: no guess, for all its would.
	certain = regexp.MustCompile(`(?i)\bwould (?:(?:also|still|then|silently|always|never) )*(?:not|never|break|fail|lose|leak|block|overwrite|delete|double|crash|corrupt|require|mean|violate|undo|defeat|bypass)\b|\bwouldn['’]t\b`)
	// reporting is the wording of a result that the state tells better or that is soon out of date, or of a greeting.
	reporting = regexp.MustCompile(`(?i)\b(?:uncommitted|untracked|(?:tracked|staged|remaining|outstanding|pending) (?:\w+ )?(?:diffs?|changes?)|only (?:git )?diffs?|unstaged|working tree|up to date|high load|in progress|still (?:running|local|working)|not (?:yet )?(?:committed|pushed))\b|\b(?:checkout|worktree|tree|repo(?:sitory)?|branch) is (?:now )?clean\b|\b(?:tests?|lint(?:er|ing)?|build|checks?|everything|all) (?:now |is |are |still |should be )*(?:pass|clean|green|succe|done|complete|work)|^(?:hello|hi|please|sorry|thank|you['’]re (?:absolutely )?right|good (?:question|call|catch|point)|i (?:can|could|understand|see)|api error)\b|\bsummary of\b`)
	// outage begins what a harness puts in place of an answer.
	outage = regexp.MustCompile(`(?i)^(?:api error|internal server error|error:|the server|(?:the )?(?:request|operation|turn) (?:was |has been )?(?:aborted|cancell?ed|interrupted))|\bhigh load\b|\bretry after\b`)
	// noAnswer is the whole of it, where nothing else was said: what begins so may go on as an answer.
	noAnswer = regexp.MustCompile(`(?i)^(?:api error\b.*|(?:internal server error|error:)[^.\n]{0,150}\.?|the server (?:had|returned|responded|is (?:overloaded|busy|unavailable|currently|temporarily))[^\n]{0,150}|(?:the |your )?(?:request|operation|turn) (?:was |has been )?(?:aborted|cancell?ed|interrupted)(?: by (?:the )?user)?\W*)$`)
	// finishing is the name of a tool by which an agent hands back to the user, as those do whose every message has a call.
	finishing = regexp.MustCompile(`(?i)^(?:attempt_?completion|finish(?:_?(?:task|work|turn|up))?|submit(?:_?(?:answer|result|solution|task|final\w*))?|(?:complete|end)_?(?:task|turn|session|conversation)|task_?complete|exit_?plan_?mode|plan_?mode_?respond|final_?answer|\w*(?:message|msg|notify|respond|reply|report)_?(?:to_?)?(?:the_?)?user|respond)$`)
	// approved is how harnesses report that the user agreed to a plan, refused that the user refused a call.
	approved = regexp.MustCompile(`(?i)\buser (?:has |have )?(?:approved|accepted)\b`)
	refused  = regexp.MustCompile(`(?i)\b(?:user (?:doesn['’]t want|does not want|did not want|rejected|declined|denied|refused|disapproved|cancelled)|(?:rejected|declined|denied|refused|cancelled) by (?:the )?user)\b`)
	// reason introduces the user's words in such a report.
	reason = regexp.MustCompile(`(?is)\b(?:user said|user['’]s (?:feedback|reason|message)|feedback|reason)[^:\n]{0,60}:\s*(.+)`)
	// yesOrNo begins an answer that is short and yet all that was asked.
	yesOrNo = regexp.MustCompile(`(?i)^(?:yes|no|nope|correct|mostly|part(?:ly|ially)|not (?:yet|quite|really|entirely|exactly|directly))\b`)
	// link is the target of a link, of which the text says enough.
	link = regexp.MustCompile(`\]\([^()\s]+\)`)
	// itemMark is what begins an item of a list or a heading.
	itemMark = regexp.MustCompile(`^(?:[-*#>•]+|\d+[.)])\s+`)
)

// goesOn begins a sentence about what the assistant does next.
const goesOn = `(?i)^(?:(?:ok(?:ay)?|good|great|so|and|now|then|therefore)[,.!:]? )*(?:let me|let['’]s|i['’]ll|i will|i(?:['’]m| am) going to|(?:i|we) (?:now |also )?(?:need|have) to|i should|i must|next,? i(?:['’]ll| will)) (?:now |also |first |just |quickly |then )*`

// conditional is in a line that leads to a list of what may be, or is to be done, or can be chosen: its items are no statements.
var conditional = regexp.MustCompile(`(?i)\b(?:if|when|unless|could|would|should|options?|alternatives?|either|consider|to-?dos?|next steps?|steps|test plan|trade-?offs?|pros|cons|questions?|ideas?)\b`)

// code begins a line of a program, quotedCode is code between backticks.
var (
	code       = regexp.MustCompile(`^(?:raise|return|throw|assert|import|const|let|var|def|func|class)\b`)
	quotedCode = regexp.MustCompile("`[^`]*`")
	halfItem   = regexp.MustCompile(`(?i)^(?:if|unless|once)\b|^when (?:\S+ ){1,4}(?:is|are|has|exists?|already|does)\b`)
)

// guesses reports whether a statement may turn out to be wrong, or only proposes something.
func guesses(s string) bool { return guessing.MatchString(certain.ReplaceAllString(s, "")) }

// rankOf returns how much a sentence decides, none if it is no statement that may hold, and the sentence without a step that it
// announces. Of an item that hangs on the line above its list only a decision counts.
func rankOf(s string, as place) (stated string, rank int) {
	plain := (!announcing.MatchString(s) || deadEnd.MatchString(s)) && !leaning.MatchString(s)
	rank = none
	switch {
	case progressing.MatchString(s):
	case asksItself.MatchString(s):
		if !intends.MatchString(s) {
			return s, none
		}
		return s, 1
	case decided.MatchString(s) && !waiting.MatchString(s):
		rank = 3
	case preferring.MatchString(s) && !waiting.MatchString(s) && !guesses(s) && !strings.Contains(s, " tool"):
		return s, 1
	case plain && found.MatchString(s) && !vague.MatchString(s):
		rank = 2
	case plain && reasoned.MatchString(s):
		rank = 1
	case plain && stating.MatchString(s) && !reporting.MatchString(s):
		if strings.ContainsAny(s, "`0123456789") {
			rank = 0
		}
		eachWord(s, func(string) { rank = 0 })
	}
	if rank > 0 && guesses(s) && !turnsOut.MatchString(s) {
		rank = 0
	}
	if rank == 3 {
		cut := stepBelow.ReplaceAllString(s, ".")
		if intends.MatchString(cut) && decided.MatchString(cut) && !decided.MatchString(s[len(cut)-1:]) {
			s = cut
		}
	}
	if rank == none || rank == 3 {
		return s, rank
	}
	if as == hanging || proposing.MatchString(s) || code.MatchString(s) && quotesCode.MatchString(quotedCode.ReplaceAllString(s, "")) {
		return s, none
	}
	stated = s
	if rank < 2 {
		if stated = nextStep.ReplaceAllString(s, "."); rank == 1 && !reasoned.MatchString(stated) {
			stated = s // the step has the reason
		}
	}
	if stated != s {
		stated = danglingEnd.ReplaceAllString(stated, ".")
	}
	switch {
	case stated != s && (dangling.MatchString(stated) || len(strings.Fields(stated)) < 4), rank < 2 && stepping.MatchString(stated), rank == 0 && as == item && halfItem.MatchString(stated):
		return s, none
	}
	return stated, rank
}

// place is where a sentence stands.
type place int

const (
	inText  place = iota
	item          // of a list
	hanging       // in an item of a list below a conditional line
)

// spoken yields the sentences of prose with the places where they stand.
func spoken(text string) iter.Seq2[string, place] {
	return func(yield func(string, place) bool) {
		led := false // by a conditional line
		lines := slices.Collect(prose(text))
		mended := len(lines) // where the last heading of a solution stands
		for mended--; mended > 0 && !(headed(lines[mended]) && ofSolution.MatchString(lines[mended])); mended-- {
		}
		was, subject := false, "" // below the heading of a problem that is solved below; and the numbered heading
		above := ""               // the line that leads to the list
		for i, line := range lines {
			heading, as := line[0] == '#', inText
			if headed(line) {
				was, subject = i < mended && ofProblem.MatchString(line), ""
				if m := numbered.FindStringSubmatch(line); m != nil {
					subject = strings.TrimSpace(m[1]) + ": "
				}
			}
			if !heading && itemMark.MatchString(line) {
				if as = item; led || was {
					as = hanging
				}
			} else {
				lead := strings.TrimRight(line, "* ")
				above = ""
				if headed(line) || strings.HasSuffix(lead, ":") {
					above = strings.TrimSpace(strings.Trim(lead[stopBefore(lead):], "#*: "))
				}
				led = (heading || strings.HasSuffix(lead, ":")) && conditional.MatchString(lead[stopBefore(lead):])
			}
			about := ""
			if as == item && label.MatchString(line) {
				about = subject // without it, it would be about the whole
			}
			alone := as == item && about == "" && subjectless.MatchString(line)
			for s := range sentencesOf(boldNumber.ReplaceAllString(line, "$1")) {
				if alone {
					if _, rank := rankOf(s, as); rank != none {
						about = above + ": "
					}
					if alone = false; above == "" || len(above) > 80 {
						about, as = "", hanging
					}
				}
				s, about = about+s, ""
				if !yield(s, as) {
					return
				}
			}
		}
	}
}

// boldNumber is the number of an item whose beginning is bold, or of a heading: alone it says nothing.
var boldNumber = regexp.MustCompile(`^(#+ +\**|\W{0,3}\*\*)\d{1,2}[.)]\s+`)

// subjectless begins an item that says something of what stands above its list.
var subjectless = regexp.MustCompile(`^(?:[-*•]|\d+[.)])\s+\**(?:More|Less|Fewer|Better|Easier|Simpler|Faster|Slower|Uses|Falls|Reads|Requires|Needs|Relies|Returns|Writes|Calls|Creates|Checks|Adds|Removes|Supports|Allows|Handles|Skips|Works|Fails|Does|Doesn['’]t|Has|Lacks|Keeps|Runs|Survives|Contains)\b`)

var (
	// ofProblem is the heading of a state that was to be changed, ofSolution the one of what changed it.
	ofProblem  = regexp.MustCompile(`(?i)^\W*(?:\d+\W+)?(?:the |old )?(?:problems?|issues?|before|what (?:was|went|is) wrong|what['’]s wrong|symptoms?|bug|behaviou?r)\W*$`)
	ofSolution = regexp.MustCompile(`(?i)^\W*(?:\d+\W+)?(?:the |my )?(?:solution|fix(?:es|ed)?|after|what (?:i )?changed|changes|resolution|new behaviou?r)\b`)
	// numbered is a numbered heading with its subject, and label begins an item that says one thing of it.
	numbered = regexp.MustCompile(`^#+ +\W*\d{1,2}[.):]+[\s*]*([^\s*][^*(\n]{2,60})`)
	label    = regexp.MustCompile(`(?i)^[-*•]\s+\**(?:(?:root |likely )?cause|problem|issue|reason|(?:proposed |suggested )?(?:fix|workaround|solution)|impact|effect)s?\**: ?\**`)
)

// headed reports whether a line is a heading: marked as one, or all of it in bold.
func headed(line string) bool {
	return line[0] == '#' || len(line) < 80 && strings.HasPrefix(line, "**") && strings.HasSuffix(strings.TrimRight(line, ":"), "**")
}

// stopBefore returns where the last sentence of a line begins.
func stopBefore(line string) (at int) {
	for {
		i := stop(line[at:])
		if at+i >= len(line) {
			return at
		}
		at += i
	}
}
