package sessions

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	"precis/events"
)

// MaxDocumentBytes bounds a file that is one JSON document.
const MaxDocumentBytes = 256 << 20

// peeked is how far into a file its format is looked for. Sessions may begin with a long history of another kind.
const peeked = 1 << 20

// buffered is how much is read at a time.
const buffered = 64 << 10

// File reads a whole file of sessions as events.
type File struct {
	in      *bufio.Reader
	archive *archive // nil: not compressed
	lines   *Lines   // nil: an event file
	events  *events.FileReader
	format  string
	decided bool // the file is of that format, for all that its lines say
	line    int
	waiting []events.FileEvent
	ended   bool
}

// Open begins a file. The format is one of Formats, FormatAuto or FormatEvents; gzip is recognized. It fails with ErrFormat
// where no line of the file's first MiB tells the format.
func Open(in io.Reader, name string, opts Options) (*File, error) {
	f := &File{in: bufio.NewReaderSize(in, buffered)}
	if magic, _ := f.in.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		unzipped, err := gzip.NewReader(f.in)
		if err != nil {
			return nil, fmt.Errorf("open gzip: %w", err)
		}
		f.archive = &archive{in: unzipped}
		f.in = bufio.NewReaderSize(f.archive, buffered)
	}
	chosen := formatOf(name)
	if name == FormatEvents || chosen != nil && !chosen.documents { // nothing to find out: a pipe may say little, and slowly
		return f, f.begin(name, opts)
	}
	if name != FormatAuto && chosen == nil {
		return nil, ErrFormat
	}
	f.in = bufio.NewReaderSize(f.in, peeked)
	head, err := f.in.Peek(peeked)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if err != nil && name == FormatAuto && len(bytes.TrimSpace(bytes.TrimPrefix(head, []byte("\uFEFF")))) == 0 { // an agent that ended before it said anything
		return f, f.begin(FormatEvents, opts)
	}
	first, _, _ := bytes.Cut(bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\uFEFF")), " \t\r\n"), []byte("\n"))
	if _, _, broken := readJSON(first); broken != nil && len(first) < peeked-4 {
		return f, f.whole(name, opts)
	}
	if name == FormatAuto {
		name = told(head)
	}
	return f, f.begin(name, opts)
}

// begin reads lines of a format.
func (f *File) begin(name string, opts Options) (err error) {
	if f.format = name; name == FormatEvents {
		f.events = events.NewFileReader(f.in)
		return nil
	}
	f.lines, err = NewLines(name, opts)
	return err
}

// told is the format of a file's first lines.
func told(head []byte) string {
	for line := range bytes.Lines(bytes.TrimPrefix(head, []byte("\uFEFF"))) {
		value, _, err := readJSON(bytes.TrimSpace(line))
		if err != nil {
			continue
		}
		if _, err := events.ParseLine(value); err == nil && events.Type(objectOf(value).text("type")).Known() {
			return FormatEvents
		}
		if f := recognized(value); f != nil {
			return f.name
		}
	}
	return ""
}

// whole reads a file that is one document.
func (f *File) whole(name string, opts Options) error {
	text, err := io.ReadAll(io.LimitReader(f.in, MaxDocumentBytes+1))
	if err != nil {
		return err
	}
	if len(text) > MaxDocumentBytes {
		return fmt.Errorf("the document is larger than %d MiB", MaxDocumentBytes>>20)
	}
	value, _, err := readJSON(bytes.TrimPrefix(text, []byte("\uFEFF")))
	if err != nil { // lines after all, of which the first is broken
		f.in = bufio.NewReaderSize(bytes.NewReader(text), buffered)
		if name == FormatAuto {
			name = told(text[:min(len(text), peeked)])
		}
		return f.begin(name, opts)
	}
	if name == FormatAuto {
		found := recognized(value)
		if found == nil {
			return ErrFormat
		}
		name = found.name
	}
	f.format, f.ended = name, true
	if err := f.decide(value); err != nil {
		return err
	}
	if f.lines, err = NewLines(name, opts); err != nil {
		return err
	}
	f.waiting, err = f.lines.Push(value)
	f.waiting = append(f.waiting, f.lines.Flush()...)
	return err
}

