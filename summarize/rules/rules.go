package rules

import (
	"slices"
	"strings"

	"precis/events"
	"precis/summarize/envelope"
	"precis/summarize/lex"
	"precis/summarize/rules/call"
	"precis/summarize/rules/clean"
	"precis/summarize/rules/columns"
	"precis/summarize/rules/listing"
	"precis/summarize/rules/records"
	"precis/summarize/rules/words"
)

// Version names the rules; it changes when the bytes of an output can change.
const Version = "rules-53"

// Input is one tool output and the known facts of its call.
type Input struct {
	MessageID string // for omission marks; may be empty
	Reader    string // what marks have before the id, if it is not "message"
	ToolName  string // as in the event
	Arguments []byte // a JSON object, or a JSON string that contains one; may be empty
	Content   string // any bytes; invalid UTF-8 is replaced
	IsError   *bool
	ExitCode  *int
	// Category is that of a tool of one's own; if empty, it is recognized. Keep names what is shown first, and Drop what is not shown (source.go).
	Category   Category
	Keep, Drop []string
	// Relevant is the range of lines that the agent requested; they are worth more.
	Relevant *events.LineRange
	// MaxChars is the hard limit of the text, in Unicode code points.
	MaxChars        int
	PreserveErrors  bool // error text first, visibly clipped if it does not fit
	IncludeMetadata bool // fill Output.Tool.Metadata
	// Earlier holds the texts of the messages before this one, newest last, each with the arguments of its
	// calls: the thread has already seen their identifiers, and the newest short ones show what the agent
	// is looking for. Twenty suffice if Seen is set, else two hundred (docs/rules.md has the figures).
	Earlier []string
	// Seen holds the identifiers of all earlier messages; may be nil.
	Seen *words.Seen

	chars int // of the output as it came
	// Of an output that holds its content in JSON (source.go).
	held    bool
	quoted  bool // the content is not what a program says of itself
	beside  []envelope.Member
	without int // characters that are neither in the content nor beside it
}

// Output is the summary, as text and as structure.
type Output struct {
	Text string // at most Input.MaxChars code points, never longer than the source
	Tool events.ToolSummary
}

// ToolOutput summarizes one tool output.
func ToolOutput(in Input) Output {
	args := call.ParseArguments(in.Arguments)
	in.chars = lex.Runes(in.Content)
	in = in.withoutRequest(args).opened(args)
	category := in.recognized(args)
	source := proper(in.Content)
	doc := read(in, source, category, args)
	f := factsOf(in, category, args, &doc)
	if rest, lines := withoutDropped(source, in.Drop); rest != source {
		// What the facts count is of the whole source.
		doc = read(in, rest, category, args)
		doc.wrapped, doc.dropped = true, doc.dropped+lines
		shown := factsOf(in, category, args, &doc)
		f.errors, f.same, f.urgent, f.traces = shown.errors, shown.same, shown.urgent, shown.traces
	}
	tool := events.ToolSummary{
		ToolName: in.ToolName,
		Category: string(category),
		Status:   f.status,
		KeyFacts: f.key,
		Metadata: f.metadata(in.IncludeMetadata),
	}
	return Output{Text: compose(in, category, &doc, f), Tool: tool}
}

