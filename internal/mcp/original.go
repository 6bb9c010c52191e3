package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"precis/api"
)

type originalInput struct {
	Thread    string `json:"thread,omitempty" jsonschema:"The thread's id. Leave it out where the server is for one thread."`
	MessageID string `json:"message_id" jsonschema:"The id in the mark: m12 in [… 41 lines; message m12]."`
	FromLine  int    `json:"from_line,omitempty" jsonschema:"The first line to show, counted from 1."`
	ToLine    int    `json:"to_line,omitempty" jsonschema:"The last line to show."`
	FromChar  int    `json:"from_char,omitempty" jsonschema:"Where to begin in from_line, counted from 1, if that line is very long."`
	Search    string `json:"search,omitempty" jsonschema:"Show only the lines that contain this text, in upper or lower case, and two lines around each."`
}

const (
	longLine    = 4_000 // characters of a line that are shown at once
	mostLines   = 2_000 // lines that are asked for at once, where a message does not fit in a reply
	linesAround = 2
	around      = 150 // characters shown before and behind what is found in a long line
)

func (s *server) readOriginal(ctx context.Context, in originalInput) (string, error) {
	thread, err := s.threadOf(in.Thread)
	if err != nil {
		return "", err
	}
	from, to := in.FromLine, in.ToLine
	switch {
	case in.MessageID == "":
		return "", errors.New("message_id is missing: it is the id in the mark")
	case from < 0 || to < 0 || in.FromChar < 0 || to > 0 && to < from:
		return "", errors.New("from_line and to_line count from 1, and from_line is not behind to_line")
	case strings.ContainsAny(in.Search, "\r\n"):
		return "", errors.New("search is a text in one line")
	case in.Search != "":
		return s.searchOriginal(ctx, thread, in)
	}
	m, lines, err := s.lines(ctx, thread, in.MessageID, from, to)
	if err != nil {
		return "", unknownMessage(err)
	}
	if m.Deleted {
		return deleted(m), nil
	}
	first := max(from, 1)
	if m.Content == nil {
		return fmt.Sprintf("%s has no text%s.\n%s", head(m), otherParts(m), calls(m)), nil
	}
	if len(lines) == 0 {
		return fmt.Sprintf("%s ends with line %d.%s", head(m), m.LinesTotal, otherParts(m)), nil
	}
	var b strings.Builder
	shown := 0
	for i, line := range lines {
		text := piece(line, first+i, max(in.FromChar, 1), i == 0)
		if shown > 0 && b.Len()+len(text) > maxText {
			break
		}
		b.WriteString(text)
		shown++
	}
	last := first + shown - 1
	end := ""
	if last < m.LinesTotal && (to == 0 || last < to) {
		end = fmt.Sprintf("(goes on with from_line %d)\n", last+1)
	}
	return fmt.Sprintf("%s, lines %d-%d of %d%s\n%s%s%s", head(m), first, last, m.LinesTotal, otherParts(m), b.String(), calls(m), end), nil
}

// unknownMessage adds to the answer that there is no such message how to find the right one.
func unknownMessage(err error) error {
	var e *api.Error
	if errors.As(err, &e) && errors.Is(err, api.ErrNotFound) && strings.Contains(e.Message, " has no message ") {
		return fmt.Errorf("%s; search_thread finds the id of a message by its text", e.Message)
	}
	return err
}

func deleted(m *api.MessageReply) string { return fmt.Sprintf("Message %s was deleted.", m.MessageID) }

// head says what a message is.
func head(m *api.MessageReply) string {
	text := fmt.Sprintf("Message %s (%s", m.MessageID, m.Role)
	if m.ToolName != nil {
		text += " " + *m.ToolName
	}
	if m.Revision > 0 {
		text += ", edited " + counted(m.Revision, "time")
	}
	return text + ")"
}

func otherParts(m *api.MessageReply) string {
	n := 0
	for _, of := range m.OtherParts {
		n += of
	}
	if n == 0 {
		return ""
	}
	return ", and " + counted(n, "part") + " not text"
}

// calls lists the calls of a message.
func calls(m *api.MessageReply) string {
	var b strings.Builder
	for _, c := range m.ToolCalls {
		text, _ := cutAt(string(c.Arguments), 1, longLine)
		fmt.Fprintf(&b, "call %s %s\n", c.Name, text)
	}
	return b.String()
}

// piece is a line with its number, from a character on if it is the first of those that were asked for.
func piece(line string, number, from int, first bool) string {
	if !first {
		from = 1
	}
	text, next := cutAt(line, from, longLine)
	if next > 0 {
		text += fmt.Sprintf(" (goes on with from_line %d, from_char %d)", number, next)
	}
	return fmt.Sprintf("%d|%s\n", number, text)
}

