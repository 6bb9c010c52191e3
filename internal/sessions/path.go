package sessions

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"precis/events"
)

// sqliteHead begins a database of SQLite.
var sqliteHead = []byte("SQLite format 3\x00")

// OpenPath opens what an agent keeps at a path as one file of lines, for Open, with the name that its thread takes: a file as it is; a directory, of which OpenHands
// keeps a file for each event; a database of Crush, which the command sqlite3 reads.
func OpenPath(path string) (in io.ReadCloser, name string, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, path, err
	}
	if info.IsDir() {
		return openDirectory(path)
	}
	file, err := os.Open(path)
	if err != nil || !info.Mode().IsRegular() {
		return file, path, err
	}
	head := make([]byte, len(sqliteHead))
	n, err := io.ReadFull(file, head)
	if err == nil && bytes.Equal(head[:n], sqliteHead) {
		_ = file.Close()
		in, err = openDatabase(path)
		return in, path, err
	}
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		_ = file.Close()
		return nil, path, err
	}
	_, err = file.Seek(0, io.SeekStart)
	return file, path, err
}

// ErrNoEvents is a directory that holds no events.
var ErrNoEvents = errors.New("the directory holds no events of OpenHands; name files, or a conversation's directory")

// ErrNoSQLite is a database where the command that reads it is missing.
var ErrNoSQLite = errors.New(`a database of SQLite: install the command sqlite3 (3.37 or later), or publish what "crush session show ID --json" prints`)

// eventFile is the name of an event's file, with its place.
var eventFile = regexp.MustCompile(`^(?:event-)?(\d{1,18})(?:-.*)?\.json$`)

// openDirectory opens a conversation of OpenHands: its directory, or the folder events in it.
func openDirectory(path string) (io.ReadCloser, string, error) {
	conversation, dir := path, filepath.Join(path, "events")
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		if dir = path; filepath.Base(filepath.Clean(path)) == "events" {
			abs, err := filepath.Abs(path)
			if err != nil {
				return nil, path, err
			}
			conversation = filepath.Dir(abs)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, path, err
	}
	type event struct {
		at   int64
		name string
	}
	var list []event
	for _, e := range entries {
		if m := eventFile.FindStringSubmatch(e.Name()); m != nil && e.Type().IsRegular() {
			at, _ := strconv.ParseInt(m[1], 10, 64) // 18 digits at most
			list = append(list, event{at, e.Name()})
		}
	}
	if len(list) == 0 {
		return nil, path, fmt.Errorf("%s: %w", path, ErrNoEvents)
	}
	slices.SortStableFunc(list, func(a, b event) int { return cmp.Compare(a.at, b.at) })
	from, to := io.Pipe()
	go func() {
		for _, e := range list {
			line, err := eventLine(filepath.Join(dir, e.name))
			if err == nil {
				_, err = to.Write(line)
			}
			if err != nil {
				_ = to.CloseWithError(err)
				return
			}
		}
		_ = to.Close()
	}()
	return from, conversation, nil
}

// eventLine is an event's file as one line. A line that is broken stays so, and is reported by its place.
func eventLine(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, events.MaxLineBytes+1))
	if err != nil {
		return nil, err
	}
	if value, _, err := readJSON(text); err == nil && value.Compact() == nil {
		text = value
	}
	return append(bytes.ReplaceAll(bytes.ReplaceAll(text, []byte("\n"), []byte(" ")), []byte("\r"), []byte(" ")), '\n'), nil
}

// crushRows are the rows that hold sessions, as JSON. Tables of older versions have fewer columns.
const crushRows = `select 'session' as crush, * from sessions order by created_at, rowid;
select 'message' as crush, * from messages order by session_id, created_at, rowid;`

// openDatabase reads a database of Crush with the command sqlite3, which also reads what stands in its write-ahead log. In safe mode it touches nothing
// else, whatever a file from elsewhere has it call.
func openDatabase(path string) (io.ReadCloser, error) {
	program, err := exec.LookPath("sqlite3")
	if err != nil {
		return nil, fmt.Errorf("%s is %w", path, ErrNoSQLite)
	}
	abs, err := filepath.Abs(path) // no path is taken for a flag
	if err != nil {
		return nil, err
	}
	var complaint bytes.Buffer
	command := exec.Command(program, "-safe", "-readonly", "-batch", "-init", os.DevNull, "-json", abs, crushRows)
	command.Stderr = &complaint
	rows, err := command.StdoutPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("run sqlite3: %w", err)
	}
	from, to := io.Pipe()
	go func() {
		err := copyRows(to, rows)
		if err != nil {
			_ = command.Process.Kill() // the reader has gone
		}
		if failed := command.Wait(); err == nil && failed != nil {
			err = fmt.Errorf("read %s with sqlite3: %w: %s", path, failed, strings.TrimSpace(complaint.String()))
		}
		_ = to.CloseWithError(err)
	}()
	return from, nil
}

// copyRows writes the rows of lists, which sqlite3 prints with a row a line, as lines. A row may be larger than memory: it is passed on piece by
// piece, and the reader of the lines reports one that is too long.
func copyRows(to io.Writer, rows io.Reader) error {
	in := bufio.NewReaderSize(rows, buffered)
	joined := make([]byte, 0, buffered+1)
	for {
		line, err := in.ReadSlice('\n')
		line = bytes.TrimPrefix(line, []byte("["))
		for errors.Is(err, bufio.ErrBufferFull) {
			held := line[len(line)-1] // it may be the last before the line break, which belongs to the list
			if _, err := to.Write(line[:len(line)-1]); err != nil {
				return err
			}
			line, err = in.ReadSlice('\n')
			line = append(append(joined, held), line...)
		}
		if len(line) > 0 {
			line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte(","))
			if _, err := to.Write(append(bytes.TrimSuffix(line, []byte("]")), '\n')); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
