package mcp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"precis/api"
	"precis/events"
)

type searchInput struct {
	Thread string `json:"thread,omitempty" jsonschema:"The thread's id. Leave it out where the server is for one thread."`
	Query  string `json:"query" jsonschema:"The text to find, in upper or lower case."`
	Most   int    `json:"max_matches,omitempty" jsonschema:"How many matching lines to show: 20 if absent, at most 100."`
}

const (
	fewMatches  = 20
	mostMatches = 100
	ofOne       = 5        // matching lines of one message that are shown
	searchBytes = 64 << 20 // of originals that one search reads
	searchIDs   = 20_000   // messages of a thread that one search knows
	atOnce      = 8        // messages that are asked for at once
	promptRoom  = 20_000   // tokens of the prompt that names the messages
	hitFormat   = "%s, line %d: %s\n"
)

func (s *server) searchThread(ctx context.Context, in searchInput) (string, error) {
	thread, err := s.threadOf(in.Thread)
	if err != nil {
		return "", err
	}
	if strings.TrimSpace(in.Query) == "" || strings.ContainsAny(in.Query, "\r\n") {
		return "", errors.New("query is the text to find, in one line")
	}
	most := in.Most
	if most <= 0 {
		most = fewMatches
	}
	most = min(most, mostMatches)
	n, err := s.messages(ctx, thread)
	if err != nil {
		return "", err
	}
	ids := n.ids
	slices.Reverse(ids) // the newest first
	var b strings.Builder
	matches, read, searched, unshown, gone := 0, 0, 0, 0, 0
	for len(ids) > 0 && matches < most && read < searchBytes && b.Len() < maxText {
		n := min(atOnce, len(ids))
		hits := make([]hit, n)
		var g errgroup.Group
		for i, id := range ids[:n] {
			g.Go(func() (err error) {
				hits[i], err = s.find(ctx, thread, id, in.Query)
				return err
			})
		}
		if err := g.Wait(); err != nil {
			return "", err
		}
		for _, h := range hits {
			show := min(len(h.lines), most-matches, ofOne)
			b.WriteString(strings.Join(h.lines[:show], ""))
			switch more := len(h.lines) - show; {
			case more > 0 && show > 0:
				fmt.Fprintf(&b, "  (%s of it: read_original with search)\n", counted(more, "more line"))
			case more > 0:
				unshown++
			}
			if h.gone {
				gone++
			}
			matches += show
			read += h.read
		}
		ids, searched = ids[n:], searched+n
	}
	what := counted(searched-gone, "message") + " searched"
	if gone > 0 {
		what += fmt.Sprintf(", %s not, since the log no longer holds %s", counted(gone, "message"), pronoun(gone))
	}
	if n.gone > 0 {
		what += fmt.Sprintf(", nor what %s for: the log no longer holds %s", standFor(n.gone), pronoun(n.gone))
	}
	if left := len(ids) + n.unnamed; left > 0 {
		what += fmt.Sprintf(", %s not", counted(left, "older one"))
	}
	if unshown > 0 {
		what += fmt.Sprintf(", %d of them with lines that are not shown (max_matches)", unshown)
	}
	if matches == 0 {
		return fmt.Sprintf("Nothing contains %q: %s.", in.Query, what), nil
	}
	return within(fmt.Sprintf("%s %s %q, the newest first; %s.\n%s", counted(matches, "line"), contain(matches), in.Query, what, b.String())), nil
}

// hit is what was found in one message.
type hit struct {
	lines []string
	read  int
	gone  bool // the message can't be read any more
}

// find looks for a text in one message. What was deleted contains nothing; what the log no longer holds may have contained it.
func (s *server) find(ctx context.Context, thread, id, query string) (h hit, err error) {
	m, lines, err := s.allLines(ctx, thread, id, 0, 0)
	switch {
	case errors.Is(err, api.ErrNotFound):
		return hit{gone: true}, nil
	case err != nil:
		return h, err
	case m.Deleted:
		return h, nil
	}
	for i, line := range lines {
		h.read += len(line)
		if foldIndex(line, query) >= 0 {
			h.lines = append(h.lines, fmt.Sprintf(hitFormat, head(m), i+1, near(line, query)))
		}
	}
	for _, c := range m.ToolCalls {
		if text := c.Name + " " + string(c.Arguments); foldIndex(text, query) >= 0 {
			h.lines = append(h.lines, fmt.Sprintf("%s, calls %s\n", head(m), near(text, query)))
		}
	}
	return h, nil
}

// messages returns the ids of a thread's messages, in about their order.
func (s *server) messages(ctx context.Context, thread string) (*names, error) {
	prompt, err := s.Asker.Context(ctx, thread, api.ContextRequest{MaxTokens: promptRoom, Format: api.FormatMessages, Explain: true})
	if err != nil {
		return nil, err
	}
	n := &names{s: s, seen: map[string]bool{}}
	for _, sum := range prompt.Explain.Summaries {
		if sum.Kind == events.KindToolResult {
			continue // its message stands in the prompt
		}
		if err := n.below(ctx, sum.ID); err != nil {
			return nil, err
		}
	}
	n.add(prompt.DroppedMessageIDs)
	for _, r := range prompt.DroppedRanges {
		n.add([]string{r.First, r.Last})
		n.unnamed += max(0, r.Count-2)
	}
	for _, source := range prompt.Sources {
		n.add(source.MessageIDs)
	}
	n.add(prompt.WaitingMessageIDs)
	return n, nil
}

// names collects ids.
type names struct {
	s       *server
	ids     []string
	seen    map[string]bool
	unnamed int // further messages
	gone    int // summaries whose records can't be read any more: what they stand for is not known
}

func (n *names) add(ids []string) {
	for _, id := range ids {
		if !n.seen[id] && len(n.ids) < searchIDs {
			n.seen[id] = true
			n.ids = append(n.ids, id)
		}
	}
}

// below adds what a summary stands for.
func (n *names) below(ctx context.Context, id string) error {
	if n.seen[id] || len(n.ids) >= searchIDs {
		return nil
	}
	n.seen[id] = true
	sum, err := n.s.Asker.Summary(ctx, id)
	if errors.Is(err, api.ErrNotFound) {
		n.gone++
		return nil
	}
	if err != nil {
		return err
	}
	for _, child := range sum.SourceSummaryIDs {
		if err := n.below(ctx, child); err != nil {
			return err
		}
	}
	n.add(sum.SourceMessageIDs)
	return nil
}

// pronoun is that of n things.
func pronoun(n int) string {
	if n == 1 {
		return "it"
	}
	return "them"
}

// standFor is n summaries with their verb.
func standFor(n int) string {
	if n == 1 {
		return "1 summary stands"
	}
	return counted(n, "summary") + " stand"
}
