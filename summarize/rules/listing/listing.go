package listing

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"precis/summarize/lex"
	"precis/summarize/rules/logs"
)

// A listing is shown by directory: `src/api/: client.go server.go (+12)`. Every path can be put together again.

// folder is a directory of a listing and the names in it.
type folder struct {
	path  string
	names []string
	size  int     // of its line with all names, in characters
	worth float64 // of its names: those that many directories have are worth less
}

var (
	longEntry  = regexp.MustCompile(`^[-dlbcps][rwxsStT-]{9}\S*\s+\d+\s+\S+\s+\S+\s+\S+\s+\w+\s+\w+\s+\S+\s(.+)$`)
	treeEntry  = regexp.MustCompile(`^((?:[│ ]   |\|   |[│|]  )*)[├└|` + "`" + `][─-]+ (.+)$|^((?:  )*)- (\S.*)$`)
	plainEntry = regexp.MustCompile(`^[\w./@+~,()\[\]$=%#\\-]+(?: [\w.()-]+){0,2}$`)
	NoEntry    = regexp.MustCompile(`^(?:total \d+|\d+ director.*|\(Results are.*|Found \d+.*|NOTE:.*|There are more than.*|</?\w+>|- (?:/\S+/|[A-Z]:\\.*\\)|\s*Directory(?: of|:) [A-Z]:\\.*|Mode +LastWriteTime +Length Name\s*|---- +-------------.*|\s*\d+ (?:File|Dir)\(s\).*|\s?Volume (?:in drive|Serial Number).*)$`)
	// Windows names the directory above its entries, each with its mode, or else with its time in front.
	inDirectory = regexp.MustCompile(`^\s*Directory(?: of|:) ([A-Z]:\\.*)$`)
	windowsName = regexp.MustCompile(`^(?:([dl])?[-darhsl]{5,6} +\S+ +\d+:\d+(?: [AP]M)? +(?:\d+ )?|\d\d[/.-]\d\d[/.-]\d{2,4} +\d+:\d+(?: [AP]M)? +(?:(<DIR>)|[\d,.]+) +)(\S.*)$`)
)

// longestEntry bounds a line of a listing, in bytes, and mostEntries its entries.
const longestEntry, mostEntries = 250, 30000