// cutAt returns n characters of a text, and where it goes on; 0: nowhere.
func cutAt(text string, from, n int) (part string, next int) {
	if from == 1 && len(text) <= n {
		return text, 0
	}
	runes := []rune(text)
	if from > len(runes) {
		return "", 0
	}
	runes = runes[from-1:]
	if len(runes) <= n {
		return string(runes), 0
	}
	return string(runes[:n]), from + n
}

// searchOriginal shows the lines that contain a text, of a message or of the lines of it that are asked for.
func (s *server) searchOriginal(ctx context.Context, thread string, in originalInput) (string, error) {
	m, lines, err := s.allLines(ctx, thread, in.MessageID, in.FromLine, in.ToLine)
	if err != nil {
		return "", unknownMessage(err)
	}
	if m.Deleted {
		return deleted(m), nil
	}
	first := max(in.FromLine, 1)
	of := counted(m.LinesTotal, "line")
	if len(lines) < m.LinesTotal {
		of = fmt.Sprintf("lines %d-%d of %d", first, first+len(lines)-1, m.LinesTotal)
	}
	var b strings.Builder
	found, last := 0, -1
	for i, line := range lines {
		if foldIndex(line, in.Search) < 0 {
			continue
		}
		found++
		if b.Len() > maxText {
			continue
		}
		for j := max(i-linesAround, last+1, 0); j <= min(i+linesAround, len(lines)-1); j++ {
			if last >= 0 && j > last+1 {
				b.WriteString("…\n")
			}
			fmt.Fprintf(&b, "%d|%s\n", first+j, near(lines[j], in.Search))
			last = j
		}
	}
	switch {
	case m.LinesTotal == 0:
		return head(m) + " has no text.", nil
	case len(lines) == 0:
		return fmt.Sprintf("%s ends with line %d.", head(m), m.LinesTotal), nil
	case found == 0:
		return fmt.Sprintf("%s: none of its %s contains %q.", head(m), of, in.Search), nil
	}
	return within(fmt.Sprintf("%s, %d of %s %s %q:\n%s", head(m), found, of, contain(found), in.Search, b.String())), nil
}

// near returns a line, or of a long one what is around a text.
func near(line, search string) string {
	const short = 4 * around
	at := foldIndex(line, search)
	if len(line) <= short {
		return line
	}
	from := max(0, at-around)
	to := min(len(line), max(at, 0)+len(search)+around)
	text := strings.ToValidUTF8(line[from:to], "")
	if from > 0 {
		text = "…" + text
	}
	if to < len(line) {
		text += "…"
	}
	return text
}

// foldIndex finds a text in a line without regard to the case of ASCII letters.
func foldIndex(line, text string) int { return strings.Index(lower(line), lower(text)) }

// lower keeps the length: offsets hold in the text as well.
func lower(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// allLines returns lines of a message, by as many requests as they need; to 0 is its end.
func (s *server) allLines(ctx context.Context, thread, id string, from, to int) (*api.MessageReply, []string, error) {
	m, all, err := s.lines(ctx, thread, id, from, to)
	for err == nil && !m.Deleted {
		next := max(from, 1) + len(all)
		if len(all) == 0 || next > m.LinesTotal || to > 0 && next > to {
			break
		}
		var more []string
		if _, more, err = s.lines(ctx, thread, id, next, to); len(more) == 0 {
			break // it was edited meanwhile
		}
		all = append(all, more...)
	}
	return m, all, err
}

// lines asks for lines of a message; to 0 is its end, as far as one reply reaches.
func (s *server) lines(ctx context.Context, thread, id string, from, to int) (*api.MessageReply, []string, error) {
	req := api.MessageRequest{MessageID: id}
	if from > 0 || to > 0 {
		if to == 0 {
			to = max(from, 1) + mostLines
		}
		req.Lines = []int{max(from, 1), to}
	}
	m, err := s.Asker.Message(ctx, thread, req)
	for n := mostLines; errors.Is(err, api.ErrTooLarge); n /= 4 {
		if n == 0 {
			return nil, nil, fmt.Errorf("line %d of %s is larger than a reply can be", max(from, 1), id)
		}
		req.Lines = []int{max(from, 1), max(from, 1) + n - 1}
		m, err = s.Asker.Message(ctx, thread, req)
	}
	if err != nil {
		return nil, nil, err
	}
	if m.Content == nil || len(m.Lines) == 0 {
		return m, nil, nil
	}
	list := strings.Split(strings.TrimSuffix(*m.Content, "\n"), "\n")
	for i := range list {
		list[i] = strings.TrimSuffix(list[i], "\r")
	}
	return m, list, nil
}
