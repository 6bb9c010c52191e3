package feed

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"precis/api"
	"precis/cmd/processor/console"
	"precis/cmd/processor/remote"
	"precis/events"
	"precis/internal/sessions"
)

// Publish publishes event files.
type Publish struct {
	remote.Flags
	Files   []string `arg:"" name:"file" help:"Event files, or sessions of an agent; - reads standard input."`
	Format  string   `enum:"events,auto,claude-code,codex,copilot,gemini-cli,crush,openhands,swe-agent,langchain,anthropic,openai" default:"events" placeholder:"F" help:"Format of the files: ${enum} (${default})."`
	Thread  string   `placeholder:"T" help:"With --format: the thread of the conversation, instead of the one that the file names."`
	Agent   string   `placeholder:"ID" help:"With --format: the agent_id of the events, instead of the format's name."`
	DryRun  bool     `name:"dry-run" help:"Write the events as an event file instead of publishing them; with --json the counts only."`
	Wait    bool     `help:"Wait until the processor has decided every event, and report rejections."`
	NoCheck bool     `name:"no-check" help:"Also send invalid events; the processor rejects them."`
}

// Help shows the command used.
func (Publish) Help() string {
	return `An event file has one event per line: an object with the type and the fields of its data. Each event is checked before it is sent. An invalid line is reported with its position and skipped, and the exit status is 1. Records that precis itself publishes (summaries, invalidations, usage, rejections; "tail --json" writes them too) are skipped and counted. Publishing a file again is safe: the processor counts each event once. The summary says how many events were already known, if the processor answers; without --wait it waits two seconds at most and for at most 100 threads.

A valid event can still be rejected because of its thread's state (another message with the same id, an edit of an unknown message). With --wait the command reports these with their lines and exits with 1. An edit that still waits for its message is not decided.

With --format the files are sessions that an agent has kept, or conversations in the shape of a provider's API, also compressed with gzip; of OpenHands, a conversation's directory. A session becomes a thread with the session's id; sub-agents become threads of their own, a prompt that the user went back to becomes a rewind, and a summary that the agent made is a message. Message ids are the session's, so that publishing a session again adds only what is new. What no event stands for is counted at the end, by kind; --json has the first line of each kind.

Examples:

    processor publish session.jsonl
    processor publish session.jsonl --wait
    my-agent --events | processor publish -
    processor publish --format claude-code ~/.claude/projects/*/*.jsonl
    processor publish --format crush .crush/crush.db
    processor publish --format openhands ~/.openhands/conversations/*
    processor publish --format auto rollout.jsonl.gz --dry-run > events.jsonl
    processor tail --json --from start --until-caught-up | processor publish - --nats nats://other:4222`
}

// publishCounts is what became of the lines.
type publishCounts struct {
	Files      int     `json:"files"`
	Unreadable int     `json:"unreadable,omitzero"` // files
	Published  int64   `json:"published"`
	Skipped    int64   `json:"skipped"` // records of precis itself, as "tail --json" writes them
	Broken     int64   `json:"broken"`
	Unsent     int64   `json:"unsent"`
	Rejected   *int64  `json:"rejected"` // null without --wait: not known
	LastSeq    uint64  `json:"last_seq"` // the last event's sequence in EVENTS; 0: none was published
	Threads    int     `json:"threads"`
	Seconds    float64 `json:"seconds"`
	Duplicates *int64  `json:"duplicates"` // of the published events; null where no processor said so
	DryRun     bool    `json:"dry_run,omitzero"`

	Unmapped []unmapped `json:"unmapped,omitempty"` // what sessions have that no event stands for
}

// unmapped is a kind of content that no event stands for, with its first place.
type unmapped struct {
	sessions.Unmapped
	File string `json:"file"`
}

