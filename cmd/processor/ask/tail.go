package ask

import (
	"bufio"
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"precis/cmd/processor/console"
	"precis/cmd/processor/remote"
	"precis/events"
	"precis/internal/broker"
)

// Tail follows the three streams as one.
type Tail struct {
	remote.Flags
	Thread        *string  `placeholder:"T" help:"Only this thread."`
	Type          []string `placeholder:"T" help:"Only these types, such as summary.created, separated by commas."`
	Prefix        string   `placeholder:"TEXT" help:"Only threads whose ids begin with this."`
	Match         string   `placeholder:"REGEXP" help:"Only what this regular expression finds in the line, or with --json in the event's data."`
	All           bool     `help:"Also lines of records of no thread: config.applied and partition.claimed. Without it a claim is shown as a move, where a processor that already had partitions takes another's. --json has them always."`
	From          string   `enum:"start,now" default:"now" help:"Start of the output: start (of the log) or now (${default})."`
	UntilCaughtUp bool     `name:"until-caught-up" help:"With --from start: stop at the current end of the log."`

	match *regexp.Regexp
}

// Help shows the command used.
func (Tail) Help() string {
	return `Prints one line per event: time (UTC), type, thread and a short description, in colours on a terminal unless NO_COLOR is set. With --json it writes an event file, with every record. Streams that the user may not read are named and left out; the streams of a --type must be readable.

Examples:

    processor tail --from start --thread demo-1
    processor tail --prefix team-a/ --match 'exit code [1-9]'
    processor tail --type summary.created --from start --until-caught-up --json > summaries.jsonl`
}

// Run prints until it is stopped, which is not an error.
func (c *Tail) Run(ctx context.Context, a *console.App) error {
	if c.UntilCaughtUp && c.From != "start" {
		return console.Usage("--until-caught-up needs --from start")
	}
	plan, err := c.plan()
	if err != nil {
		return err
	}
	if c.match, err = regexp.Compile(c.Match); err != nil {
		return console.Usage("--match: %w", err)
	}
	err = c.With(ctx, a, func(ctx context.Context, s *remote.Server) error { return c.tail(ctx, a, s, plan) })
	return unlessStopped(ctx, err)
}

