package console

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf8"

	"precis/internal/figure"
)

// Printable makes a text safe for one line of a terminal: control characters become spaces, or their
// escape where they could do more than move on. Bidirectional overrides count as control characters: they
// can make a line read as another.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\r' || r == '\t':
			return ' '
		case isControl(r):
			return unicode.ReplacementChar
		default:
			return r
		}
	}, text)
}

// PrintableLines is printable for a text of several lines.
func PrintableLines(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && isControl(r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// isControl says whether a character acts on a terminal or on the direction of a text.
func isControl(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
}

// inert escapes what could act on a terminal as JSON does, `\u009b`: in JSON, where such a character only stands in
// strings, the value stays the same. Line ends and tabs stay, and what is not UTF-8 becomes U+FFFD. The tail is the
// beginning of a character, or a carriage return, that what follows decides on.
func inert(text []byte) (safe, tail []byte) {
	safe = make([]byte, 0, len(text))
	for len(text) > 0 {
		if !utf8.FullRune(text) || len(text) == 1 && text[0] == '\r' {
			return safe, bytes.Clone(text)
		}
		r, n := utf8.DecodeRune(text)
		switch {
		case r == '\n' || r == '\t' || r == '\r' && text[1] == '\n':
			safe = append(safe, text[:n]...)
		case isControl(r):
			safe = fmt.Appendf(safe, `\u%04x`, r)
		default:
			safe = utf8.AppendRune(safe, r)
		}
		text = text[n:]
	}
	return safe, nil
}

// Clip cuts a text to n characters, visibly.
func Clip(text string, n int) string {
	runes := []rune(text)
	if len(runes) <= n {
		return text
	}
	return string(runes[:n-1]) + "…"
}

// Counted is a number with its noun, in the singular or the plural.
func Counted[N int | int64 | uint64](n N, noun string) string { return figure.Counted(n, noun) }

// List joins what a count of things comes to; those of zero are left out, and nothing at all is "none".
func List(counts ...string) string {
	counts = slices.DeleteFunc(counts, func(text string) bool { return strings.HasPrefix(text, "0 ") })
	if len(counts) == 0 {
		return "none"
	}
	return strings.Join(counts, ", ")
}

// Grouped writes a number with its thousands apart: 12,345.
func Grouped[N int | int64 | uint64](n N) string { return figure.Grouped(n) }

// Number writes what a trigger counted or measured: never as 1e+06, which would be a threshold and what passed it alike.
func Number(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// Measured is a number for people: its thousands are apart, and a fraction of a window has six places at most.
func Measured(n float64) string {
	whole, fraction, broken := strings.Cut(Number(math.Round(n*1e6)/1e6), ".")
	if large, err := strconv.ParseInt(whole, 10, 64); err == nil && (large >= 1000 || large <= -1000) {
		whole = Grouped(large)
	}
	if broken {
		whole += "." + fraction
	}
	return whole
}

// Change writes what became of a number of units: 4,120 → 310 tokens (-92 %).
func Change(before, after int64, unit string) string {
	if unit != "" {
		unit = " " + unit
	}
	if before == after {
		return Grouped(before) + unit + ", unchanged"
	}
	text := Grouped(before) + " → " + Grouped(after) + unit
	if before <= 0 {
		return text
	}
	return text + " (" + Percentage(after-before, before) + ")"
}

// Dollars writes micro-dollars; nil is unknown.
func Dollars(micro *int64) string {
	if micro == nil {
		return "unknown"
	}
	if *micro == 0 {
		return "$0"
	}
	return fmt.Sprintf("$%d.%06d", *micro/1_000_000, *micro%1_000_000)
}

// Table is aligned lines of a name and a value.
type Table struct {
	Rows [][2]string
}

// Add appends a line.
func (t *Table) Add(name, value string) { t.Rows = append(t.Rows, [2]string{name, value}) }

// AddIf appends a line where there is a value.
func (t *Table) AddIf(name string, value *string) {
	if value != nil && *value != "" {
		t.Add(name, Printable(*value))
	}
}

// String is the lines with their values below each other.
func (t *Table) String() string {
	width := 0
	for _, row := range t.Rows {
		width = max(width, len(row[0]))
	}
	var b strings.Builder
	for _, row := range t.Rows {
		fmt.Fprintf(&b, "%-*s  %s\n", width, row[0], row[1])
	}
	return b.String()
}

// Differing cuts two texts to n characters around the first one in which they differ, and makes them printable.
func Differing(a, b string, n int) (string, string) {
	x, y := []rune(Printable(a)), []rune(Printable(b))
	same := 0
	for same < min(len(x), len(y)) && x[same] == y[same] {
		same++
	}
	return around(x, same, n), around(y, same, n)
}

// around cuts a text to n characters, a quarter of them in front of at.
func around(text []rune, at, n int) string {
	if len(text) <= n {
		return string(text)
	}
	from := max(0, min(at-n/4, len(text)-n))
	cut := string(text[from : from+n])
	if from > 0 {
		cut = "…" + cut
	}
	if from+n < len(text) {
		cut += "…"
	}
	return cut
}

// Time writes a time as every command does: UTC, to the second, in a form that --from and --to take.
func Time(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }

// Exact is Time to the millisecond.
func Exact(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.000Z") }

// Age writes how long something has been, in its largest unit: 3 d, 5 h, 12 min, 40 s.
func Age(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return Grouped(int64(d/(24*time.Hour))) + " d"
	case d >= 2*time.Hour:
		return Grouped(int64(d/time.Hour)) + " h"
	case d >= 2*time.Minute:
		return Grouped(int64(d/time.Minute)) + " min"
	default:
		return Grouped(int64(max(d, 0)/time.Second)) + " s"
	}
}

// ParseTime reads what Time and Exact write, RFC 3339, either without its zone (UTC), or a day, which is its first moment.
func ParseTime(text string) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05", time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// Cents writes micro-dollars to a hundredth of a cent: a table of amounts is to be compared. nil is unknown.
func Cents(micro *int64) string {
	if micro == nil {
		return "unknown"
	}
	sign, n := "", *micro
	if n < 0 {
		sign, n = "-", -n
	}
	n = (n + 50) / 100
	if n == 0 {
		sign = ""
	}
	return fmt.Sprintf("%s$%s.%04d", sign, Grouped(n/10_000), n%10_000)
}

// Percentage writes a change in relation to what it is a change of; empty where that is nothing.
func Percentage(change, of int64) string {
	if of <= 0 {
		return ""
	}
	text := fmt.Sprintf("%+.0f %%", 100*float64(change)/float64(of))
	if text == "+0 %" || text == "-0 %" { // nothing has the sign of a change
		return "0 %"
	}
	return text
}

// Share writes a part of a whole.
func Share(part, of int64) string {
	if of <= 0 {
		return "none"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(part)/float64(of))
}

// Left and Right put a text into a column of lines that are printed as they come, so that no table can know its widest cell.
func Left(text string, width int) string  { return fmt.Sprintf("%-*s", width, text) }
func Right(text string, width int) string { return fmt.Sprintf("%*s", width, text) }

// NewColumns is a table whose cells are separated by tabs; Flush writes it.
func NewColumns(out io.Writer) *tabwriter.Writer { return tabwriter.NewWriter(out, 0, 0, 2, ' ', 0) }

// Columns is NewColumns on standard output.
func (a *App) Columns() *tabwriter.Writer { return NewColumns(a.Stdout) }

// NumberColumns is Columns with cells aligned at their right; the last cell of a row, a text, begins with a space.
func (a *App) NumberColumns() *tabwriter.Writer {
	return tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
}
