package ledger

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"precis/summarize/lex"
)

// Text writes a ledger as a text of at most maxChars code points.
func (l Ledger) Text(maxChars int) string { return Render(l, "", maxChars) }

// Render writes a ledger as a text of at most maxChars code points. A model's prose, if any, adds to the sections whose
// titles it has; what it says outside of them comes first. It never displaces the ledger.
func Render(l Ledger, prose string, maxChars int) (text string) {
	title := titleStart + counted(l.Messages, "item") + ") ---"
	if !guarded(func() { text = render(title, l, prose, maxChars) }) {
		return lex.Clip(title, maxChars)
	}
	return text
}

func render(title string, l Ledger, prose string, maxChars int) string {
	out := []string{title}
	lead, said := parsed(prose)
	room := maxChars
	if lead = unclaimed(lead); lead != "" {
		lead = lex.Clip(lead, maxChars*shareProse/100)
		out = append(out, lead)
		room -= lex.Runes(lead) + 1
	}
	v := newView(l)
	sections := v.sections(room)
	if prose != "" {
		v.say(sections, said, room)
	}
	left := maxChars - lex.Runes(strings.Join(out, "\n"))
	rooms := allot(sections, left)
	spare := left
	for _, n := range rooms {
		spare -= n
	}
	v.spare = spare
	for i, s := range sections {
		room := rooms[i] + spare
		block := s.write(room)
		if spare = room; block != "" {
			spare -= lex.Runes(block) + 1
			out = append(out, block)
		}
	}
	return lex.Clip(strings.Join(out, "\n"), maxChars)
}

// titleStart begins every text.
const titleStart = "--- Summarized Context ("

// shareProse is the most of a text that prose outside of sections may take, in percent.
const shareProse = 60

// section is a part of a text. Its share of the room is in proportion to the others' shares; what it does not want goes
// to those that want more.
type section struct {
	title string
	least int                     // what it gets in any case, if it wants it
	share int                     // 0: only what the others leave
	lines func(room int) []string // lines of room characters together, each with its line end
}

// write returns the section in at most room characters, the line end before it included; empty if nothing fits.
func (s section) write(room int) string {
	lines := s.lines(room - lex.Runes(s.title) - 2)
	switch len(lines) {
	case 0:
		return ""
	case 1:
		return s.title + " " + strings.TrimPrefix(lines[0], "- ")
	}
	return s.title + "\n" + strings.Join(lines, "\n")
}

// wants returns the room that the section can use, at most room.
func (s section) wants(room int) int {
	want := 0
	for i, l := range s.lines(room - lex.Runes(s.title) - 2) {
		if i == 0 {
			want = lex.Runes(s.title) + 2
		}
		want += lex.Runes(l) + 1
	}
	return want
}

// mostLeast is the part of a text that sections get in any case, all together, in percent.
const mostLeast = 80

// first reports whether a section gets its least before the others: errors, and the newest request.
func (s section) first() bool { return s.title == titleErrors+":" || s.title == titleRequests+":" }

// allot divides room among sections. Each gets what it wants up to its share; those that want more divide the rest, until
// all are satisfied or nothing is left. Before that, sections get their least: the first ones in full, the others from
// what remains of mostLeast.
func allot(sections []section, room int) []int {
	wants, rooms := make([]int, len(sections)), make([]int, len(sections))
	sure, others := max(0, room)*mostLeast/100, 0
	for i, s := range sections {
		wants[i] = s.wants(room)
		rooms[i] = max(0, min(wants[i], s.least))
		if s.first() {
			rooms[i] = min(rooms[i], sure)
			sure -= rooms[i]
		} else {
			others += rooms[i]
		}
	}
	for i, s := range sections {
		if !s.first() && others > sure {
			rooms[i] = rooms[i] * sure / others
		}
	}
	for _, n := range rooms {
		room -= n
	}
	for {
		hungry := 0
		for i, s := range sections {
			if rooms[i] < wants[i] {
				hungry += s.share
			}
		}
		given := 0
		for i, s := range sections {
			if rooms[i] < wants[i] && s.share > 0 {
				more := min(wants[i]-rooms[i], room*s.share/hungry)
				rooms[i], given = rooms[i]+more, given+more
			}
		}
		if room -= given; given == 0 {
			return rooms
		}
	}
}

// listed returns the lines that fit into room characters, in order, and says how many entries are missing: those that don't
// fit, and more.
func listed(lines []string, room, more int) []string {
	fit := fitting(lines, room, more)
	if missing := more + len(lines) - len(fit); missing > 0 && len(fit) > 0 {
		fit = slices.Clone(fit)
		fit[len(fit)-1] += fmt.Sprintf(" (+%d more)", missing)
	}
	return fit
}

// markRoom is the length of " (+123 more)".
const markRoom = 12

func fitting(lines []string, room, more int) []string {
	if cost(lines) > room || more > 0 {
		room -= markRoom
	}
	for i, l := range lines {
		if room -= lex.Runes(l) + 1; room < 0 {
			return lines[:i]
		}
	}
	return lines
}

// opening returns the beginning of a statement in at most n characters: whole, or up to the end of a sentence if that
// leaves enough, or else cut visibly at a word.
func opening(s string, n int) string {
	if lex.Runes(s) <= n {
		return s
	}
	cut := lex.Clip(s, n)
	end := 0
	for i := stop(cut); i < len(cut); i += stop(cut[i:]) {
		end = i
	}
	if end >= leastOpening && end*3 >= len(cut) {
		return danglingItem.ReplaceAllString(strings.TrimSpace(cut[:end]), "") + " …"
	}
	if i := strings.LastIndexByte(cut, ' '); i > len(cut)*2/3 {
		cut = strings.TrimRight(cut[:i], " ,;(") + "…"
	}
	return cut
}

// danglingItem is the number of an item of which nothing follows.
var danglingItem = regexp.MustCompile(` \d{1,2}[.)]$`)

// bothEnds returns the beginning and the end of a statement in at most n characters: a report begins with what was done and ends with
// what is left, or what the user is asked.
func bothEnds(s string, n int) string {
	if lex.Runes(s) <= n || n < 4*leastOpening {
		return opening(s, n)
	}
	first := opening(s, n/2)
	last, room := s, n-lex.Runes(first)-3
	if over := len(last) - 8*room; over > 0 { // a paste may be long, and each of its sentences is counted
		last = strings.ToValidUTF8(last[over:], "")
	}
	for lex.Runes(last) > room {
		i := stop(last)
		if i == len(last) { // one long sentence
			runes := []rune(last)
			last = string(runes[len(runes)-room+1:])
			return first + " …" + last[strings.IndexByte(last, ' ')+1:]
		}
		last = strings.TrimSpace(last[i:])
	}
	return strings.TrimRight(first, " …") + " … " + last
}

// leastOpening is the length from which the beginning of a statement tells it from others.
const leastOpening = 48

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
