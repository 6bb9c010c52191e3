package call

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"precis/summarize/lex"
	"precis/summarize/shell"
	"precis/summarize/verdict"
)

// Shell commands show parts of files: `sed -n '40,90p' a.go`, `git show HEAD:a.go | head -20`, several of them one after the other. What the
// call says of them is which lines of which file an output has.

// Part is some lines of a file, as a command asks for them.
type Part struct {
	Path     string // empty: lines of no file, such as what echo prints
	Revision string // of the file, if it is not the one that is there: HEAD~2, owner/name@main
	From, To int    // the numbers of the first and the last line; from 0: unknown; to 0: the last one of the file
	Last     int    // how many lines before the file's end, if that is what is asked for
	Lines    int    // how many lines an output has of it; 0: not known yet
	Says     string // what is printed in the place of a file's lines, if that is known
	Numbered bool   // the lines have their numbers in front
	Next     bool   // of the same reading as the part before, and behind it: it has lines only if that one has all of its own
}

// Has reports whether a line of the file is in a part.
func (p Part) Has(number int) bool { return number >= p.From && (p.To == 0 || number <= p.To) }

// Size is how many lines a part has if its file is long enough; 0: unknown.
func (p Part) Size() int {
	if p.From == 0 || p.To == 0 {
		return 0
	}
	return p.To - p.From + 1
}

// Parts returns what a shell command shows if that is all it does; nil if not, or if the call is none.
func (a Arguments) Parts() (list []Part) {
	steps, ok := unrolled(shell.Steps(a.Command()))
	if !ok {
		return nil
	}
	shows, moved := false, false // a file, and the directory is another one behind it
	for i := 0; i < len(steps); {
		end := i + 1
		for end < len(steps) && steps[end].Op == "|" {
			end++
		}
		parts, ok := pipeline(steps[i:end])
		if !ok {
			return nil
		}
		name, _ := steps[i].Program()
		moved = moved || shows && name == "cd"
		ofFile := slices.ContainsFunc(parts, func(p Part) bool { return p.Path != "" })
		if list, i, shows = append(list, parts...), end, shows || ofFile; len(list) > mostParts || moved && ofFile {
			return nil
		}
	}
	if !shows {
		return nil
	}
	return list
}

// mostParts bounds what is read of a command.
const mostParts = 100

// pipeline returns what a pipeline shows; false if it is not known, or more than lines of files.
func pipeline(steps []shell.Step) (list []Part, ok bool) {
	name, operands := steps[0].Program()
	if len(steps) == 1 {
		switch {
		case name == "cd" || name == "" || name == "true" || name == ":" || name == "sleep" || name == "wait" || (name == "set" || name == "export") && len(operands) > 0:
			return nil, !(name == "cd" && slices.Contains(operands, "-") || name == "export" && slices.Contains(operands, "-p") || name == "set" && traces(operands))
		case steps[0].Op == "||" || steps[0].Op == "&":
			return nil, false
		case name == "echo" || name == "printf":
			p, ok := told(name, operands)
			return []Part{p}, ok
		}
	}
	if operands, ok = withoutErrors(operands); !ok || steps[0].Op == "||" || steps[0].Op == "&" {
		return nil, false
	}
	steps = steps[1:]
	switch {
	case name == "git":
		list = revisions(operands)
	case name == "gh":
		list, steps = contents(operands, steps)
	case showsFiles[name] && len(operands) > 0 && verdict.Shows(shell.Step{Words: append([]string{name}, operands...)}):
		list = files(name, operands)
	}
	for _, step := range steps {
		name, operands := step.Program()
		if operands, ok = withoutErrors(operands); !ok {
			return nil, false
		}
		list = narrowed(list, name, operands)
	}
	return list, len(list) > 0
}

// traces reports whether options of set make a shell print its commands, or are asked for.
func traces(operands []string) bool {
	for i, w := range operands {
		switch {
		case w == "-o" || w == "+o":
			if i+1 == len(operands) {
				return true
			}
		case w == "xtrace" || w == "verbose":
			if i > 0 && strings.HasPrefix(operands[i-1], "-") {
				return true
			}
		case w == "--":
			return false
		case strings.HasPrefix(w, "-") && strings.ContainsAny(w, "xv"):
			return true
		}
	}
	return false
}