// read splits what is shown of an output into lines.
func read(in Input, source string, category Category, args call.Arguments) document {
	doc := newDocument(source, category, args)
	doc.placed = !doc.listing && len(doc.groups) == 0 && len(doc.lines) > 0 && doc.lines[len(doc.lines)/2].number > 0
	if path, from := args.Shown(); in.held || doc.placed || doc.unsure || category == FileContent && from == 0 && (path != "" || args.Command() != "") {
		doc.unplaced()
	}
	if doc.total == 1 && doc.shape != shapeMatches && doc.shape != shapeOneFile { // the number of a line says nothing if there is no other, and reads as a part of it
		for i := range doc.lines {
			doc.lines[i].number, doc.lines[i].at = 0, 0
		}
	}
	if len(in.Drop) > 0 { // they may be what is left of lines
		for _, l := range doc.lines[:doc.resumes] {
			if l.text == "" {
				doc.resumes--
			}
		}
		doc.lines = slices.DeleteFunc(doc.lines, func(l line) bool { return l.text == "" })
	}
	doc.chars = lex.Runes(in.Content) + in.without
	doc.source = clean.Clean(source)
	doc.wrapped = len(source) < len(in.Content) || in.without > 0
	if doc.wrapped {
		doc.running = runningIn(in.Content, source)
		doc.shortened = shortenedBy(in.Content, source)
		doc.goesOn = goesOnBy(in.Content, strings.TrimRight(source, "\n"))
	}
	doc.capped = cappedBy(args, doc.total)
	doc.cutOff = saysCutOff(in.Content) || doc.capped != ""
	doc.cutAtEnd()
	doc.relevant = in.Relevant
	doc.countAlike()
	doc.steps = doc.placed && !doc.prose && !doc.log && doc.shape != shapeOneFile && doc.shape != shapeJSON
	doc.commits = category == CommandOutput && doc.shape == shapePlain && doc.listsCommits(args)
	if category == CommandOutput && doc.shape == shapePlain {
		doc.supersede(args)
	}
	doc.findOpeners()
	doc.findLandmarks(category)
	if doc.pointedAt = placesNamed(in.Earlier, args); len(doc.pointedAt) == 0 && doc.placed {
		doc.pointedAt = linesNamed(in.ToolName, in.Earlier, args)
	}
	return doc
}

// cappedBy returns which lines a filter has let through, "first" or "last", if it may have held others back. Far more lines than it lets through have
// come from within its lines, as those of a text in JSON; a few may be errors that go past it.
func cappedBy(args call.Arguments, total int) string {
	const past = 10 // lines, or a share
	if n, which := args.Capped(); n > 0 && total >= n && total <= n+max(past, n/past) {
		return which
	}
	return ""
}

// compose chooses the fullest form that fits: facts and all lines; the unchanged source; facts and a choice of lines.
func compose(in Input, category Category, doc *document, f *facts) string {
	limit := min(in.MaxChars, in.chars)
	if limit <= 0 {
		return ""
	}
	header := f.header(in.ToolName, headerRoom(category, f.wide, limit))
	if len(in.beside) > 0 {
		told := records.Scalars(in.beside, "", (limit-lex.Runes(header))/besideShare, 0)
		for _, m := range in.beside {
			if !strings.Contains(told, m.Name+"=") {
				doc.chars, doc.wrapped = doc.chars+lex.Runes(string(m.Value)), true
			}
		}
		header = lex.JoinLines(header, told)
	}
	if text, ok := doc.complete(in, header, limit); ok {
		return text
	}
	if in.chars <= in.MaxChars {
		return lex.Clip(clean.Clean(in.Content), limit)
	}
	if limit < smallest {
		return lex.Clip(header, limit)
	}
	room := limit - lex.Runes(header) - 1 - lex.Runes(in.elision(doc.total, doc.chars)) - 1
	// A program that names files and reports errors among them is no listing: a tree would have no room for the errors.
	if body := doc.sketch(in, category, room); body != "" && (!doc.listing || len(f.urgent) == 0) && lex.Runes(header)+lex.Runes(body)+1 <= limit {
		if doc.tabled || room-lex.Runes(body) < spareRoom || doc.shape == shapeJSON && doc.wholeIn(body) {
			return doc.sketched(in, category, header, body, limit, room)
		}
		header = lex.JoinLines(header, body)
	}
	if doc.digest {
		return digest(in, doc, f, header, limit)
	}
	return abridge(in, doc, f, header, limit)
}