// Run publishes the files one after the other, in the order of their lines.
func (c *Publish) Run(ctx context.Context, a *console.App) error {
	if err := c.check(); err != nil {
		return err
	}
	if c.DryRun {
		return c.dryRun(ctx, a)
	}
	return c.With(ctx, a, func(ctx context.Context, s *remote.Server) error {
		if err := s.HasStreams(ctx); err != nil {
			return err
		}
		out, err := events.NewPublisher(s.Conn, events.PublisherOptions{Warn: a.WarnOnce(), Unchecked: c.NoCheck})
		if err != nil {
			return console.Unreachable("publish: %w", err)
		}
		job := c.job(a)
		job.out, job.duplicates = out, newDuplicates(s, c.Wait)
		if c.Wait {
			if job.verdicts, err = followVerdicts(ctx, s); err != nil {
				return errors.Join(err, out.Close(ctx))
			}
			defer job.verdicts.close()
		}
		begun := time.Now()
		err = job.files(ctx, c.Files)
		err = errors.Join(err, job.close(ctx))
		var after map[string]api.ThreadReply
		if err == nil {
			after, err = job.decided(ctx)
		}
		job.counts.Seconds = time.Since(begun).Seconds() // not what the counters take
		if err == nil {
			job.counts.Duplicates = job.duplicates.count(ctx, job.counts.LastSeq, job.counts.Published, after)
		}
		job.progress.Done()
		return c.finish(a, job, err)
	})
}

func (c *Publish) job(a *console.App) *publishing {
	return &publishing{app: a, format: c.Format, options: sessions.Options{Thread: c.Thread, Agent: c.Agent}, threads: map[string]bool{}, progress: console.NewProgress(a, c.Files)}
}

// dryRun writes what would be published.
func (c *Publish) dryRun(ctx context.Context, a *console.App) error {
	job := c.job(a)
	job.counts.DryRun = true
	buffer := bufio.NewWriterSize(a.Stdout, 1<<16)
	job.dry = events.NewFileWriter(buffer)
	if c.JSON {
		job.dry = events.NewFileWriter(io.Discard)
	}
	begun := time.Now()
	err := errors.Join(job.files(ctx, c.Files), buffer.Flush())
	job.progress.Done()
	job.counts.Seconds = time.Since(begun).Seconds()
	return c.finish(a, job, err)
}

// check finds a misspelt name before anything is published.
func (c *Publish) check() error {
	if c.Format == sessions.FormatEvents && (c.Thread != "" || c.Agent != "") {
		return console.Usage("--thread and --agent go with --format: an event file names them")
	}
	if c.DryRun && (c.Wait || c.NoCheck) {
		return console.Usage("--dry-run goes without --wait and --no-check: nothing is published")
	}
	if c.Thread != "" {
		if _, err := events.Token(c.Thread); err != nil {
			return console.Usage("--thread: %w", err)
		}
	}
	for _, name := range c.Files {
		if name == "-" {
			continue
		}
		info, err := os.Stat(name)
		if err != nil {
			return console.Usage("%w", err)
		}
		if info.IsDir() && c.Format != "openhands" && c.Format != sessions.FormatAuto {
			return console.Usage("%s is a directory; name its files", name)
		}
	}
	return nil
}

func (c *Publish) finish(a *console.App, job *publishing, err error) error {
	job.counts.Threads = len(job.threads)
	switch {
	case c.JSON:
		a.JSON(job.counts)
	case c.DryRun: // standard output has the events
		a.Note("%s", job.counts)
		job.tell(c.Flags, a.Note)
	default:
		a.Printf("%s\n", job.counts)
		job.tell(c.Flags, func(format string, args ...any) { a.Printf(format+"\n", args...) })
	}
	switch {
	case errors.Is(err, sessions.ErrFormat), errors.Is(err, sessions.ErrNoEvents), errors.Is(err, sessions.ErrNoSQLite):
		return console.Usage("%w", err)
	case errors.As(err, new(*unreadableError)):
		return console.Wrong("%w", err)
	case err != nil && c.DryRun:
		return err
	case err != nil:
		return console.Unreachable("%w\nPublish the files again to go on: what has arrived is not counted twice", err)
	case job.counts.Unreadable > 0:
		return console.Wrong("%s could not be read", console.Counted(job.counts.Unreadable, "file"))
	case job.counts.Broken > 0 && job.counts.Published == 0 && c.Format == sessions.FormatEvents:
		return console.Wrong("%s could not be published: no line is an event; for an agent's session use --format auto", console.Counted(job.counts.Broken, "line"))
	case job.counts.Broken > 0:
		return console.Wrong("%s could not be published", console.Counted(job.counts.Broken, "line"))
	case job.counts.Rejected != nil && *job.counts.Rejected > 0:
		return console.Wrong("the processor rejected %s", console.Counted(*job.counts.Rejected, "event"))
	}
	return nil
}

