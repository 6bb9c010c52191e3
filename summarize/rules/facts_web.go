package rules

import (
	"regexp"
	"strings"
)

func (f *facts) web(args arguments, doc *document) {
	if url := args.url(); url != "" {
		f.add("URL", clip(oneLine(url), maxPath))
		f.note("url", url)
	}
	if query := args.text("query", "q", "search_query", "search_term"); query != "" {
		f.add("Query", `"`+clip(oneLine(query), maxPattern)+`"`)
		f.note("query", query)
	}
	if len(f.key) == 0 {
		f.asked(args)
	}
	doc.snapshot()
	title, headings, links := doc.page()
	if title != "" {
		f.add("Title", quoted(title, maxPattern))
		f.note("title", title)
	}
	if links > 0 {
		f.add("Links", itoa(links))
	}
	f.note("headings", headings)
	f.note("links", links)
	f.add("Lines", itoa(doc.total))
	f.note("lines", doc.total)
}

// searchFailed returns the line by which a search says that it found no pages: what follows is from the model's memory.
func (d *document) searchFailed() int {
	const first = 6
	for i := range d.lines[:min(len(d.lines), first)] {
		if webError.MatchString(d.lines[i].text) {
			return i
		}
	}
	return none
}

var webError = regexp.MustCompile(`^(?i:web ?search|search|fetch|request) (?:error|failed): ?\S`)

// snapshot finds the page's title in a browser driver's output.
func (d *document) snapshot() {
	for _, l := range d.lines[:min(len(d.lines), sampled)] {
		if title, ok := strings.CutPrefix(l.text, "- Page Title: "); ok && d.title == "" {
			d.title = title
		}
		if e, ok := elementIn(l.text); ok && d.shape == shapeSnapshot && e.role == "RootWebArea" && d.title == "" {
			d.title = e.name // what a browser calls the page, beside its tabs
		}
	}
}

// page finds a page's title (its first heading) and counts its headings and links.
func (d *document) page() (title string, headings, links int) {
	for i := range d.lines {
		l := &d.lines[i]
		if strings.HasPrefix(l.text, "#") {
			if text := strings.TrimSpace(strings.TrimLeft(l.text, "#")); text != "" && len(l.text)-len(text) < 9 {
				headings++
				if title == "" {
					title = text
				}
			}
		}
		if d.shape == shapeSnapshot {
			if e, ok := elementIn(l.text); ok && l.starts && e.role == "link" {
				links += 1 + l.repeat
			}
		} else if strings.Contains(l.text, "://") {
			links += strings.Count(l.text, "http://") + strings.Count(l.text, "https://")
		}
	}
	if d.title != "" {
		title = d.title
	}
	return title, headings, links
}
