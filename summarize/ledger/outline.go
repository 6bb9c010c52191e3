package ledger

import "strings"

// outline lists the changed files by directory, with the quotes from each file under its name, which
// has to be there anyway.
type outline struct {
	root  string
	dirs  []directory
	short bool // names only
	more  int  // directories that don't fit
	under map[string][]string
}

type directory struct {
	name  string
	files []File
}

// newOutline groups files by the directory below their common root, in the order of its first file.
func newOutline(files []File) outline {
	o := outline{root: commonRoot(files), under: map[string][]string{}}
	at := map[string]int{}
	for _, f := range files {
		dir := strings.TrimPrefix(f.Path[:len(f.Path)-len(base(f.Path))], o.root)
		i, ok := at[dir]
		if !ok {
			i = len(o.dirs)
			at[dir] = i
			o.dirs = append(o.dirs, directory{name: dir})
		}
		o.dirs[i].files = append(o.dirs[i].files, f)
	}
	return o
}

func (o outline) title() string {
	if o.root == "" {
		return "Files changed:"
	}
	return "Files changed in " + o.root + ":"
}

// once returns the names that only one file of the list has: quotes can stand with such a file.
func (o outline) once() map[string]bool {
	names := map[string]bool{}
	for _, d := range o.dirs {
		for _, f := range d.files {
			name := placeOf(f.Path)
			_, again := names[name]
			names[name] = !again
		}
	}
	return names
}

func (o outline) lines() []string {
	lines := make([]string, 0, len(o.dirs))
	for _, d := range o.dirs {
		lines = append(lines, o.line(d))
	}
	return lines
}

// line is a directory's line; a file with quotes has its own line below it.
func (o outline) line(d directory) string {
	var plain, quoted []string
	for _, f := range d.files {
		if q := o.under[placeOf(f.Path)]; len(q) > 0 {
			quoted = append(quoted, o.name(f)+": "+strings.Join(q, parted))
			continue
		}
		plain = append(plain, o.name(f))
	}
	line := strings.Join(plain, ", ")
	if d.name != "" {
		line = strings.TrimSpace(d.name + " " + line)
	}
	if line == "" && len(quoted) > 0 {
		line, quoted = quoted[0], quoted[1:]
	}
	return "- " + strings.Join(append([]string{line}, quoted...), "\n  ")
}

func (o outline) name(f File) string {
	if o.short {
		return base(f.Path)
	}
	return f.brief()
}
