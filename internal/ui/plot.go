package ui

import (
	"fmt"
	"html"
	"html/template"
	"strings"

	"precis/internal/timeline"
)

// Plot is a series over time, as bars; the second value of a point stands in front of the first.
type Plot struct {
	ID, Title, Note string
	Names           []string // of the values
	Points          []Point
	Show            func(float64) string // a value with its unit
	Empty           string               // said where all values are 0
	Column          string               // what the points are; empty: hours
}

// Point is a span of time.
type Point struct {
	Label  string
	Values []float64
}

const plotWidth, plotHeight = 480, 96

func (p Plot) most() (most float64, at string) {
	for _, pt := range p.Points {
		for _, v := range pt.Values {
			if v > most {
				most, at = v, pt.Label
			}
		}
	}
	return most, at
}

// HasAny reports whether there is anything to see.
func (p Plot) HasAny() bool { most, _ := p.most(); return most > 0 }

// Most is the largest value.
func (p Plot) Most() string { most, _ := p.most(); return p.Show(most) }

// First and Last are the ends of the time.
func (p Plot) First() string { return p.Points[0].Label }

// Last is the end of the time.
func (p Plot) Last() string { return p.Points[len(p.Points)-1].Label }

// Each are the points' names where each has room for its own below its bar; hours are named at the ends alone.
func (p Plot) Each() (names []string) {
	if p.Column == "" || len(p.Points) > 6 {
		return nil
	}
	for _, pt := range p.Points {
		names = append(names, pt.Label)
	}
	return names
}

// Text is a value with its unit.
func (p Plot) Text(v float64) string { return p.Show(v) }

// SVG draws the bars. Its texts are for those who can't see them; what is beside it has the numbers.
func (p Plot) SVG() template.HTML {
	most, at := p.most()
	var b strings.Builder
	label := fmt.Sprintf("%s, from %s to %s; the most is %s, at %s", p.Title, p.First(), p.Last(), p.Show(most), at)
	fmt.Fprintf(&b, `<svg class="plot" viewBox="0 0 %d %d" preserveAspectRatio="none" role="img" aria-label="%s">`, plotWidth, plotHeight, html.EscapeString(label))
	for _, y := range []float64{0.5, plotHeight / 2, plotHeight - 0.5} {
		fmt.Fprintf(&b, `<line class="grid" x1="0" x2="%d" y1="%g" y2="%g"/>`, plotWidth, y, y)
	}
	step := float64(plotWidth) / float64(len(p.Points))
	for i, pt := range p.Points {
		var texts []string
		for j, v := range pt.Values {
			texts = append(texts, p.Names[j]+" "+p.Show(v))
		}
		fmt.Fprintf(&b, `<g><title>%s: %s</title><rect class="hit" x="%.1f" y="0" width="%.1f" height="%d"/>`, html.EscapeString(pt.Label), html.EscapeString(strings.Join(texts, ", ")), float64(i)*step, step, plotHeight)
		for j, v := range pt.Values {
			if v <= 0 {
				continue
			}
			h := max(1.5, v/most*(plotHeight-2))
			fmt.Fprintf(&b, `<rect class="bar b%d" x="%.1f" y="%.1f" width="%.1f" height="%.1f"/>`, j, float64(i)*step+step*0.12, plotHeight-h, step*0.76, h)
		}
		b.WriteString("</g>")
	}
	b.WriteString("</svg>")
	return template.HTML(b.String()) //nolint:gosec // numbers, and texts that are escaped
}

// share draws parts of a whole as one bar.
func share(label string, parts []part) template.HTML {
	total := 0
	for _, p := range parts {
		total += p.Tokens
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="share" viewBox="0 0 %d 14" preserveAspectRatio="none" role="img" aria-label="%s">`, plotWidth, html.EscapeString(label))
	x := 0.0
	for i, p := range parts {
		if p.Tokens == 0 || total == 0 {
			continue
		}
		w := float64(p.Tokens) / float64(total) * plotWidth
		fmt.Fprintf(&b, `<rect class="p%d" x="%.1f" y="0" width="%.1f" height="14"><title>%s: %s tokens</title></rect>`, i, x, max(w-1, 0.5), html.EscapeString(p.Name), timeline.Number(p.Tokens))
		x += w
	}
	b.WriteString("</svg>")
	return template.HTML(b.String()) //nolint:gosec // numbers, and texts that are escaped
}

// part of a prompt.
type part struct {
	Name   string
	What   string
	Tokens int
}
