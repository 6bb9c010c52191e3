package rules

import (
	"fmt"
	"math/rand"
	"regexp"
	"strings"
	"testing"

	"precis/summarize/rules/call"
)

// generatedDocument returns a document whose sentences name their section, `in_s3`, and some of whose paragraphs go on over several lines.
func generatedDocument(r *rand.Rand) string {
	var b strings.Builder
	b.WriteString("# The store\n\nIt keeps segments, and says in_s0 where each of them is. A second sentence in_s0 goes on.\n\n")
	for n := 1; n < 30; n++ {
		fmt.Fprintf(&b, "%s Part s%d\n\n", strings.Repeat("#", 2+r.Intn(2)), n)
		for range 1 + r.Intn(4) {
			sentence := fmt.Sprintf("Call `open%d()` in_s%d before you must write to /var/lib/store%d, e.g. Here too. ", r.Intn(99), n, r.Intn(99))
			switch r.Intn(4) {
			case 0:
				fmt.Fprintf(&b, "- %s\n", strings.TrimSpace(sentence))
			case 1:
				fmt.Fprintf(&b, "```sh\n# Comment in_s%d\nmake in_s%d TARGET=t%d\n```\n", n, n, r.Intn(99))
			default:
				text := strings.TrimSpace(strings.Repeat(sentence, 1+r.Intn(3)))
				if r.Intn(2) == 0 { // at the edge of a page
					for i, at := 0, 0; i < len(text); i++ {
						if at++; at > 70 && text[i] == ' ' {
							text, at = text[:i]+"\n"+text[i+1:], 0
						}
					}
				}
				b.WriteString(text + "\n\n")
			}
		}
	}
	return b.String()
}

// TestDigest: a document has its title and beginning, sentences and names stand below or behind the heading of their section, and gaps count the
// headings that have no room. It is the same document for a reader of files and in a shell.
func TestDigest(t *testing.T) {
	section, entryHead := regexp.MustCompile(`\bin_s(\d+)`), regexp.MustCompile(`^\d+ Part s(\d+)`)
	calls := []Input{
		{ToolName: "Read", Arguments: []byte(`{"file_path":"/a/store.md"}`)},
		{ToolName: "Bash", Arguments: []byte(`{"command":"cat store.md"}`)},
	}
	for seed := range int64(40) {
		r := rand.New(rand.NewSource(seed))
		in := calls[seed%2]
		in.Content, in.MaxChars = generatedDocument(r), 500+r.Intn(1500)
		text := ToolOutput(in).Text
		under, shown, hidden, named := "0", 0, 0, 0
		for _, line := range strings.Split(text, "\n") {
			if _, name, ok := strings.Cut(line, "# Part s"); ok {
				under = name
				shown++
			}
			for _, entry := range strings.Split(line, " · ") {
				n := 0
				if m := entryHead.FindStringSubmatch(entry); m != nil {
					under = m[1]
					shown++
				} else if _, err := fmt.Sscanf(entry, "+%d", &n); err == nil {
					hidden += n
				}
				for _, m := range section.FindAllStringSubmatch(entry, -1) {
					if m[1] != under {
						t.Errorf("seed %d: %q stands below %s in\n%s", seed, entry, under, text)
					}
				}
				names := strings.Count(entry, ", ")
				if entryHead.MatchString(entry) || strings.HasPrefix(entry, "… ") {
					named += names + strings.Count(entry, ": ")
				}
				if names >= mostNamed {
					t.Errorf("seed %d: %q", seed, line)
				}
			}
		}
		if shown+hidden != 29 || named == 0 && hidden > 9 || !strings.Contains(text, "# The store\n") || !strings.Contains(text, "It keeps segments") {
			t.Errorf("seed %d: %d headings shown, %d hidden:\n%s", seed, shown, hidden, text)
		}
	}
}

