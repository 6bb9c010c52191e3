package ui

import (
	"fmt"
	"html/template"
	"net/url"
	"time"

	"precis/internal/timeline"
)

var funcs = template.FuncMap{
	"ago": ago, "bytes": size, "seg": url.PathEscape, "ranges": ranges, "seconds": seconds,
	"moment": func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.0") },
	"idx":    func(i int) string { return fmt.Sprintf("p%d", i) },
	"sum":    func(a, b uint64) uint64 { return a + b },
	// groups of the overview, and what names one in an address.
	"args": func(name, param string, rows []group) any {
		return struct {
			Name, Param string
			Rows        []group
		}{name, param, rows}
	},
	"tab": func(thread, tab string) any { return struct{ Thread, Tab string }{thread, tab} },
	// values with their texts.
	"list": func(texts ...string) (pairs []struct{ A, B string }) {
		for i := 0; i+1 < len(texts); i += 2 {
			pairs = append(pairs, struct{ A, B string }{texts[i], texts[i+1]})
		}
		return pairs
	},
}

// ago is how long ago a time was.
func ago(t, now time.Time) string {
	if t.IsZero() || t.Unix() <= 0 {
		return "–"
	}
	d := now.Sub(t)
	switch {
	case d < time.Second:
		return "now"
	case d < time.Minute:
		return fmt.Sprintf("%d s ago", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	}
	return timeline.Plural(int(d.Hours()/24), "day", "days") + " ago"
}

// size is a number of bytes.
func size(n uint64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	f, i := float64(n), 0
	for f >= 1024 && i < len(units)-1 {
		f, i = f/1024, i+1
	}
	if i == 0 || f >= 100 {
		return fmt.Sprintf("%.0f %s", f, units[i])
	}
	return fmt.Sprintf("%.1f %s", f, units[i])
}

// compact is a number in few characters.
func compact(f float64) string {
	switch {
	case f >= 1e9:
		return fmt.Sprintf("%.1f G", f/1e9)
	case f >= 1e6:
		return fmt.Sprintf("%.1f M", f/1e6)
	case f >= 1e4:
		return fmt.Sprintf("%.1f k", f/1e3)
	}
	return timeline.Number(int64(f))
}