// Paths reads the entries of a listing: paths, `ls -R`, `ls -l` or a tree. ok is false where too many lines are none.
func Paths(text string) (paths []string, ok bool) {
	at, others := "", 0
	var above []string // of a tree
	least := -1
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimRight(line, " \r\t")
		if len(line) > longestEntry {
			others++
			continue
		}
		if m := inDirectory.FindStringSubmatch(line); m != nil {
			at = strings.ReplaceAll(m[1], `\`, "/")
			continue
		}
		if strings.TrimSpace(line) == "" || NoEntry.MatchString(line) {
			continue
		}
		if m := windowsName.FindStringSubmatch(line); m != nil {
			if name := m[3]; m[1]+m[2] != "" && name != "." && name != ".." {
				paths = append(paths, joinPath(at, name)+"/")
			} else if m[1]+m[2] == "" {
				paths = append(paths, joinPath(at, name))
			}
			continue
		}
		if len(paths) >= mostEntries {
			break
		}
		m := treeEntry.FindStringSubmatch(line)
		switch long := longEntry.FindStringSubmatch(line); {
		case long != nil:
			name, _, _ := strings.Cut(long[1], " -> ")
			if name != "." && name != ".." {
				paths = append(paths, joinPath(at, name))
			}
		case strings.HasSuffix(line, ":") && !strings.Contains(line, " "):
			at = strings.TrimSuffix(line, ":")
		case m != nil:
			depth, name := lex.Runes(m[1])/4, m[2]
			if name == "" {
				depth, name = len(m[3])/2, m[4]
			}
			name, _, _ = strings.Cut(name, " -> ")
			if least < 0 || depth < least {
				least = depth
			}
			above = append(above[:min(depth-least, len(above))], strings.TrimRight(name, "/\\"))
			if p := strings.Join(above, "/"); strings.HasSuffix(name, "/") {
				paths = append(paths, p+"/")
			} else {
				paths = append(paths, p)
			}
		case plainEntry.MatchString(strings.TrimSpace(line)):
			name := strings.TrimPrefix(strings.TrimSpace(line), "./")
			if strings.Contains(strings.TrimRight(name, "/"), "/") {
				paths = append(paths, name)
			} else {
				paths = append(paths, joinPath(at, name))
			}
		default:
			others++
		}
	}
	const few = 6
	return paths, len(paths) >= few && others*10 <= len(paths)
}

func joinPath(dir, name string) string {
	if dir = strings.TrimPrefix(strings.TrimPrefix(dir, "./"), "."); dir == "" {
		return name
	}
	return strings.TrimSuffix(dir, "/") + "/" + name
}

// foldersOf groups paths by directory, in the order in which they come. A directory that has entries is no entry itself.
func foldersOf(paths []string) []*folder {
	var list []*folder
	by := map[string]*folder{}
	seen := map[string]bool{}
	parents := map[string]bool{}
	for _, p := range paths {
		p = strings.TrimRight(p, "/")
		if i := strings.LastIndexByte(p, '/'); i > 0 {
			parents[p[:i]] = true
		}
	}
	for _, p := range paths {
		name := strings.TrimRight(p, "/")
		if seen[name] || name == "" || parents[name] && strings.Contains(name, "/") {
			continue
		}
		seen[name] = true
		dir := name[:strings.LastIndexByte(name, '/')+1]
		f := by[dir]
		if f == nil {
			f = &folder{path: dir, size: lex.Runes(dir) + 2}
			by[dir] = f
			list = append(list, f)
		}
		base := p[len(dir):]
		f.names = append(f.names, base)
		f.size += lex.Runes(base) + 1
	}
	return list
}

// sharedRoot returns the directory that all folders are in, if its name is worth saying once.
func sharedRoot(list []*folder) string {
	root := list[0].path
	for _, f := range list {
		root = root[:logs.CommonLen(root, f.path)]
	}
	root = root[:strings.LastIndexByte(root, '/')+1]
	if len(list) < 2 || len(root) < 3 {
		return ""
	}
	return root
}

// Tree writes a listing by directory in at most room characters: the directories that name most for their room whole,
// of the others what fits, and how many names are missing.
func Tree(paths []string, room int) string {
	list := foldersOf(paths)
	if len(list) == 0 {
		return ""
	}
	root := sharedRoot(list)
	for _, f := range list {
		f.size -= lex.Runes(root)
	}
	weighNames(list)
	order := slices.Clone(list)
	slices.SortStableFunc(order, func(a, b *folder) int {
		return cmp.Compare(b.worth/float64(b.size), a.worth/float64(a.size))
	})
	// The room for notes is known when the names are chosen: the most names whose notes fit too.
	const step = 4
	for spare := 0; ; spare += step {
		shown := namesFor(order, root, room-spare)
		text := writeTree(list, root, shown)
		if lex.Runes(text) <= room || spare > room {
			return lex.Clip(withHidden(text, list, root, shown, room), room)
		}
	}
}

// namesFor returns how many names of each directory fit room, without what is said of the others.
func namesFor(order []*folder, root string, room int) map[*folder]int {
	shown := map[*folder]int{}
	if root != "" {
		room -= lex.Runes(root) + 1
	}
	for _, f := range order {
		if f.size < room {
			shown[f] = len(f.names)
			room -= f.size + 1
			continue
		}
		left := room - lex.Runes(f.path) + lex.Runes(root) - 2
		n := 0
		for n < len(f.names) && lex.Runes(f.names[n])+1 <= left {
			left -= lex.Runes(f.names[n]) + 1
			n++
		}
		if n > 0 {
			shown[f], room = n, left
		}
	}
	return shown
}

// writeTree writes directories with the first names of each, in the order of the listing.
func writeTree(list []*folder, root string, shown map[*folder]int) string {
	var b strings.Builder
	b.WriteString(root)
	missing, hidden := 0, 0
	for _, f := range list {
		n := shown[f]
		if n == 0 {
			hidden++
			missing += len(f.names)
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		if dir := strings.TrimPrefix(f.path, root); dir != "" {
			b.WriteString(dir)
			if len(f.names) > 1 {
				b.WriteString(": ")
			}
		}
		if len(list) == 1 {
			inRows(&b, f.names[:n])
		} else {
			b.WriteString(strings.Join(f.names[:n], " "))
		}
		if more := len(f.names) - n; more > 0 {
			b.WriteString(" (+" + strconv.Itoa(more) + ")")
		}
	}
	if hidden > 0 {
		b.WriteString(hiddenNote(missing, hidden))
	}
	return b.String()
}

// withHidden names the directories of which nothing is shown, as far as there is room.
func withHidden(text string, list []*folder, root string, shown map[*folder]int, room int) string {
	between := ": "
	for _, f := range list {
		dir := strings.TrimPrefix(f.path, root)
		if shown[f] > 0 || dir == "" || lex.Runes(text)+lex.Runes(between)+lex.Runes(dir) > room {
			continue
		}
		text += between + dir
		between = " "
	}
	return text
}

// hiddenNote says how many names of how many directories are not shown.
func hiddenNote(names, folders int) string {
	where := " in 1 more directory"
	if folders > 1 {
		where = " in " + strconv.Itoa(folders) + " more directories"
	}
	return "\nand " + lex.Counted(names, "name") + where
}

// weighNames sets what naming the entries of each directory is worth.
func weighNames(list []*folder) {
	const path = 0.15 // what a name that is known from another directory is worth for its path
	count := map[string]int{}
	for _, f := range list {
		for _, name := range f.names {
			count[name]++
		}
	}
	for _, f := range list {
		for _, name := range f.names {
			f.worth += path + (1-path)/float64(count[name])
		}
	}
}

// inRows writes names in lines that are not too wide.
func inRows(b *strings.Builder, names []string) {
	width := 0
	for i, name := range names {
		if i > 0 {
			if width += len(name) + 1; width > rowWidth {
				b.WriteByte('\n')
				width = 0
			} else {
				b.WriteByte(' ')
			}
		}
		b.WriteString(name)
	}
}

// rowWidth is the maximum width of a row of names of a listing, in bytes.
const rowWidth = 72