func (n publishCounts) String() string {
	done := "published"
	if n.DryRun {
		done = "to be published, read"
	}
	text := fmt.Sprintf("%s of %s from %s %s in %.1fs", console.Counted(n.Published, "event"), console.Counted(n.Threads, "thread"),
		console.Counted(n.Files, "file"), done, n.Seconds)
	if n.LastSeq > 0 {
		text += fmt.Sprintf(", the last as EVENTS %d", n.LastSeq)
	}
	for _, part := range []struct {
		n    int64
		text string
	}{
		{n.Skipped, console.Counted(n.Skipped, "record") + " of precis skipped"},
		{n.Broken, console.Counted(n.Broken, "broken line")},
		{known(n.Rejected), console.Counted(known(n.Rejected), "event") + " rejected"},
		{known(n.Duplicates), console.Counted(known(n.Duplicates), "event") + " known already or without effect"},
	} {
		if part.n > 0 {
			text += ", " + part.text
		}
	}
	return text
}

func known(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}

// publishPatience is how long the server may take no event at all before it is given up.
const publishPatience = 2 * time.Minute

// stopPatience bounds the wait for events in flight when the program is stopped.
const stopPatience = 5 * time.Second

// publishing is one run over the files.
type publishing struct {
	app      *console.App
	format   string
	options  sessions.Options
	out      *events.Publisher
	dry      *events.FileWriter // instead of out
	onTheWay []outgoing
	threads  map[string]bool
	named    []string // the first of them, as they come
	progress *console.Progress
	counts   publishCounts
	verdicts *verdicts // nil: nothing waits for the processor
	stored   []storedLine

	duplicates *duplicates
}

// storedLine is a line whose event stands in EVENTS.
type storedLine struct {
	name string
	line int
	seq  uint64
}

// outgoing is a line whose event the publisher has accepted.
type outgoing struct {
	name    string
	line    int
	receipt *events.Receipt
}

// files publishes one after the other. One that can't be read is reported, and keeps none of the others out.
func (p *publishing) files(ctx context.Context, names []string) error {
	for _, name := range names {
		err := p.file(ctx, name)
		var unreadable *unreadableError
		switch {
		case errors.As(err, &unreadable) && len(names) == 1:
			return err
		case errors.As(err, &unreadable):
			p.counts.Unreadable++
			p.progress.Clear()
			p.app.Note("%s", console.Printable(err.Error()))
		case err != nil:
			return err
		default:
			p.counts.Files++
		}
	}
	return nil
}

// unreadableError is a file that is damaged, may not be read, or has no format that is known.
type unreadableError struct{ err error }

func (e *unreadableError) Error() string { return e.err.Error() }
func (e *unreadableError) Unwrap() error { return e.err }

func (p *publishing) file(ctx context.Context, name string) error {
	options := p.options
	in, err := p.open(ctx, name, &options)
	if err != nil {
		return &unreadableError{fmt.Errorf("open: %w", err)}
	}
	defer in.Close()
	lines, err := sessions.Open(p.progress.Reader(in), p.format, options)
	switch {
	case err != nil && ctx.Err() != nil:
		return fmt.Errorf("told to stop before the end of %s", name)
	case err != nil:
		return &unreadableError{fmt.Errorf("%s: %w", name, err)}
	}
	for {
		event, err := lines.Next()
		switch {
		case errors.Is(err, io.EOF):
			p.unmapped(name, lines.Unmapped())
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("told to stop before the end of %s", name)
		case errors.As(err, new(*sessions.OtherFormatError)):
			return &unreadableError{fmt.Errorf("%s: %w", name, err)}
		case isReadError(err):
			return &unreadableError{fmt.Errorf("read %s: %w", name, err)}
		case err != nil:
			p.broken(name, err)
			continue
		}
		if err := p.publish(ctx, name, event); err != nil {
			return err
		}
	}
}

// unmapped adds what a file has that no event stands for.
func (p *publishing) unmapped(name string, list []sessions.Unmapped) {
	for _, u := range list {
		at := slices.IndexFunc(p.counts.Unmapped, func(known unmapped) bool { return known.Kind == u.Kind })
		if at < 0 {
			p.counts.Unmapped = append(p.counts.Unmapped, unmapped{Unmapped: u, File: name})
			continue
		}
		p.counts.Unmapped[at].Count += u.Count
	}
}

// tell says which threads the events are of, how to go on with them, and what no event stands for.
func (p *publishing) tell(flags remote.Flags, line func(string, ...any)) {
	if len(p.named) > 0 {
		next := ""
		if p.dry == nil {
			next = "; see: " + seeThread(p.named[0], flags, p.app.Getenv)
		}
		line("%s%s", console.Printable(naming(p.named, len(p.threads))), next)
	}
	if len(p.counts.Unmapped) > 0 {
		line("no event stands for: %s; --json has the first line of each", console.Printable(folded(p.counts.Unmapped)))
	}
}

