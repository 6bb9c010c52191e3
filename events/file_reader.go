package events

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// FileReader reads an event file line by line.
type FileReader struct {
	in   *bufio.Reader
	line int
}

// NewFileReader reads events from in; it reads ahead.
func NewFileReader(in io.Reader) *FileReader {
	return &FileReader{in: bufio.NewReaderSize(in, 256<<10)}
}

// Next returns the next line's event and skips empty lines. It returns io.EOF at the end. An error contains the line
// number, and the next call continues with the following line, so that a caller may count bad lines and go on.
func (r *FileReader) Next() (FileEvent, error) {
	for {
		line, err := r.readLine()
		if errors.Is(err, io.EOF) {
			return FileEvent{}, io.EOF
		}
		if err != nil {
			return FileEvent{}, fmt.Errorf("line %d: %w", r.line, err)
		}
		if len(line) == 0 {
			continue
		}
		ev, err := parseLine(line)
		if err != nil {
			return FileEvent{}, fmt.Errorf("line %d: %w", r.line, err)
		}
		ev.Line = r.line
		return ev, nil
	}
}

// readLine returns the next line, newly allocated and without surrounding white space. It reads an overlong line to
// its end, so that the next call finds the next line.
func (r *FileReader) readLine() ([]byte, error) {
	r.line++
	var line []byte
	length := 0
	for {
		piece, err := r.in.ReadSlice('\n')
		if length += len(piece); length <= MaxLineBytes {
			line = append(line, piece...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && (err != io.EOF || length == 0) {
			return nil, err
		}
		if length > MaxLineBytes {
			return nil, ErrLineTooLong
		}
		return r.trim(line), nil
	}
}

// trim removes white space, and the byte order mark that some editors put at the start of a file.
func (r *FileReader) trim(line []byte) []byte {
	if r.line == 1 {
		line = bytes.TrimPrefix(line, []byte("\uFEFF"))
	}
	return bytes.Trim(line, " \t\r\n")
}
