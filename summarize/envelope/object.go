package envelope

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// texts are the names, squeezed, under which tools put what they print or read.
var texts = map[string]bool{
	"output": true, "stdout": true, "stderr": true, "error": true, "result": true, "response": true, "log": true, "logs": true, "content": true,
	"contents": true, "text": true, "combinedoutput": true, "aggregatedoutput": true, "formattedoutput": true,
}

// streams are texts that stand beside each other.
var streams = map[string]bool{"output": true, "stdout": true, "stderr": true, "error": true}

func isNamed(m Member) bool { return texts[squeezed(m.Name)] }

func isStream(m Member) bool { return streams[squeezed(m.Name)] && m.Value.Kind() == '"' }

// object reads an object with one text, the streams of a program, or MCP's content. All that is beside the text must be small.
func (o *Opened) object(v jsontext.Value) bool {
	members, ok := Members(v)
	if !ok {
		return false
	}
	at := textIn(members)
	if at < 0 {
		return false
	}
	text := members[at]
	if text.Value.Kind() == '"' {
		o.Text = TextOf(text.Value)
	} else if inner, ok := open(string(text.Value), 1); ok {
		o.take(inner)
	} else {
		return false
	}
	o.Failed = o.Failed || StatesError(text.Name, text.Value)
	o.Quoted = o.Quoted || !isNamed(text)
	size := 0
	for i, m := range members {
		size += len(m.Name)
		switch name := squeezed(m.Name); {
		case i == at:
		case isStream(text) && isStream(m):
			o.join(TextOf(m.Value), i < at)
			o.Failed = o.Failed || StatesError(m.Name, m.Value)
		case name == "structuredcontent" || name == "meta":
			o.Without += utf8.RuneCount(m.Value)
		case m.Value.Kind() == '{':
			inner, _ := Members(m.Value)
			for _, x := range inner {
				o.state(x, m.Name+".", text)
				if size += len(x.Name) + len(x.Value); len(x.Value) > small {
					return false
				}
			}
		default:
			o.state(m, "", text)
			if size += len(m.Value); len(m.Value) > small {
				return false
			}
		}
	}
	o.Failed = o.Failed || o.unsuccessful && (o.Exit == nil || *o.Exit == 0)
	return size <= allSmall
}

// textIn returns which member is the text: one with a name for it, the longest if several have, or else one that is much longer than
// the others. -1: none is.
func textIn(members []Member) int {
	named, longest, second, all := -1, -1, 0, 0
	for i, m := range members {
		size, kind := len(m.Value), m.Value.Kind()
		all += size
		if isNamed(m) && (kind == '"' || kind == '[' || kind == '{') && (named < 0 || size > len(members[named].Value)) {
			named = i
		}
		switch {
		case kind != '"':
		case longest < 0 || size > len(members[longest].Value):
			if longest >= 0 {
				second = len(members[longest].Value)
			}
			longest = i
		default:
			second = max(second, size)
		}
	}
	if longest >= 0 && longest != named && len(members[longest].Value) >= longText {
		if size := len(members[longest].Value); size*5 >= all*2 && size >= 3*second {
			return longest
		}
		if named >= 0 && !isStream(members[longest]) && len(members[longest].Value) > len(members[named].Value) {
			return -1
		}
	}
	return named
}

// join adds the text of the other stream.
func (o *Opened) join(other string, before bool) {
	switch {
	case strings.Contains(o.Text, other):
	case o.Text == "":
		o.Text = other
	case before:
		o.Text = strings.TrimRight(other, "\n") + "\n" + o.Text
	default:
		o.Text = strings.TrimRight(o.Text, "\n") + "\n" + other
	}
}

// state reads a member beside the text, or one within such a member. What is said of another text than a tool's own is not said of the call.
func (o *Opened) state(m Member, within string, text Member) {
	said := string(m.Value)
	beside := m
	if within != "metadata." {
		beside.Name = within + m.Name
	}
	switch name := squeezed(m.Name); name {
	case "exitcode", "exitstatus", "returncode", "exit", "code", "status":
		if n, ok := numberOf(m.Value); ok && (isStream(text) || strings.Contains(name, "exit") || strings.Contains(name, "return")) {
			if o.Exit == nil {
				o.Exit = &n
			}
			return
		}
		o.Failed = o.Failed || isNamed(text) && (said == `"error"` || said == `"failed"` || said == `"failure"`)
	case "startline", "linestart", "startlinenumber":
		if n, ok := numberOf(m.Value); ok && n > 0 {
			o.Line = n
		}
	case "truncated", "interrupted", "isimage", "isbinary", "timedout", "killed", "cancelled", "canceled":
		if said == "false" {
			return
		}
	case "success", "ok", "succeeded", "iserror":
		if said == strconv.FormatBool(name == "iserror") {
			if name == "iserror" {
				o.Failed = true
			}
			o.unsuccessful = true
		}
		return
	}
	o.Failed = o.Failed || StatesError(m.Name, m.Value)
	switch m.Value.Kind() {
	case '"', '0', 't', 'f':
		if said != `""` {
			o.Beside = append(o.Beside, beside)
		}
	case '[', '{':
		if len(said) > len("[]") {
			o.Beside = append(o.Beside, beside)
		}
	}
}

// StatesError reports whether a member of an answer says that the answer is an error: {"error": …}, {"isError": true}. A count of
// errors is none.
func StatesError(name string, v jsontext.Value) bool {
	switch name {
	case "error", "errors", "isError", "is_error":
	default:
		return false
	}
	said := string(v)
	none := said == "null" || said == "false" || said == `""` || said == "0" || len(strings.Trim(said, "{}[] \t\r\n")) == 0
	return !none && (v.Kind() != '0' || name == "error")
}