// seeThread is the command that shows a thread, for a shell with the same variables. Where it can't be written out, because the thread's id or the
// address would not be shown as they are, or a password were in it, it is the command that lists threads.
func seeThread(id string, flags remote.Flags, getenv func(string) string) string {
	words := []string{"processor", "thread"}
	for _, f := range []struct{ flag, variable, value string }{
		{"nats", "NATS_URL", flags.NATS}, {"creds", "NATS_CREDS", flags.Creds}, {"user", "NATS_USER", flags.User}, {"password", "NATS_PASSWORD", flags.Password},
		{"token", "NATS_TOKEN", flags.Token}, {"tlsca", "NATS_CA", flags.TLSCA}, {"tlscert", "NATS_CERT", flags.TLSCert}, {"tlskey", "NATS_KEY", flags.TLSKey},
	} {
		switch {
		case f.value == getenv(f.variable):
		case f.value == "", f.value[0] == '-', f.flag == "password", f.flag == "token", f.flag == "nats" && flags.Shown() != f.value:
			return "processor threads"
		default:
			words = append(words, "--"+f.flag, shellWord(f.value))
		}
	}
	if strings.HasPrefix(id, "-") {
		words = append(words, "--")
	}
	command := strings.Join(append(words, shellWord(id)), " ")
	if !utf8.ValidString(command) || console.Printable(command) != command {
		return "processor threads"
	}
	return command
}

// mostNamed is how many threads are named.
const mostNamed = 3

// naming lists threads, of many the first.
func naming(first []string, n int) string {
	switch {
	case n == 1:
		return "thread " + first[0]
	case n <= mostNamed:
		return "threads " + strings.Join(first[:n-1], ", ") + " and " + first[n-1]
	default:
		return fmt.Sprintf("threads %s and %s more", strings.Join(first[:mostNamed-1], ", "), console.Grouped(n-mostNamed+1))
	}
}

// folded lists kinds with their counts, the most frequent first. What stands behind a slash is in parentheses, as there may be many of a kind.
func folded(kinds []unmapped) string {
	count, parts := map[string]int{}, map[string][]string{}
	kinds = slices.SortedFunc(slices.Values(kinds), func(a, b unmapped) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Kind, b.Kind)) })
	for _, u := range kinds {
		kind, part, _ := strings.Cut(u.Kind, "/")
		count[kind] += u.Count
		if part != "" {
			parts[kind] = append(parts[kind], fmt.Sprintf("%s × %s", console.Grouped(u.Count), part))
		}
	}
	names := slices.SortedFunc(maps.Keys(count), func(a, b string) int { return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b)) })
	for i, kind := range names {
		names[i] = fmt.Sprintf("%s × %s", console.Grouped(count[kind]), kind)
		if of := parts[kind]; len(of) > 0 {
			names[i] += " (" + strings.Join(of, ", ") + ")"
		}
	}
	return strings.Join(names, ", ")
}

// plainWord is what a shell takes as it stands.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:@%+,][A-Za-z0-9_./:@%+,-]*$`)

