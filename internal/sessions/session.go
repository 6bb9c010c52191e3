package sessions

import (
	"cmp"
	"errors"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"precis/events"
)

// Errors of files and lines.
var (
	ErrFormat  = errors.New("the format can't be told; name it with --format")
	errInvalid = errors.New("is not valid JSON")
	errObject  = errors.New("is not a JSON object")
)

// Options say what a file itself may not.
type Options struct {
	// Name is the file's, from which the thread is named where nothing in the file does.
	Name string
	// Thread is the thread of a file that holds one conversation; empty: as the file says.
	Thread string
	// Agent is the agent_id of all events; empty: the format's name.
	Agent string
}

// Unmapped is a kind of content that no event stands for.
type Unmapped struct {
	Kind  string `json:"kind"`
	Count int    `json:"count"`
	Line  int    `json:"line"` // the first
}

// reader maps a file of one format. Its events and what it can't map go to its output.
type reader interface {
	// line maps one JSON object.
	line(o object)
	// flush ends what waits for further lines.
	flush()
}

// output is where readers put what they have read.
type output struct {
	opts     Options
	format   string
	at       int // the line that is read
	events   []events.FileEvent
	unmapped map[string]*Unmapped
	begun    map[string]bool // threads that have their first event
	agent    string          // agent_id of the next message, where the file says one
}

// base is the file's name without its directory and endings.
func (o *output) base() string {
	name := filepath.Base(o.opts.Name)
	for _, ending := range []string{".gz", ".jsonl", ".ndjson", ".json", ".traj"} {
		name = strings.TrimSuffix(name, ending)
	}
	if name == "." || name == "-" || name == "/" {
		return o.format
	}
	return name
}

// thread is the given thread's id, or the one that the options set.
func (o *output) thread(id string) string { return cmp.Or(o.opts.Thread, id, o.base()) }

// skip names something that no event stands for.
func (o *output) skip(kind string) {
	u := o.unmapped[kind]
	if u == nil {
		u = &Unmapped{Kind: kind, Line: o.at}
		o.unmapped[kind] = u
	}
	u.Count++
}

// message adds a thread.message of line at. first holds members for the first event of the thread alone.
func (o *output) message(at int, thread, id string, data, first object) {
	if !o.begun[thread] {
		o.begun[thread] = true
		maps.Copy(data, first)
	}
	data["message_id"] = quote(id)
	data["agent_id"] = quote(cmp.Or(o.opts.Agent, o.agent, o.format))
	o.agent = ""
	o.add(at, events.ThreadMessage, thread, data)
}

// rewind takes a thread back to a message. id makes the edit the same one when the file is read again.
func (o *output) rewind(thread, to, id string, created jsontext.Value) {
	data := object{"message_id": quote(to), "rewind": jsontext.Value("true"), "edit_id": quote(id), "agent_id": quote(cmp.Or(o.opts.Agent, o.format))}
	o.add(o.at, events.MessageEdited, thread, data.with("created_at", created))
}

func (o *output) add(at int, t events.Type, thread string, data object) {
	o.events = append(o.events, events.FileEvent{Line: at, Type: t, Thread: thread, Data: jsonOf(data)})
}

// timeOf returns a time that events take; nil for anything else. Numbers are seconds or milliseconds since 1970.
func timeOf(v jsontext.Value) jsontext.Value {
	switch v.Kind() {
	case jsontext.KindString:
		text := textOf(v)
		for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999"} { // Python's has no zone
			if t, err := time.Parse(layout, text); err == nil {
				return quote(t.UTC().Format(time.RFC3339Nano))
			}
		}
	case jsontext.KindNumber:
		seconds, err := strconv.ParseFloat(string(v), 64)
		if err != nil || seconds < 1e8 || seconds > 1e14 {
			return nil
		}
		if seconds > 1e11 {
			seconds /= 1000
		}
		return quote(time.UnixMilli(int64(seconds * 1000)).UTC().Format(time.RFC3339Nano))
	}
	return nil
}

// usageOf returns the whole numbers of a provider's report, as events read them; nil if it has none.
func usageOf(o object, names ...string) jsontext.Value {
	usage := object{}
	for _, name := range names {
		if _, ok := o.count(name); ok {
			usage[name] = o[name]
		}
	}
	if len(usage) == 0 {
		return nil
	}
	return jsonOf(usage)
}

// part returns the id of a line's nth event, from 0.
func part(id string, n int) string {
	if n == 0 {
		return id
	}
	return id + "#" + strconv.Itoa(n+1)
}

// validID reports whether an id may name a message or a thread, with room for what a reader adds to it.
func validID(id string) bool { return id != "" && len(id) <= events.MaxIDBytes-64 }

// exitCode reads the exit status that agents write into the text of a result.
var exitCode = regexp.MustCompile(`^(?:Error: )?Exit code:? (\d{1,9})\b`)

func exitCodeOf(text string) jsontext.Value {
	if m := exitCode.FindStringSubmatch(text); m != nil {
		n, _ := strconv.Atoi(m[1]) // nine digits at most
		return jsontext.Value(strconv.Itoa(n))
	}
	return nil
}

func (o *output) list() []Unmapped {
	list := make([]Unmapped, 0, len(o.unmapped))
	for _, kind := range sortedKeys(o.unmapped) {
		list = append(list, *o.unmapped[kind])
	}
	return list
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
