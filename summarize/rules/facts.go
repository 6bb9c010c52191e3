package rules

import (
	"strings"
	"unicode"
)

// Statuses of a tool output.
const (
	statusSuccess = "success"
	statusError   = "error"
	statusPartial = "partial" // it ended incompletely, or found nothing
)

// facts describe an output without its lines.
type facts struct {
	status string
	key    []string
	meta   map[string]any
	exit   string // the exit code, if known
	errors []int  // error lines, in order
	urgent []int  // lines to show before all others
}

func (f *facts) add(name, value string) {
	if value != "" {
		f.key = append(f.key, name+": "+value)
	}
}

// quoted makes a fact of the output's own text: it must not run on into other facts, such as an exit code, nor into a
// summary of another output.
func quoted(text string, n int) string {
	said := []rune(clip(text, n))
	blank := func(i int) bool { return i < 0 || i == len(said) || said[i] == ' ' || !unicode.IsPrint(said[i]) }
	for i, r := range said {
		if r == '|' && (blank(i-1) || blank(i+1)) {
			said[i] = '/'
		}
	}
	return noMarks.Replace(string(said))
}

var noMarks = strings.NewReplacer("[✓", "(✓", "[❌", "(❌")

// note adds to the metadata; it clips texts, since arguments can have any length.
func (f *facts) note(key string, value any) {
	if text, ok := value.(string); ok {
		value = clip(oneLine(text), maxNote)
	}
	f.meta[key] = value
}

func (f *facts) metadata(include bool) map[string]any {
	if !include {
		return map[string]any{}
	}
	return f.meta
}

// Maximum lengths of facts, in code points; the command's and the error's are seed 2's.
const (
	maxPath    = 90
	maxCommand = 60
	maxPattern = 60
	maxError   = 100
	maxNote    = 400
)

func factsOf(in Input, category Category, args arguments, doc *document) *facts {
	f := &facts{status: statusSuccess, key: []string{}, meta: map[string]any{}}
	f.errors = errorLines(in, category, doc)
	f.settle(in, category, doc)
	switch category {
	case FileContent:
		f.file(args, doc)
	case SearchResults:
		f.search(args, doc)
	case DirectoryListing:
		f.listing(args, doc)
	case StructuredData:
		f.data(in, args, doc)
	case WebContent:
		f.web(args, doc)
	case WriteResult:
		f.write(args, doc)
	default:
		f.command(args, doc)
	}
	f.failure(doc)
	if in.PreserveErrors {
		f.urgent = urgentLines(f, doc)
	}
	return f
}

// settle determines the status: from the event, else from an exit code in the text, else from error lines.
func (f *facts) settle(in Input, category Category, doc *document) {
	code, known := exitCode(in, category, doc)
	if known {
		f.exit = itoa(code)
		f.note("exit_code", code)
	}
	switch {
	case in.IsError != nil && *in.IsError, known && code != 0:
		f.status = statusError
	case len(f.errors) > 0 && !known && in.IsError != nil:
		f.status = statusPartial // the call succeeded, the command failed
	case len(f.errors) > 0 && !known:
		f.status = statusError
	}
}

// failure adds the first error line.
func (f *facts) failure(doc *document) {
	if f.status == statusSuccess && len(f.errors) == 0 {
		return
	}
	f.note("has_error", len(f.errors) > 0 || f.status == statusError)
	if len(f.errors) > 0 && f.status != statusSuccess {
		f.add("Error", quoted(doc.lines[f.errors[0]].text, maxError))
	}
}

// nothing sets the status of an output that found nothing.
func (f *facts) nothing() {
	if f.status == statusSuccess {
		f.status = statusPartial
	}
}
