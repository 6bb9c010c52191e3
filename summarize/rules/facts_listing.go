package rules

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

func (f *facts) listing(args arguments, doc *document) {
	if pattern := args.pattern(); pattern != "" {
		f.add("Pattern", `"`+clip(oneLine(pattern), maxPattern)+`"`)
		f.note("pattern", pattern)
	}
	if path := args.path(); path != "" {
		f.add("Path", clipLeft(oneLine(path), maxPath))
		f.note("path", path)
	} else if args.pattern() == "" {
		f.asked(args)
	}
	kinds, entries := doc.kinds()
	f.add("Entries", doc.atLeast(entries))
	if strings.Contains(kinds, ", ") { // the pattern says what all of them are
		f.add("Kinds", kinds)
	}
	f.note("entries", entries)
	if entries == 0 {
		f.nothing()
	}
}

// treeTotal is tree's last line, "16 directories, 11 files".
var treeTotal = regexp.MustCompile(`^\d+ director(?:y|ies)(?:, \d+ files?)?$`)

// kinds counts a listing's entries by extension: "12 .go, 3 .md, 2 directories".
func (d *document) kinds() (text string, entries int) {
	count := map[string]int{}
	for i := range d.lines {
		l := &d.lines[i]
		if l.text == "" || !l.starts || foundNothing(l.text) || isDigit(l.text[0]) && treeTotal.MatchString(l.text) {
			continue
		}
		entries++
		if kind := entryKind(l.text); kind != "" {
			count[kind]++
		}
	}
	kinds := slices.SortedFunc(maps.Keys(count), func(a, b string) int {
		return cmp.Or(count[b]-count[a], strings.Compare(a, b))
	})
	for i, k := range kinds {
		kinds[i] = itoa(count[k]) + " " + k
	}
	return strings.Join(kinds[:min(4, len(kinds))], ", "), entries
}

// entryKind returns the extension of a listing's entry, or that it is a directory; empty if unknown.
func entryKind(entry string) string {
	name := entry[strings.LastIndexFunc(entry, unicode.IsSpace)+1:]
	if strings.HasSuffix(name, "/") || entry[0] == 'd' && len(strings.Fields(entry)) > 6 {
		return "directories"
	}
	base := name[strings.LastIndexByte(name, '/')+1:]
	if dot := strings.LastIndexByte(base, '.'); dot > 0 && len(base)-dot <= 8 && strings.ContainsFunc(base[dot:], unicode.IsLetter) {
		return base[dot:]
	}
	return ""
}