// sketched ends a sketch with the mark of what is missing. The mark of a text in few lines counts characters and is the longer one: the
// last line makes room for it.
func (d *document) sketched(in Input, category Category, header, body string, limit, room int) string {
	ended := func() string {
		lines, chars := d.hidden(body)
		if len(in.Drop) > 0 { // what was dropped is missing too
			chars += max(0, d.chars-lex.Runes(d.source))
		}
		return lex.JoinLines(header, body, in.elision(lines, chars))
	}
	if over := lex.Runes(ended()) - limit; over > 0 {
		if shorter := d.sketch(in, category, room-over); shorter != "" {
			body = shorter
		}
	}
	for lex.Runes(ended()) > limit && strings.Contains(body, "\n") {
		body = body[:strings.LastIndexByte(body, '\n')]
	}
	return lex.Clip(ended(), limit)
}

// besideShare is the share of a summary, as its reciprocal, that is for what stands beside the text in JSON.
const besideShare = 4

// fewLines is up to how many lines a JSON object is in too few to be read by lines.
const fewLines = 3

// spareRoom is what a sketch must leave for lines to follow it, in characters.
const spareRoom = 200

// sketch shows listings and records in a form of their own; empty for other sources.
func (d *document) sketch(in Input, category Category, room int) string {
	const least = 200
	if room < least {
		return ""
	}
	switch {
	case d.listing && category != FileContent:
		if paths, ok := listing.Paths(d.source); ok {
			return listing.Tree(paths, room)
		}
	case d.shape == shapeJSON && !slices.ContainsFunc(d.lines, func(l line) bool { return l.record == recordFailed }):
		if list := records.Of(d.source, in.Keep); list != nil {
			return d.records(d.source, list, in, room)
		}
		if _, one := records.OnlyObject(strings.TrimSpace(d.source)); (one && category != FileContent || d.total <= fewLines) && len(in.Keep) == 0 {
			return records.About(d.source, "", room*2/5, 0)
		}
	case d.shape == shapePlain && !d.log && !d.screen && (category == CommandOutput || category == StructuredData || category == Other) && len(in.Keep) == 0:
		body := columns.Sketch(d.source, room)
		d.tabled = body != ""
		return body
	case d.shape == shapeNumbered:
		if text := unnumbered(d.source, "{["); text != "" && records.MostlyRecords(text) {
			if list := records.Of(text, in.Keep); list != nil {
				return d.records(text, list, in, room)
			}
		}
	}
	return ""
}

// records shows records as a table, and notes how much of them it has no row for.
func (d *document) records(text string, list []records.Record, in Input, room int) (table string) {
	table, d.unrecorded = records.Table(text, list, in.Keep, room)
	if talk := talkOf(in.Earlier); d.unrecorded > 0 && len(talk) > 0 {
		if named := records.NamedFirst(list, strings.Join(talk, "\n")); named != nil {
			table, d.unrecorded = records.Table(text, named, in.Keep, room)
		}
	}
	return table
}

// complete returns the facts with all lines, if they fit; it marks noise that was dropped, and that a page is shown without its markup, which may be
// what it shows: a page about HTML, or code that writes some.
func (d *document) complete(in Input, header string, limit int) (text string, ok bool) {
	mark := ""
	if d.dropped > 0 || d.wrapped || d.rendered {
		kept := 0
		for i := range d.lines {
			kept += lex.Runes(d.lines[i].text)
		}
		mark = in.elision(d.dropped, max(1, d.chars-kept))
	}
	body, ok := d.whole(limit - lex.Runes(header) - 1)
	text = lex.JoinLines(header, body, mark)
	return text, ok && lex.Runes(text) <= limit
}

// headerRoom is the maximum length of the line of facts, in code points. The name of a file or a pattern can be
// short: the call precedes it, and every ten characters cost 0.3 % of the recall.
func headerRoom(c Category, wide bool, limit int) int {
	share, least := 10, 72
	if wide && c == WebContent {
		share = 14
	}
	if !wide && (c == FileContent || c == SearchResults || c == WriteResult) {
		share, least = 6, 48
	}
	return max(1, min(max(limit*share/100, least), limit/4))
}

// smallest is the limit below which only the facts are worth showing.
const smallest = 80