// unlessStopped drops the error that being told to stop looks like.
func unlessStopped(ctx context.Context, err error) error {
	if ctx.Err() == nil || !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// reading is a stream and what of it is wanted.
type reading struct {
	stream  string
	filters []string
}

// plan decides which streams to read, in the order in which things happen.
func (c *Tail) plan() ([]reading, error) {
	token := "*"
	if c.Thread != nil {
		var err error
		if token, err = events.Token(*c.Thread); err != nil {
			return nil, console.Usage("--thread: %w", err)
		}
	}
	if len(c.Type) == 0 {
		return allTypes(token), nil
	}
	filters := map[string][]string{}
	for _, name := range c.Type {
		t := events.Type(name)
		if !t.Known() {
			return nil, console.Usage("--type: %q is not known; allowed: %s", name, strings.Join(typeNames(), ", "))
		}
		filters[t.Stream()] = append(filters[t.Stream()], remote.Filter(t, token))
	}
	var plan []reading
	for _, stream := range []string{broker.StreamEvents, broker.StreamSummaries, broker.StreamRejected} {
		if len(filters[stream]) > 0 {
			plan = append(plan, reading{stream: stream, filters: slices.Compact(slices.Sorted(slices.Values(filters[stream])))})
		}
	}
	return plan, nil
}

// allTypes reads everything of a thread; of all threads without filters, so that what was published past the
// streams' forms is seen too.
func allTypes(token string) []reading {
	plan := []reading{{stream: broker.StreamEvents}, {stream: broker.StreamSummaries}, {stream: broker.StreamRejected}}
	if token == "*" {
		return plan
	}
	plan[0].filters = []string{remote.ThreadFilter(token)}
	plan[1].filters = []string{"*.*." + token}
	plan[2].filters = []string{"*.*." + token}
	return plan
}

func typeNames() (names []string) {
	for _, t := range events.Types() {
		names = append(names, string(t))
	}
	return names
}

func (c *Tail) tail(ctx context.Context, a *console.App, s *remote.Server, plan []reading) error {
	from := jetstream.DeliverNewPolicy
	if c.From == "start" {
		from = jetstream.DeliverAllPolicy
	}
	out := newTailWriter(a, c)
	var sources []*remote.Source
	var refused error // of the last stream that this user may not read, if no stream was named
	for _, r := range plan {
		opened, err := s.Read(ctx, r.stream, r.filters, from)
		if len(c.Type) == 0 && errors.Is(err, nats.ErrPermissionViolation) {
			a.Note("processor: this user may not read %s: skipped", r.stream)
			refused = err
			continue
		}
		if err != nil {
			return err
		}
		defer opened.Close()
		sources = append(sources, opened)
	}
	if len(sources) == 0 {
		return refused
	}
	if from == jetstream.DeliverNewPolicy && out.owners != nil { // what comes meanwhile is in the sources already
		out.owners.lastClaims(ctx, s)
	}
	if err := errors.Join(remote.MergeRest(ctx, sources, out.write), out.flush()); err != nil {
		return err
	}
	var gaps []error
	for _, s := range sources {
		gaps = append(gaps, s.Gaps())
	}
	if err := errors.Join(gaps...); err != nil || c.UntilCaughtUp {
		return err
	}
	return remote.Follow(ctx, sources, out.writeNow)
}

// tailWriter prints entries; history is buffered, what happens now is not.
type tailWriter struct {
	app    *console.App
	wants  *Tail
	buffer *bufio.Writer
	file   *events.FileWriter // nil for people
	owners *owners            // nil: claims are not shown, or as they are
	line   func(remote.Entry) string
}

func newTailWriter(a *console.App, c *Tail) *tailWriter {
	w := &tailWriter{app: a, wants: c, buffer: bufio.NewWriterSize(a.Stdout, 1<<16), line: remote.Entry.Line}
	if c.takesOver() {
		w.owners = newOwners()
	}
	switch {
	case c.JSON:
		w.file = events.NewFileWriter(w.buffer)
	case a.Colourful():
		a.Stdout.Raw = true // what is painted is escaped before
		w.line = remote.Entry.ColouredLine
	}
	return w
}

// takesOver reports whether claims are shown as take-overs.
func (c *Tail) takesOver() bool {
	return !c.All && !c.JSON && len(c.Type) == 0 && c.Thread == nil && c.Prefix == ""
}

// shows reports whether the filters that the streams do not apply let an entry pass.
func (c *Tail) shows(e remote.Entry) bool {
	ofNone := e.Typ == events.ConfigApplied || e.Typ == events.PartitionClaimed && e.Said == ""
	if ofNone && !c.All && !c.JSON && len(c.Type) == 0 || !strings.HasPrefix(e.Thread, c.Prefix) {
		return false
	}
	switch {
	case c.Match == "":
		return true
	case c.JSON:
		return c.match.Match(e.Raw.Body)
	default:
		return c.match.MatchString(e.Line())
	}
}

func (w *tailWriter) flush() error { return w.buffer.Flush() }

func (w *tailWriter) writeNow(e remote.Entry) error {
	if err := w.write(e); err != nil {
		return err
	}
	return w.flush()
}

func (w *tailWriter) write(e remote.Entry) error {
	if w.owners != nil && e.Typ == events.PartitionClaimed {
		e.Said = w.owners.claimed(e)
	}
	if !w.wants.shows(e) {
		return nil
	}
	if w.file == nil {
		_, err := w.buffer.WriteString(w.line(e) + "\n")
		return err
	}
	if e.Typ != "" {
		data, err := remote.Exported(e)
		if err != nil { // a record of precis's own, or an event that was rejected
			data = e.Data()
		}
		if err := w.file.Write(e.Typ, e.Thread, data); err == nil {
			return nil
		}
	}
	// Not silently: its rejection stands in REJECTED, byte for byte.
	w.app.Note("processor: EVENTS %d on %s is not a JSON object, skipped", e.Seq, console.Printable(e.Raw.Subject))
	return nil
}