// decide fails where the first line that tells a format tells another one than the file is read as: read so, a whole session of one agent
// could become a message of another.
func (f *File) decide(line []byte) error {
	if f.decided {
		return nil
	}
	value, _, err := readJSON(line)
	if err != nil {
		return nil
	}
	is, as := recognized(value), formatOf(f.format)
	switch {
	case is == nil:
		return nil
	case is == as, is.loose, !as.loose && as.recognize(asObject(value)):
		f.decided = true
		return nil
	}
	return &OtherFormatError{As: f.format, Is: is.name}
}

// OtherFormatError is a file that was to be read as one format, and is of another.
type OtherFormatError struct{ As, Is string }

func (e *OtherFormatError) Error() string {
	return fmt.Sprintf("this is a session of %s, not of %s: use --format %s or --format auto", e.Is, e.As, e.Is)
}

// Format is the file's: the given one, or what was found out.
func (f *File) Format() string { return f.format }

// Unmapped lists what no event stands for, by kind; complete at the end of the file.
func (f *File) Unmapped() []Unmapped {
	if f.lines == nil {
		return nil
	}
	return f.lines.Unmapped()
}

// Next returns the next event. It returns io.EOF at the end; an error about a line has its number, and the next call goes on behind
// it.
func (f *File) Next() (events.FileEvent, error) {
	event, err := f.next()
	if errors.Is(err, io.EOF) && f.archive != nil && f.archive.err != nil {
		err, f.archive.err = fmt.Errorf("read gzip: %w", f.archive.err), nil
	}
	return event, err
}

func (f *File) next() (events.FileEvent, error) {
	if f.events != nil {
		return f.events.Next()
	}
	for len(f.waiting) == 0 {
		if f.ended {
			return events.FileEvent{}, io.EOF
		}
		if err := f.read(); err != nil {
			return events.FileEvent{}, err
		}
	}
	event := f.waiting[0]
	f.waiting = f.waiting[1:]
	return event, nil
}

// read maps one line.
func (f *File) read() error {
	line, whole, err := readLine(f.in)
	switch {
	case errors.Is(err, io.EOF):
		f.ended = true
		f.waiting = f.lines.Flush()
		return nil
	case errors.Is(err, events.ErrLineTooLong):
		f.line++
		f.lines.Skip()
		return fmt.Errorf("line %d: %w", f.line, err)
	case err != nil:
		f.ended = true
		f.waiting = f.lines.Flush()
		return fmt.Errorf("line %d: %w", f.line+1, err)
	}
	f.line++
	if len(line) == 0 {
		f.lines.Skip()
		return nil
	}
	if err := f.decide(line); err != nil {
		f.ended = true
		return fmt.Errorf("line %d: %w", f.line, err)
	}
	f.waiting, err = f.lines.Push(line)
	switch {
	case err == nil:
		return nil
	case !whole: // the agent was killed while it wrote, or still writes
		f.lines.out.skip("last line, cut off")
		return nil
	}
	return fmt.Errorf("line %d: %w", f.line, err)
}

// readLine returns the next line without surrounding white space. whole is false where no line break ends it. It reads an overlong line to its
// end, so that the next call finds the next line.
func readLine(in *bufio.Reader) (line []byte, whole bool, err error) {
	length := 0
	for {
		piece, err := in.ReadSlice('\n')
		if length += len(piece); length <= events.MaxLineBytes {
			line = append(line, piece...)
		} else {
			line = nil
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && (!errors.Is(err, io.EOF) || length == 0) {
			return nil, false, err
		}
		if length > events.MaxLineBytes {
			return nil, false, events.ErrLineTooLong
		}
		line = bytes.TrimPrefix(line, []byte("\uFEFF"))
		return bytes.Trim(line, " \t\r\n"), err == nil, nil
	}
}

// archive ends where it is damaged, and keeps the error: a reader that looks ahead would lose it.
type archive struct {
	in  io.Reader
	err error
}

func (r *archive) Read(p []byte) (int, error) {
	n, err := r.in.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err, err = err, io.EOF
	}
	return n, err
}