// TestIsDocument: code with comments, logs and listings are no documents.
func TestIsDocument(t *testing.T) {
	for text, want := range map[string]bool{
		"# Store\n\nIt keeps segments in a directory, one each.\n\n## Use\n\n- Open it first, then write.\n":         true,
		"# Build the store\nset -e\ncd store\nmake\n# Install it\nmake install\nls /usr/local/bin\n":                 false,
		"TAP version 13\n# Subtest: store\nok 1 - opens\nok 2 - closes\n# pass 2\n# fail 0\n":                        false,
		"2026-01-01 INFO opened the store in 3 ms, no errors.\n2026-01-01 INFO closed the store again, no errors.\n": false,
	} {
		if isDocument(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}

// TestSentenceEnd: sentences end at their last sign, and not behind an abbreviation or within a command.
func TestSentenceEnd(t *testing.T) {
	for text, want := range map[string]int{
		"Open it. Then write.": 8, "See e.g. The store.": 19, "Run a.go first": -1, "**Bold.** Next": 9, "x --repo \".\" --pr 1": -1, "開く。次": len("開く。"), "開く？次": len("開く？"), "開く！次": len("開く！"), "Is it v1.2? No.": 11,
	} {
		if got := sentenceEnd(text, 0); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

// TestTellingHeadings: of more headings than fit, those of severity and outcome stand, with what is said below them.
func TestTellingHeadings(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Review of the store\n\nThe change moves segments into a directory of their own.\n")
	for i := range 60 {
		name := fmt.Sprintf("[SUGGESTION] Rename `readSegment%d`", i)
		switch i {
		case 40:
			name = "[CRITICAL] The lock is taken after the write"
		case 50:
			name = "Open questions"
		}
		fmt.Fprintf(&b, "\n### %s\n\nWhat is said of part %d stands in `segment%d.go` and needs no more.\n", name, i, i)
	}
	text := ToolOutput(Input{ToolName: "Read", Arguments: []byte(`{"file_path":"/a/review.md"}`), Content: b.String(), MaxChars: 800}).Text
	for _, want := range []string{"### [CRITICAL] The lock is taken after the write\n", "said of part 40", "### Open questions\n", "said of part 50"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

// TestWidestUnit: a sentence, a row and a line of an example have at most the length that they are given.
func TestWidestUnit(t *testing.T) {
	said := strings.Repeat("open the store before you write to it, ", 9) + "then close it."
	d := newDocument("# The store\n\n"+said+"\n\n| "+said+" |\n\n```sh\n"+said+"\n```\n", FileContent, call.ParseArguments([]byte(`{"file_path":"/a/store.md"}`)))
	units := d.units(100)
	for _, u := range units {
		if u.line != u.last || u.end-u.start > 100 {
			t.Errorf("%d characters: %+v", u.end-u.start, u)
		}
	}
	if len(units) < 5 {
		t.Errorf("%d units", len(units))
	}
}

// TestHeadingsInLists: a heading in bold that an item of a list has ends with the item; names that come behind it stand under their line, and not
// behind its name. Headings that are only counted are called so.
func TestHeadingsInLists(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Mooring guide\n\nIt says how vessels are moored, and what the harbour master must know of them.\n\n## Quick start\n\n1. **Read the plan** and ask what is unclear about it before anything else is done.\n\n")
	for _, name := range []string{"Option A", "Option B", "Option C"} {
		fmt.Fprintf(&b, "   **%s: moor at the quay**\n   - Requires the consent of the master, which is to be asked for in every case.\n   - Ropes are laid out `early_ropes_%s` as the weather has it, and taken in again.\n\n", name, strings.ToLower(name[7:]))
	}
	b.WriteString("2. Make the list of berths, and name who looks after each of them in the season.\n")
	for _, name := range []string{"BerthCreate", "BerthUpdate", "assign_berths_now"} {
		b.WriteString("   - The office has it at hand, and whoever comes there in the morning, when the tide is out and the gate is closed, may ask for it and gets it at once, without a fee and without a letter, as was said, by `" + name + "`\n")
	}
	b.WriteString("\n")
	for n := range 40 {
		fmt.Fprintf(&b, "Paragraph %d says at length what everybody knows of tides, of winds and of the sea in general.\n\n", n)
	}
	for n := range 20 {
		fmt.Fprintf(&b, "### Season %d\n\nIn it the tide is watched by those who always have watched it, and it is said so.\n\n", n)
	}
	for _, c := range []struct{ name, want, not string }{
		{"names behind the list", `(?m)^\d+\+: (?:assign_berths_now|BerthCreate|BerthUpdate)`, `Option C[^\n]*(?:Berth|assign_berths)`},
		{"counted headings", `\+\d+ headings`, `\+\d+$`},
	} {
		in := Input{MessageID: "m", ToolName: "Read", Arguments: []byte(`{"file_path":"/a/mooring.md"}`), Content: b.String(), MaxChars: 620}
		checkOutput(t, in)
		text := ToolOutput(in).Text
		if !regexp.MustCompile(c.want).MatchString(text) || regexp.MustCompile(c.not).MatchString(text) {
			t.Errorf("%s: want %s, not %s:\n%s", c.name, c.want, c.not, text)
		}
	}
}
