package ledger

import (
	"fmt"
	"strings"
)

// Shares of a text's characters, in percent. What sections don't use goes to the quoted lines.
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

	// widest is the factor by which sections may exceed their shares in a text that nothing else fills.
	widest = 8
)

// Render writes a ledger as a text of at most maxChars code points. Prose, if any (a
// model's), comes first and replaces the quoted lines; it never displaces the ledger.
func Render(l Ledger, prose string, maxChars int) string {
	return render(l, newWeigher(l, hint{}), prose, maxChars)
}

// Renderer writes one ledger at several lengths, for use before messages that stay verbatim:
// it omits identifiers that they name (but not files changed, the user's words, tasks and
// errors).
func Renderer(l Ledger, kept []Message) func(maxChars int) string {
	w := newWeigher(l, hintOf(kept))
	return func(maxChars int) string { return render(l, w, "", maxChars) }
}

// render repeats the text with wider shares while a quarter of it stays empty: a thread without files and
// outputs has few lines worth quoting, and the user's words should use the room.
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

// text is a summary under construction: sections in their final order.
type text struct {
	max, left int
	wide      int // factor by which a section may exceed its share
	pick      *picker
	out       []string

	files   outline // the files changed, and their index in out
	filesAt int
}

// share returns a section's part of the text in characters.
func (t *text) share(percent int) int { return min(t.max, t.max*percent*t.wide/100) }

// add writes a section: the entries that fit into its share, and how many more there are. It
// clips the first entry rather than omit it. It returns how many are complete.
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

// section formats a title, its entries and the number omitted; a single entry follows its title on the same line.
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

// markRoom is the length of " (+123 more)".
const markRoom = 12

// shortest is the minimum length of a clipped entry.
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