// shellWord writes an argument so that it can be copied to a shell.
func shellWord(text string) string {
	if plainWord.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

func (p *publishing) open(ctx context.Context, name string, options *sessions.Options) (in io.ReadCloser, err error) {
	switch options.Name = name; {
	case name == "-":
		return untilStopped(ctx, p.app.Stdin), nil
	case p.format == sessions.FormatEvents:
		return os.Open(name)
	}
	in, options.Name, err = sessions.OpenPath(name)
	return in, err
}

// untilStopped reads in until ctx ends: who writes to standard input may say nothing for hours. A read that waits then
// is left behind, and ends with its input or with the program.
func untilStopped(ctx context.Context, in io.Reader) io.ReadCloser {
	from, to := io.Pipe()
	stopped := context.AfterFunc(ctx, func() { _ = to.CloseWithError(ctx.Err()) })
	go func() {
		defer stopped()
		_, err := io.Copy(to, in)
		_ = to.CloseWithError(err)
	}()
	return from
}

// isReadError tells a failing disk, after which nothing more comes, from a line that is wrong.
func isReadError(err error) bool {
	var path *os.PathError
	return errors.As(err, &path)
}

func (p *publishing) publish(ctx context.Context, name string, event events.FileEvent) error {
	p.settle()
	if !event.Type.Incoming() { // precis makes its own again; a rejection's may have no thread
		p.counts.Skipped++
		return nil
	}
	if event.Thread == "" {
		p.broken(name, fmt.Errorf("line %d: %w", event.Line, events.ErrNoThread))
		return nil
	}
	if p.dry != nil {
		return p.write(name, event)
	}
	patient, cancel := context.WithTimeout(ctx, publishPatience)
	defer cancel()
	if p.verdicts != nil {
		if err := p.verdicts.begin(patient, event.Thread); err != nil {
			return err
		}
	}
	p.duplicates.begin(patient, event.Thread)
	receipt, err := p.out.Publish(patient, event.Type, event.Thread, event.Data)
	switch {
	case isLinesFault(err):
		p.broken(name, fmt.Errorf("line %d: %w", event.Line, err))
		return nil
	case err != nil:
		return err
	}
	p.begin(event.Thread)
	p.onTheWay = append(p.onTheWay, outgoing{name: name, line: event.Line, receipt: receipt})
	return nil
}

// begin notes an event's thread.
func (p *publishing) begin(thread string) {
	if !p.threads[thread] {
		p.threads[thread] = true
		if len(p.named) < mostNamed {
			p.named = append(p.named, thread)
		}
	}
}

// write checks an event as the publisher does, and writes it.
func (p *publishing) write(name string, event events.FileEvent) error {
	subject, err := event.Subject()
	if err != nil {
		p.broken(name, err)
		return nil
	}
	if _, reject := events.Decode(events.Raw{Subject: subject, Body: event.Data}, events.Limits{}); reject != nil {
		p.broken(name, fmt.Errorf("line %d: %w", event.Line, reject))
		return nil
	}
	p.counts.Published++
	p.begin(event.Thread)
	return p.dry.Write(event.Type, event.Thread, event.Data)
}

// isLinesFault says whether err is about one line, and not the end of the run.
func isLinesFault(err error) bool {
	var reject *events.RejectError
	return errors.As(err, &reject) || errors.Is(err, events.ErrType) || errors.Is(err, events.ErrThreadID) || errors.Is(err, events.ErrTooLarge)
}

// settle counts the oldest events whose fate is known.
func (p *publishing) settle() {
	done := 0
	for _, o := range p.onTheWay {
		select {
		case <-o.receipt.Done():
			p.count(o)
			done++
			continue
		default:
		}
		break
	}
	p.onTheWay = p.onTheWay[done:]
}

func (p *publishing) count(o outgoing) {
	seq, err := o.receipt.Wait(context.Background()) // it is done
	switch {
	case err == nil:
		p.counts.Published++
		p.counts.LastSeq = max(p.counts.LastSeq, seq)
		if p.verdicts != nil {
			p.stored = append(p.stored, storedLine{name: o.name, line: o.line, seq: seq})
		}
	case errors.Is(err, events.ErrRefused):
		p.broken(o.name, fmt.Errorf("line %d: %w", o.line, err))
	default:
		p.counts.Unsent++
	}
}

// close waits until everything is stored. An event that the server won't take is a broken line, not the
// end; what is given up is told.
func (p *publishing) close(ctx context.Context) error {
	patience := publishPatience
	if ctx.Err() != nil {
		ctx, patience = context.WithoutCancel(ctx), stopPatience
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := p.out.Close(ctx)
	p.settle()
	if p.counts.Unsent == 0 {
		return nil
	}
	return err
}

// decided waits for the processor where that is asked for, and reports what it rejected. It returns the threads' counters then.
func (p *publishing) decided(ctx context.Context) (map[string]api.ThreadReply, error) {
	if p.verdicts == nil {
		return nil, nil
	}
	after, err := p.verdicts.until(ctx, p.counts.LastSeq)
	if err != nil {
		return nil, err
	}
	p.counts.Rejected = new(int64)
	for _, line := range p.stored {
		if rejected := p.verdicts.of(line.seq); rejected != nil {
			*p.counts.Rejected++
			p.progress.Clear()
			p.app.Note("%s: line %d: rejected: %s: %s", line.name, line.line, rejected.Code, remote.Why(*rejected))
		}
	}
	return after, nil
}

// broken reports a line that is not published.
func (p *publishing) broken(name string, err error) {
	p.counts.Broken++
	p.progress.Clear()
	p.app.Note("%s: %s", name, console.Printable(err.Error()))
}

// decidedPatience bounds the wait for the processor after the last event is stored.
const decidedPatience = 2 * time.Minute

// verdicts collects what the processor rejects of what is published. Rejections are followed from before the first
// event is published; a thread's counter says how many of them there must be.
type verdicts struct {
	server *remote.Server
	stop   context.CancelFunc
	ended  chan struct{} // closed with err set when the subscription has ended
	err    error

	mu       sync.Mutex
	changed  chan struct{}               // closed and made anew with each rejection
	rejected map[uint64]*events.Rejected // by EVENTS sequence
	seen     map[string]uint64           // rejections by thread
	before   map[string]uint64           // what a thread's counter said before its first event
}

// followVerdicts begins to listen.
func followVerdicts(ctx context.Context, s *remote.Server) (*verdicts, error) {
	v := &verdicts{
		server: s, ended: make(chan struct{}), changed: make(chan struct{}),
		rejected: map[uint64]*events.Rejected{}, seen: map[string]uint64{}, before: map[string]uint64{},
	}
	rejections, err := events.Subscribe(ctx, s.Conn, events.SubscriptionOptions{
		Types: []events.Type{events.EventRejected}, From: events.FromNow,
	})
	if err != nil {
		return nil, remote.Explain("follow REJECTED", err)
	}
	ctx, v.stop = context.WithCancel(ctx)
	go func() {
		defer close(v.ended)
		v.err = rejections.Run(ctx, v.add)
	}()
	return v, nil
}

func (v *verdicts) close() {
	v.stop()
	<-v.ended
}

func (v *verdicts) add(_ context.Context, d events.Delivery) error {
	rejected, err := d.Rejected()
	if err != nil {
		return nil // a foreign message: no event of ours
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.rejected[rejected.StreamSeq] = rejected
	v.seen[d.Thread]++
	close(v.changed)
	v.changed = make(chan struct{})
	return nil
}

// begin reads a thread's counter before its first event is published.
func (v *verdicts) begin(ctx context.Context, thread string) error {
	if _, known := v.before[thread]; known {
		return nil
	}
	// Nothing is waited for: a rejection that comes meanwhile would be taken for one of what is published here.
	counters, err := countersOf(ctx, v.server, thread, 0)
	if err != nil {
		return err
	}
	v.before[thread] = counters.Rejected
	return nil
}

// until returns the threads' counters when every event up to seq is decided and each rejection of the threads is here.
func (v *verdicts) until(ctx context.Context, seq uint64) (map[string]api.ThreadReply, error) {
	ctx, cancel := context.WithTimeout(ctx, decidedPatience)
	defer cancel()
	after := make(map[string]api.ThreadReply, len(v.before))
	for thread, before := range v.before {
		counters, err := v.decided(ctx, thread, seq)
		if err != nil {
			return nil, fmt.Errorf("wait for the processor to decide EVENTS %d: %w", seq, err)
		}
		if err := v.arrived(ctx, thread, counters.Rejected-before); err != nil {
			return nil, err
		}
		after[thread] = counters
	}
	return after, nil
}

// decided asks again while the processor is behind.
func (v *verdicts) decided(ctx context.Context, thread string, seq uint64) (api.ThreadReply, error) {
	for {
		counters, err := countersOf(ctx, v.server, thread, seq)
		if err == nil || ctx.Err() != nil || !errors.Is(err, remote.ErrNotReady) {
			return counters, err
		}
		select {
		case <-time.After(remote.ReconnectWait):
		case <-ctx.Done():
		}
	}
}

// arrived waits until n rejections of a thread have come.
func (v *verdicts) arrived(ctx context.Context, thread string, n uint64) error {
	for {
		v.mu.Lock()
		seen, changed := v.seen[thread], v.changed
		v.mu.Unlock()
		if seen >= n {
			return nil
		}
		select {
		case <-changed:
		case <-v.ended:
			return remote.Explain("follow REJECTED", errors.Join(v.err, errors.New("the subscription ended")))
		case <-ctx.Done():
			return console.Unreachable("%d of %s of thread %q are in REJECTED: %w", seen, console.Counted(n, "rejection"), console.Printable(thread), ctx.Err())
		}
	}
}

// of is the rejection of the event at seq; nil where it was not rejected.
func (v *verdicts) of(seq uint64) *events.Rejected {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.rejected[seq]
}