// withoutErrors takes out where errors go; false if anything else is redirected.
func withoutErrors(operands []string) (list []string, ok bool) {
	for _, w := range operands {
		switch {
		case w == "2>/dev/null" || w == "2>&1":
		case strings.HasPrefix(w, ">") || strings.HasPrefix(w, "<") || strings.HasPrefix(w, "&>") || fileDescriptor.MatchString(w):
			return nil, false
		default:
			list = append(list, w)
		}
	}
	return list, true
}

var fileDescriptor = regexp.MustCompile(`^\d>`)

// told is what echo or printf print.
func told(name string, operands []string) (Part, bool) {
	operands, ok := withoutErrors(operands)
	if !ok {
		return Part{}, false
	}
	text := strings.Join(operands, " ")
	if name == "printf" {
		if len(operands) == 0 || !strings.HasSuffix(operands[0], `\n`) || strings.Count(operands[0], "%") != strings.Count(operands[0], "%s") || strings.Count(operands[0], "%s") != len(operands)-1 {
			return Part{}, false
		}
		text = strings.TrimSuffix(operands[0], `\n`)
		for _, w := range operands[1:] {
			text = strings.Replace(text, "%s", w, 1)
		}
		text = strings.ReplaceAll(text, `\n`, "\n")
	}
	switch {
	case strings.Contains(text, `\`) || name == "echo" && len(operands) > 0 && echoFlag.MatchString(operands[0]):
		return Part{}, false // with or without its escapes, or its line break
	case strings.ContainsAny(text, "$`"):
		return Part{}, true // of an unknown length
	case strings.ContainsAny(text, "*?"): // it may be the names of files
		return Part{From: 1, To: strings.Count(text, "\n") + 1}, true
	}
	return Part{From: 1, To: strings.Count(text, "\n") + 1, Says: text}, true
}

var echoFlag = regexp.MustCompile(`^-[neE]+$`)

// showsFiles are the programs that print files as they are.
var showsFiles = map[string]bool{"cat": true, "head": true, "tail": true, "sed": true, "nl": true, "bat": true, "less": true, "more": true}

// files returns what a program prints of the files that its operands name.
func files(name string, operands []string) (list []Part) {
	at := len(operands) - 1
	for name == "cat" && at > 0 && !strings.HasPrefix(operands[at-1], "-") {
		at--
	}
	for _, path := range operands[at:] {
		if strings.ContainsAny(routes.ReplaceAllString(path, "$1$2"), "*?[{>$ `") || !strings.ContainsAny(path, "./") || strings.Count(path, "(") != strings.Count(path, ")") {
			return nil
		}
		list = append(list, Part{Path: path, From: 1})
	}
	flags := operands[:at]
	switch name {
	case "head", "tail", "sed", "nl", "cat":
		if slices.ContainsFunc(flags, func(w string) bool { return strings.ContainsAny(w, "./") && name != "sed" }) {
			return nil // another file, which has a heading in front of it
		}
		if name == "sed" && !oneScript(flags) {
			return nil // several files
		}
		if name == "sed" && sedRanges(flags) == nil {
			return []Part{{Path: operands[at]}}
		}
		return narrowed(list, name, flags)
	}
	return list
}

// routes matches names of web frameworks that look like a pattern for names, `app/[id]/page.tsx`.
var routes = regexp.MustCompile(`(^|/)\[(?:\.{3})?\w{2,}\](/|\.(?:[jt]sx?|vue|svelte|astro)$)`)

// oneScript reports whether the words before the last file of sed are options and a script, and no other file.
func oneScript(words []string) bool {
	scripts, option, plain := 0, false, 0
	for _, w := range words {
		switch {
		case option:
			option = false
		case w == "-e" || w == "-f":
			option = true
			scripts++
		case strings.HasPrefix(w, "--expression=") || strings.HasPrefix(w, "--file="):
			scripts++
		case !strings.HasPrefix(w, "-"):
			plain++
		}
	}
	return plain == 1 && scripts == 0 || plain == 0 && scripts > 0
}

// revisions returns the files that git prints as they were: `git show HEAD:a.go`, `git cat-file -p HEAD:a.go`.
func revisions(operands []string) (list []Part) {
	verb, rest := shell.CutVerb(operands)
	if verb == "cat-file" && len(rest) == 2 && (rest[0] == "-p" || rest[0] == "blob") {
		verb, rest = "show", rest[1:]
	}
	if verb != "show" {
		return nil
	}
	for _, w := range rest {
		revision, path, ok := strings.Cut(w, ":")
		if stage, of, ok := strings.Cut(path, ":"); ok && revision == "" && len(stage) == 1 {
			if path = of; stage != "0" { // one side of a conflict
				revision = ":" + stage
			}
		}
		if revision == "" {
			revision = "index"
		}
		if path = strings.TrimPrefix(path, "./"); !ok || strings.HasPrefix(w, "-") || strings.HasPrefix(w, ":/") || path == "" || strings.HasSuffix(path, "/") || strings.ContainsAny(path, "*>$ {`:") || strings.Count(path, "(") != strings.Count(path, ")") {
			return nil // a commit, a directory, a search for a commit
		}
		list = append(list, Part{Path: path, Revision: revision, From: 1})
	}
	return list
}

// contents returns the file that gh prints, and the steps behind those that decode it:
// `gh api repos/owner/name/contents/a.go?ref=main --jq .content | base64 -d`.
func contents(operands []string, steps []shell.Step) ([]Part, []shell.Step) {
	if len(operands) < 2 || operands[0] != "api" {
		return nil, nil
	}
	p, query, raw := Part{From: 1}, "", false
	for i := 1; i < len(operands); i++ {
		w := operands[i]
		value := ""
		if i+1 < len(operands) {
			value = operands[i+1]
		}
		switch {
		case w == "--jq" || w == "-q":
			query = value
			i++
		case strings.HasPrefix(w, "--jq="):
			query = w[len("--jq="):]
		case w == "-H" || w == "--header":
			raw = raw || strings.HasPrefix(strings.ToLower(value), "accept:") && strings.Contains(value, "raw")
			i++
		case strings.HasPrefix(w, "-") || p.Path != "":
			return nil, nil // other fields, another method
		default:
			address, parameters, _ := strings.Cut(strings.TrimPrefix(w, "/"), "?")
			m := contentsOf.FindStringSubmatch(address)
			if m == nil || strings.ContainsAny(address, "$`*") {
				return nil, nil
			}
			p.Revision, p.Path = m[1], m[2]
			if ref, ok := strings.CutPrefix(parameters, "ref="); ok {
				p.Revision += "@" + ref
			}
		}
	}
	decoded := raw && query == ""
	query = strings.Join(strings.Fields(query), "")
	for ; !decoded && len(steps) > 0; steps = steps[1:] {
		name, operands := steps[0].Program()
		operands, ok := withoutErrors(operands)
		switch {
		case !ok:
			return nil, nil
		case name == "jq" && query == "" && len(operands) == 2 && operands[0] == "-r":
			query = strings.Join(strings.Fields(operands[1]), "")
			continue
		case query == ".content" && name == "tr":
			continue // its line breaks
		case query == ".content" && name == "base64" && len(operands) > 0 && (operands[0] == "-d" || operands[0] == "-D" || operands[0] == "--decode"):
			decoded = true
			continue
		}
		break
	}
	if p.Path == "" || !decoded && query != ".content|@base64d" {
		return nil, nil
	}
	return []Part{p}, steps
}

var contentsOf = regexp.MustCompile(`^repos/([\w.-]+/[\w.-]+)/contents/([^\s?]*[^\s?/])$`)

// unrolled writes out loops over words that the line itself has; false if there is another loop, or a condition.
func unrolled(steps []shell.Step) (list []shell.Step, ok bool) {
	const (
		most      = 50       // steps
		mostBytes = 64 << 10 // of their words: a long value that is named many times comes to a thousand times the line
	)
	size := 0
	for i := 0; i < len(steps); i++ {
		step := steps[i]
		if slices.Contains(compound, step.Words[0]) {
			return nil, false
		}
		if step.Words[0] != "for" {
			list = append(list, step)
			continue
		}
		end := i + 1
		for end < len(steps) && steps[end].Words[0] != "done" {
			end++
		}
		if len(step.Words) < 4 || step.Words[2] != "in" || end == len(steps) || !bare(steps[end]) || end+1 < len(steps) && steps[end+1].Op == "|" || step.Op == "|" {
			return nil, false
		}
		variable := regexp.MustCompile(`\$(?:` + regexp.QuoteMeta(step.Words[1]) + `\b|\{` + regexp.QuoteMeta(step.Words[1]) + `\})`)
		for _, value := range step.Words[3:] {
			if strings.ContainsAny(value, "$`*?{<>") || len(list) > most {
				return nil, false
			}
			for k, body := range steps[i+1 : end] {
				words := slices.Clone(body.Words)
				if k == 0 && words[0] == "do" {
					words = words[1:]
				}
				if len(words) == 0 {
					continue
				}
				if words[0] == "for" || slices.Contains(compound, words[0]) {
					return nil, false
				}
				for n, w := range words {
					if size += len(w) + strings.Count(w, "$")*len(value); size > mostBytes {
						return nil, false
					}
					words[n] = variable.ReplaceAllLiteralString(w, value)
				}
				op := body.Op
				if k == 0 {
					op = ";"
				}
				list = append(list, shell.Step{Op: op, Words: words, Subs: body.Subs})
			}
		}
		i = end
	}
	return list, true
}

// bare reports whether the end of a loop sends nothing but errors elsewhere.
func bare(end shell.Step) bool {
	rest, ok := withoutErrors(end.Words[1:])
	return ok && len(rest) == 0
}

// compound are the words that begin what is run under a condition, or apart.
var compound = []string{"while", "until", "if", "case", "select", "function", "elif", "else"}

// narrowed takes a filter that shows some lines of what one file's part has, or numbers them; nil for any other program.
func narrowed(list []Part, name string, operands []string) []Part {
	plain := func(w string) bool { return w == "-n" || w == "-u" || w == "-" }
	switch {
	case len(list) == 0:
		return nil
	case name == "cat" && !slices.ContainsFunc(operands, func(w string) bool { return !plain(w) }):
		if !slices.Contains(operands, "-n") {
			return list
		}
	case name == "less" || name == "more":
		if len(operands) == 0 {
			return list
		}
		return nil
	case name == "nl" && numbersAll.MatchString(strings.Join(operands, " ")): // else those of blank lines are left out
	case len(list) > 1:
		return nil
	case name == "sed":
		var parts []Part
		for _, r := range sedRanges(operands) {
			p := list[0]
			if p.From == 0 || p.To > 0 && p.From+r.From-1 > p.To {
				return nil
			}
			if p.Next = len(parts) > 0; r.To > 0 && (p.To == 0 || p.From+r.To-1 < p.To) {
				p.To = p.From + r.To - 1
			}
			p.From += r.From - 1
			parts = append(parts, p)
		}
		return parts
	default:
		if p := list[0]; p.narrow(name, operands) {
			return []Part{p}
		}
		return nil
	}
	if p := list[0]; len(list) > 1 || p.From != 1 || p.Numbered { // numbers of what is shown, and not of the file
		return nil
	}
	list[0].Numbered = true
	return list
}

// numbersAll matches options of nl with which a line has the number that it has in the file.
var numbersAll = regexp.MustCompile(`^(?:(?:-w ?\d+|-s ?\S*|-n ?\w\w) )*(?:-b ?a|--body-numbering=a)(?: (?:-w ?\d+|-s ?\S*|-n ?\w\w))*$`)

// narrow takes a filter that shows the first or the last lines of a part; it is false for any other program.
func (p *Part) narrow(name string, operands []string) bool {
	switch name {
	case "head":
		if n := lineCount(operands); n > 0 && p.From > 0 {
			if to := p.From + n - 1; p.To == 0 || to < p.To {
				p.To = to
			}
			return true
		}
	case "tail":
		words := strings.TrimPrefix(strings.Join(operands, ""), "-n")
		if n := cmp.Or(lineCount(operands), lex.Atoi(strings.TrimPrefix(words, "-"))); n > 0 {
			p.From, p.To, p.Last = 0, 0, n
			return true
		}
		if n := lex.Atoi(strings.TrimPrefix(words, "+")); n > 0 && p.From > 0 && (p.To == 0 || p.From+n-1 <= p.To) {
			p.From += n - 1
			return true
		}
	}
	return false
}

// lineCount reads the number of head and tail, `-n 20`, `-20`; ten without one, 0 if it is something else, such as all but the last ones.
func lineCount(operands []string) int {
	if len(operands) == 0 {
		return 10
	}
	if m := countOption.FindStringSubmatch(strings.Join(operands, " ")); m != nil {
		return lex.Atoi(m[1])
	}
	return 0
}

var countOption = regexp.MustCompile(`^(?:-|-n ?|--lines[= ])(\d+)$`)

var sedRange = regexp.MustCompile(`^(\d{1,8})(?:,(\d{1,8}|\$))?p$`)

// sedRanges reads what sed prints: `-n 40,90p`, `-n -e 1,20p -e 60,80p`; nil for another script.
func sedRanges(operands []string) (list []Part) {
	quiet := false
	for _, w := range operands {
		switch {
		case w == "-n":
			quiet = true
			continue
		case w == "-e":
			continue
		}
		for script := range strings.SplitSeq(w, ";") {
			m := sedRange.FindStringSubmatch(strings.ReplaceAll(strings.TrimSpace(script), " ", ""))
			if m == nil {
				return nil
			}
			p := Part{From: lex.Atoi(m[1]), To: lex.Atoi(m[2])}
			if m[2] == "" {
				p.To = p.From
			}
			if n := len(list); n > 0 && (list[n-1].To == 0 || p.From <= list[n-1].To) || p.From == 0 {
				return nil
			}
			list = append(list, p)
		}
	}
	if !quiet {
		return nil
	}
	return list
}

// Shown returns the file that a call shows, and the number of the first line shown; 0 if that is not known. A shell
// command counts if showing one file is all it does.
func (a Arguments) Shown() (path string, from int) {
	if path = a.Path(); path != "" {
		if n := lex.Atoi(a.Text("offset", "start_line", "line_start")); n > 0 {
			return path, n
		}
		return path, 1
	}
	list := a.Parts()
	revision := ""
	for _, p := range list {
		switch {
		case p.Path == "":
		case path == "":
			path, revision, from = p.Path, p.Revision, p.From
		case p.Path != path || p.Revision != revision:
			return "", 0
		}
	}
	if len(list) > 1 {
		from = 0 // not of all lines
	}
	return path, from
}

// Revision returns what version of the one file a shell command shows; empty if it is the one that is there.
func (a Arguments) Revision() (revision string) {
	if path, _ := a.Shown(); path == "" || a.Path() != "" {
		return ""
	}
	for _, p := range a.Parts() {
		if p.Path != "" {
			revision = p.Revision
		}
	}
	return revision
}

// Name is what lines of a part stand below, beside those of others.
func (p Part) Name(beside []Part) string {
	if slices.ContainsFunc(beside, func(q Part) bool { return q.Path == p.Path && q.Revision != p.Revision }) {
		return p.Revision + ":" + p.Path
	}
	return p.Path
}

// Settled returns the parts with the lines that an output has of them, as far as they can be told apart. What comes between two lines that echo
// printed is known if it is of one file, or has as many lines as were asked for: else one of several files may have been shorter. Lines whose numbers are not
// known are a part without them. It is nil if no line has one.
func Settled(list []Part, text string) []Part {
	if at := failed.FindStringIndex(text); at != nil && (len(list) > 1 || at[0] == 0) { // behind lines of one file it may be one of them
		return nil
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	signs := map[string]int{} // what echo prints, and how often
	for _, p := range list {
		if p.Says != "" {
			signs[p.Says]++
		}
	}
	found := places(lines, signs)
	var all, between []Part
	known, at := false, 0
	settle := func(to int) {
		parts, ok := settled(between, to-at)
		all, known, between = append(all, parts...), known || ok, nil
	}
	for _, p := range list {
		where := found[p.Says]
		if p.Says == "" || len(where) != signs[p.Says] {
			between = append(between, p)
			continue
		}
		if found[p.Says], signs[p.Says] = where[1:], signs[p.Says]-1; where[0] < at {
			return nil
		}
		settle(where[0])
		p.Lines = p.Size()
		all, at = append(all, p), where[0]+p.Lines
	}
	if at > len(lines) {
		return nil
	}
	settle(len(lines))
	if !known {
		return nil
	}
	return all
}

// failed matches what a program says that could not show a file, beside what others show.
var failed = regexp.MustCompile(`(?m)^(?:(?:-|/(?:[\w.-]+/)*)?(?:sed|head|tail|cat|nl|bat|base64|gh|git|bash|dash|ash|ksh|zsh|sh): |fatal: )`)

// Failed reports whether an output of several files says that one could not be shown.
func Failed(text string) bool { return failed.MatchString(text) }

// places finds where what echo prints stands among lines.
func places(lines []string, signs map[string]int) map[string][]int {
	found, byFirst := map[string][]int{}, map[string][]string{}
	for sign := range signs {
		first, _, _ := strings.Cut(sign, "\n")
		byFirst[first] = append(byFirst[first], sign)
	}
	for i, l := range lines {
		for _, sign := range byFirst[l] {
			if n := strings.Count(sign, "\n") + 1; n == 1 || i+n <= len(lines) && strings.Join(lines[i:i+n], "\n") == sign {
				found[sign] = append(found[sign], i)
			}
		}
	}
	return found
}

// settled returns the parts of n lines; false if their numbers are not known.
func settled(list []Part, n int) (parts []Part, ok bool) {
	if n <= 0 || len(list) == 0 {
		if n > 0 {
			parts = []Part{{Lines: n}}
		}
		return parts, false
	}
	files, open, size, path := 0, 0, 0, list[0]
	for _, p := range list {
		if p.Path != "" && !p.Next {
			files++
		}
		if p.Size() == 0 {
			open++
		}
		if size += p.Size(); p.Path != path.Path || p.Revision != path.Revision {
			path = Part{}
		}
	}
	unknown := []Part{{Path: path.Path, Revision: path.Revision, Lines: n}}
	switch {
	case slices.ContainsFunc(list, func(p Part) bool { return p.From == 0 }):
		return unknown, false
	case open == 0 && size == n, files == 1 && open == 1 && size < n: // all of what was asked for
	case files == 1 && len(list) == countNext(list)+1 && (open > 0 || n <= size): // the file may end before
	default:
		return unknown, false
	}
	rest := n - size
	for _, p := range list {
		if p.Lines = p.Size(); p.Lines == 0 {
			p.Lines = max(rest, 0)
		}
		if p.Lines = min(p.Lines, n); p.Lines == 0 {
			break
		}
		p.To = p.From + p.Lines - 1
		n -= p.Lines
		parts = append(parts, p)
	}
	return parts, n == 0
}

func countNext(list []Part) (n int) {
	for _, p := range list {
		if p.Next {
			n++
		}
	}
	return n
}

// ExtentOf names the lines of a file that are parts, `12-40,60-80`; empty if they are all of it, as far as is known, or too many to name.
func ExtentOf(list []Part) string {
	const most = 3
	if len(list) == 0 || len(list) > most || len(list) == 1 && list[0].From == 1 {
		return ""
	}
	var names []string
	for _, p := range list {
		if p.From == 0 {
			return ""
		}
		if p.Path != "" && p.Lines > 0 {
			names = append(names, strconv.Itoa(p.From)+"-"+strconv.Itoa(p.From+p.Lines-1))
		}
	}
	return strings.Join(names, ",")
}

// Capped reads how many lines of a command's output its last filter leaves, `… | head -20`, and which, `first` or `last`.
func (a Arguments) Capped() (n int, which string) {
	steps := shell.Steps(a.Command())
	if len(steps) < 2 || steps[len(steps)-1].Op != "|" {
		return 0, ""
	}
	for i, s := range steps[1:] {
		if name, _ := steps[i].Program(); s.Op != "|" && name != "cd" {
			return 0, "" // the filter is of the last command only
		}
	}
	name, operands := steps[len(steps)-1].Program()
	switch name {
	case "head":
		return lineCount(operands), "first"
	case "tail":
		return lineCount(operands), "last"
	case "sed":
		if r := sedRanges(operands); len(r) == 1 && r[0].From == 1 {
			return r[0].To, "first"
		}
	}
	return 0, ""
}
