package console

// A Colour of text on a terminal.
type Colour string

// The colours that commands use; the terminal's own palette says how they look.
const (
	Red    Colour = "31"
	Green  Colour = "32"
	Yellow Colour = "33"
	Cyan   Colour = "36"
	Faint  Colour = "2"
)

// Colourful reports whether results may be coloured: standard output is a terminal that is not dumb, and NO_COLOR
// (no-color.org) is not set.
func (a *App) Colourful() bool {
	return IsTerminal(a.Stdout.Writer) && a.Getenv("NO_COLOR") == "" && a.Getenv("TERM") != "dumb"
}

// Paint puts a text, of which nothing may act on a terminal, in a colour. What writes it must write raw.
func Paint(c Colour, text string) string {
	return "\x1b[" + string(c) + "m" + Printable(text) + "\x1b[0m"
}
