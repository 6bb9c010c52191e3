package processor_test

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"precis/events"
)

// The measure of compactions, stated apart from the code that it measures: of the identifiers that stand in
// the replaced messages and in none of the kept, and that the assistant writes later, the share that the
// summary names; and of the paths that were written to, the share that it names.

var (
	measureWord = regexp.MustCompile(`[A-Za-z0-9_]+(?:[./:\-][A-Za-z0-9_]+)*`)
	measureMark = regexp.MustCompile(`[a-z][A-Z]|[A-Za-z][0-9]|[0-9][A-Za-z]|_|[./:\-]`)
	jointMark   = regexp.MustCompile(`[./:\-]`)
	allDigits   = regexp.MustCompile(`^[0-9]+$`)
	writingTool = regexp.MustCompile(`(?i)write|edit|create|str_replace|patch|insert`)
)

type wordSet map[string]bool

func (s wordSet) add(text string) {
	for _, whole := range measureWord.FindAllString(text, -1) {
		for _, w := range append([]string{whole}, jointMark.Split(whole, -1)...) {
			upper := strings.ToUpper(w) == w && strings.ToLower(w) != w
			if len(w) >= 4 && (measureMark.MatchString(w) || allDigits.MatchString(w) || upper) {
				s[w] = true
			}
		}
	}
}

func (s wordSet) merge(from wordSet) {
	for w := range from {
		s[w] = true
	}
}

// measured is one event as the measure sees it.
type measured struct {
	id        string
	assistant bool
	words     wordSet
	written   []string
}

// measuredEvent reads an event of a file.
func measuredEvent(data []byte) (thread string, m measured, err error) {
	var e struct {
		ThreadID  string         `json:"thread_id"`
		MessageID string         `json:"message_id"`
		Role      string         `json:"role"`
		Content   jsontext.Value `json:"content"`
		ToolCalls []struct {
			Name      string         `json:"name"`
			Arguments jsontext.Value `json:"arguments"`
		} `json:"tool_calls"`
	}
	if err := json.Unmarshal(data, &e); err != nil {
		return "", measured{}, err
	}
	m = measured{id: e.MessageID, assistant: e.Role == events.RoleAssistant, words: wordSet{}}
	m.words.add(allText(e.Content))
	for _, call := range e.ToolCalls {
		args := call.Arguments
		var quoted string
		if json.Unmarshal(args, &quoted) == nil && jsontext.Value(quoted).IsValid() {
			args = jsontext.Value(quoted)
		}
		m.words.add(allText(args))
		m.written = append(m.written, writtenPath(call.Name, args)...)
	}
	return e.ThreadID, m, nil
}

func writtenPath(tool string, args jsontext.Value) (paths []string) {
	var fields map[string]any
	if !writingTool.MatchString(tool) || json.Unmarshal(args, &fields) != nil {
		return nil
	}
	for _, key := range []string{"file_path", "path", "filename", "file"} {
		if path, ok := fields[key].(string); ok {
			paths = append(paths, path)
		}
	}
	return paths
}

// allText is every text and number in a JSON value, a line each.
func allText(v jsontext.Value) string {
	var value any
	if len(v) == 0 || json.Unmarshal(v, &value) != nil {
		return ""
	}
	var out []string
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			out = append(out, v)
		case float64:
			out = append(out, strconv.FormatFloat(v, 'f', -1, 64))
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			for _, e := range v {
				walk(e)
			}
		}
	}
	walk(value)
	return strings.Join(out, "\n")
}

// scored is what a compaction keeps.
type scored struct{ used, kept, paths, named int }

// scoreOf measures a compaction of a thread that replaced the messages in sources, made as of a message.
func scoreOf(thread []measured, sources map[string]bool, asOf, text string) (s scored) {
	replaced, kept, later, paths := wordSet{}, wordSet{}, wordSet{}, map[string]bool{}
	before := true
	for _, m := range thread {
		switch {
		case sources[m.id]:
			replaced.merge(m.words)
			for _, path := range m.written {
				paths[path] = true
			}
		case before:
			kept.merge(m.words)
		case m.assistant:
			later.merge(m.words)
		}
		before = before && m.id != asOf
	}
	have := wordSet{}
	have.add(text)
	for w := range replaced {
		if !later[w] || kept[w] {
			continue
		}
		s.used++
		if have[w] {
			s.kept++
		}
	}
	s.paths = len(paths)
	for path := range paths {
		if strings.Contains(text, path[strings.LastIndexByte(path, '/')+1:]) {
			s.named++
		}
	}
	return s
}
