package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"
)

// page is a terminal's text, or a file's: wrapped, and coloured only where somebody is looking.
type page struct {
	out   io.Writer
	width int
	color bool
}

// Widths of the text: what is not a terminal gets the first, a wide terminal not more than the second.
const (
	pageWidth    = 90
	maxPageWidth = 100
	minPageWidth = 60
)

func newPage(a *app) *page {
	p := &page{out: a.stdout, width: pageWidth}
	if !isTerminal(a.stdout.Writer) {
		return p
	}
	a.stdout.raw = true // it draws with escapes of its own, around texts that are printable
	p.color = a.getenv("NO_COLOR") == "" && a.getenv("TERM") != "dumb"
	if width, _, err := term.GetSize(int(a.stdout.Writer.(*os.File).Fd())); err == nil {
		p.width = min(max(width, minPageWidth), maxPageWidth)
	}
	return p
}

// ink is how a text is to look: an SGR attribute.
type ink string

const (
	plainInk  ink = ""
	boldInk   ink = "1"
	faintInk  ink = "2"
	redInk    ink = "31"
	greenInk  ink = "32"
	yellowInk ink = "33"
	blueInk   ink = "36"
)

func (p *page) paint(with ink, text string) string {
	if !p.color || with == plainInk || text == "" {
		return text
	}
	return "\x1b[" + string(with) + "m" + text + "\x1b[0m"
}

func (p *page) line(text string) { fmt.Fprintln(p.out, text) }

// heading begins a scene.
func (p *page) heading(text string) { p.line("\n" + p.paint(boldInk, text) + "\n") }

// indent stands before everything but headings.
const indent = "  "

// prose wraps a paragraph.
func (p *page) prose(text string) {
	for _, line := range wrap(text, p.width-len(indent)) {
		p.line(indent + line)
	}
}

// quote shows a text line by line behind a bar.
func (p *page) quote(text string) {
	bar := p.paint(faintInk, "│ ")
	for _, line := range strings.Split(strings.TrimRight(printableLines(text), "\n"), "\n") {
		for _, part := range chunks(strings.ReplaceAll(line, "\t", "  "), p.width-len(indent)-2) {
			p.line(indent + bar + part)
		}
	}
}

// cell is a piece of a row.
type cell struct {
	text string
	with ink
}

// grid is rows whose cells stand below each other; the last of a row is wrapped in its column.
type grid struct{ rows [][]cell }

func (g *grid) row(cells ...cell) { g.rows = append(g.rows, cells) }

func (p *page) grid(g grid) {
	var widths []int
	for _, row := range g.rows {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(c.text))
		}
	}
	for _, row := range g.rows {
		p.row(row, widths)
	}
}

// columnGap stands between two cells.
const columnGap = 2

func (p *page) row(row []cell, widths []int) {
	line, at := indent, len(indent)
	last := len(row) - 1
	for i, c := range row[:last] {
		text := printable(c.text)
		line += p.paint(c.with, text) + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(text)+columnGap)
		at += widths[i] + columnGap
	}
	for i, part := range wrap(printable(row[last].text), p.width-at) {
		if i > 0 {
			line = strings.Repeat(" ", at)
		}
		p.line(line + p.paint(row[last].with, part))
	}
}

// wrap breaks a text at spaces, where it is too long; one that is not keeps its spaces.
func wrap(text string, width int) []string {
	if utf8.RuneCountInString(text) <= width {
		return []string{text}
	}
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}

// chunks breaks a line that is too long, at a space where one is near the end: what is quoted keeps its spaces.
func chunks(line string, width int) []string {
	runes := []rune(line)
	var parts []string
	for len(runes) > width {
		at := width
		for i := width; i > width/2; i-- {
			if runes[i] == ' ' {
				at = i
				break
			}
		}
		parts, runes = append(parts, string(runes[:at])), runes[at:]
	}
	return append(parts, string(runes))
}
