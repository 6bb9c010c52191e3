package ledger

import (
	"fmt"
	"strings"
)

// Shares of a text's characters, in percent. What a section leaves goes to the quoted lines.
const (
	shareAsked    = 8
	shareStanding = 5
	shareChanged  = 45
	shareTasks    = 5
	shareErrors   = 5
	shareCommands = 6
	shareRead     = 3
	shareNames    = 24
	shareProse    = 60

	// widest is how many times their shares sections may take of a text that nothing else fills.
	widest = 8
)

// Render writes a ledger as a text of at most maxChars code points. Prose, where there is any (a
// model's), stands first and takes the place of the quoted lines; it never pushes the ledger out.
func Render(l Ledger, prose string, maxChars int) string {
	return render(l, newWeigher(l, hint{}), prose, maxChars)
}

// Renderer writes one ledger at several lengths, in front of messages that stay verbatim behind it:
// identifiers that they name are left to them (files changed, the user's words, tasks and errors are told
// all the same).
func Renderer(l Ledger, kept []Message) func(maxChars int) string {
	w := newWeigher(l, hintOf(kept))
	return func(maxChars int) string { return render(l, w, "", maxChars) }
}

// render writes the text again with wider shares while a quarter of it stays empty: a thread without files and
// outputs has few lines worth quoting, and what its user said should not make room for none.
func render(l Ledger, w *weigher, prose string, maxChars int) string {
	written := write(l, w, prose, maxChars, 1)
	for wide := 2; wide <= widest && runes(written) < maxChars*3/4; wide *= 2 {
		written = write(l, w, prose, maxChars, wide)
	}
	return written
}

func write(l Ledger, w *weigher, prose string, maxChars, wide int) string {
	t := &text{left: maxChars, max: maxChars, wide: wide, pick: newPicker(w)}
	t.add("", []string{fmt.Sprintf("--- Summarized Context (%s) ---", counted(l.Messages, "item"))}, 0, 100)
	t.prose(prose)
	t.asked(l)
	t.tasks(l)
	t.changed(l)
	t.errors(l)
	t.commands(l)
	t.read(l)
	if prose == "" {
		t.quotes(l)
	}
	t.names(l, w)
	return clip(strings.Join(t.out, "\n"), maxChars)
}

// text is a summary in the making: sections in the order in which they will stand.
type text struct {
	max, left int
	wide      int // how many times its share a section may take
	pick      *picker
	out       []string

	files   outline // the files changed, and where in out they stand
	filesAt int
}

// share is a section's part of the text in characters.
func (t *text) share(percent int) int { return min(t.max, t.max*percent*t.wide/100) }

// add writes a section: the entries that fit into its share, and how many more there are. The first is
// clipped rather than left out. It says how many stand there whole.
func (t *text) add(title string, entries []string, more, share int) (whole int) {
	room := min(t.share(share), t.left-1)
	if title != "" {
		room -= runes(title) + 1
	}
	fit := t.fitting(entries, more, room)
	if len(fit) == 0 {
		return 0
	}
	for whole < len(fit) && fit[whole] == entries[whole] {
		whole++
	}
	block := section(title, fit, more+len(entries)-len(fit))
	t.out = append(t.out, block)
	t.left -= runes(block) + 1
	t.pick.say(block)
	return whole
}

// section is a title and its entries, with what they leave out; a single one stands behind its title.
func section(title string, entries []string, more int) string {
	block := strings.Join(entries, "\n")
	switch {
	case title == "":
	case len(entries) == 1 && !strings.Contains(block, "\n"):
		block = title + " " + strings.TrimPrefix(block, "- ")
	default:
		block = title + "\n" + block
	}
	if more > 0 {
		block += fmt.Sprintf(" (+%d more)", more)
	}
	return block
}

// markRoom is what " (+123 more)" takes.
const markRoom = 12

// shortest is what an entry has at least to show to be worth its line.
const shortest = 30

func (t *text) fitting(entries []string, more, room int) []string {
	var fit []string
	for i, e := range entries {
		free := room
		if more+len(entries)-i > 1 {
			free -= markRoom
		}
		if i == 0 && free >= shortest {
			e = clip(e, free-1)
		}
		cost := runes(e) + 1
		if cost > free {
			break
		}
		fit, room = append(fit, e), room-cost
	}
	return fit
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
