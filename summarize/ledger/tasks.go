package ledger

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"precis/summarize/lex"
	"precis/summarize/verdict"
)

var (
	taskTool   = regexp.MustCompile(`(?i)task|todo|plan|checklist|ticket`)
	taskNumber = regexp.MustCompile(`(?i)(?:task|todo|item)?\s*#(\d+)`)
)

// Names of an entry's title, status and number in agents' task lists.
var (
	titleNames  = []string{"content", "title", "subject", "step", "task", "text", "name", "description"}
	statusNames = []string{"status", "state"}
	idNames     = []string{"taskId", "task_id", "id", "todoId", "todo_id"}
)

// taskCall records a call's effect on the agent's own task list: it sets the whole list, shows it, adds an entry,
// or changes one. It returns false for any other call.
func (c *collector) taskCall(at uint64, tool string, args arguments, result Message) bool {
	if c.wholeList(at, args) {
		return true
	}
	if boxes := args.text("todos", "todo_list", "checklist", "tasks", "plan"); taskTool.MatchString(tool) && c.boxes(at, at, strings.ReplaceAll(head(boxes, maxScan), "[-]", "[~]")) { // which is under way where a list is set so
		return true
	}
	c.boxes(at, at, head(args.text("task_progress"), maxScan)) // beside any call
	if !taskTool.MatchString(tool) {
		return false
	}
	id, title, status := args.number(idNames...), args.text("subject", "title", "content"), args.text(statusNames...)
	if !delegates.MatchString(tool) && result.Message != nil && c.shownList(at, head(result.Content.Text(), maxScan), id == "" && title == "") {
		return true
	}
	if id == "" && title == "" || id == "" && args.text("prompt") != "" {
		return false
	}
	if end := outcomeOf(result, verdict.Other, ""); end.refused || end.failed() {
		return true // nothing was changed
	}
	switch {
	case id != "":
		id = "#" + strings.TrimPrefix(id, "#")
		if status == "" {
			status = statusBy(tool, args)
		}
	case result.Message == nil && len(c.results) > 0:
		return true // its result, which tells the number, adds it
	default:
		id = numberOfNew(result, title)
	}
	c.task(Task{ID: id, Title: title, Status: status, At: at})
	return true
}

// unknownStatus is the status of an entry after a change in words that are not known.
const unknownStatus = "unknown"

// Verbs in the names of tools that change an entry, by the status that they give it.
var (
	completing = regexp.MustCompile(`(?i)complete|finish|done|close|resolve`)
	starting   = regexp.MustCompile(`(?i)start|begin|claim`)
	dropping   = regexp.MustCompile(`(?i)delete|remove|drop|cancel`)
	alters     = regexp.MustCompile(`(?i)update|set|edit|mark|change|modify`)
)

// harmless are the arguments of a change that leave the status as it is.
var harmless = setOf("taskId task_id id todoId todo_id subject title content description text name activeForm active_form owner assignee priority metadata labels tags blocks blockedBy blocked_by addBlocks addBlockedBy removeBlocks removeBlockedBy dependencies parent comment note notes")

// statusBy returns the status that a call without one gives its entry: by the name of the tool or a switch; none if it changes something
// else.
func statusBy(tool string, args arguments) string {
	for _, name := range []string{"done", "completed", "complete", "finished"} {
		if is, ok := args.fields[name].(bool); ok && is {
			return "completed"
		} else if ok {
			return "pending"
		}
	}
	switch {
	case alters.MatchString(tool):
		for name := range args.fields {
			if !harmless[name] {
				return unknownStatus
			}
		}
	case completing.MatchString(tool):
		return "completed"
	case starting.MatchString(tool):
		return "in_progress"
	case dropping.MatchString(tool):
		return "deleted"
	}
	return ""
}

var (
	// numberedEntry is an entry as tools show it that number their list, and boxed one with a box to tick.
	numberedEntry = regexp.MustCompile(`(?m)^[ \t]*(?:[-*] +)?#(\d{1,5})[.:)]? +[\[(]([a-zA-Z][a-zA-Z_ -]{2,20})[\])] +(\S.*)$`)
	boxed         = regexp.MustCompile(`(?m)^[ \t]*(?:[-*] +|\d+[.)] +)?\[([ xX~>/-])\] +(\S.*)$`)
	// behindEntry is what such a tool puts behind a title.
	behindEntry = regexp.MustCompile(` *[\[(](?:blocked by|blocks|owner|depends)\b[^\])]*[\])]$`)
	// noEntries is how it shows an empty list.
	noEntries = regexp.MustCompile(`(?i)^\W*no (?:open |pending )?(?:tasks?|todos?)(?: found| yet)?\W*$`)
	// cutShort is in a text that was shortened.
	cutShort = regexp.MustCompile(`…|\.\.\. ?[\[(]?\d+ |(?i)\btruncated\b|\bmore (?:lines|entries|tasks|items)\b`)
)

// boxStatus is what the mark in a box means.
var boxStatus = map[string]string{" ": "pending", "x": "completed", "X": "completed", "~": "in_progress", ">": "in_progress", "/": "in_progress", "-": "cancelled"}

// shownList reads the list that a result shows. If it is all of it, what was known of other entries before is over.
func (c *collector) shownList(at uint64, text string, all bool) bool {
	list := at
	if !all || cutShort.MatchString(text) {
		list = 0
	}
	if all && noEntries.MatchString(text) {
		c.task(Task{ID: "#", Status: "deleted", List: at, At: at})
		return true
	}
	found := numberedEntry.FindAllStringSubmatch(text, maxTasks)
	for _, m := range found {
		c.task(Task{ID: "#" + m[1], Title: behindEntry.ReplaceAllString(m[3], ""), Status: m[2], List: list, At: at})
	}
	if len(found) > 0 || !all {
		return len(found) > 0
	}
	if c.recordsOf(at, text) {
		return true
	}
	return c.boxes(at, list, text)
}

// boxes reads a list with boxes to tick.
func (c *collector) boxes(at, list uint64, text string) bool {
	found := boxed.FindAllStringSubmatch(text, maxTasks)
	for _, m := range found {
		title := lex.Clip(oneLine(m[2]), maxTitle)
		c.task(Task{ID: "list:" + title, Title: title, Status: boxStatus[m[1]], List: list, At: at})
	}
	return len(found) > 0
}

// recordsOf reads a list that is shown as JSON.
func (c *collector) recordsOf(at uint64, text string) bool {
	var v any
	if text = strings.TrimSpace(text); text == "" || text[0] != '[' && text[0] != '{' || json.Unmarshal([]byte(text), &v) != nil {
		return false
	}
	fields, ok := v.(map[string]any)
	if !ok {
		fields = map[string]any{"todos": v}
	}
	return c.wholeList(at, arguments{fields: fields})
}

// wholeList reads an argument that is a list of entries with a status each.
func (c *collector) wholeList(at uint64, args arguments) bool {
	found := false
	for _, name := range []string{"todos", "tasks", "plan", "items", "todo_list", "steps"} {
		list, _ := args.fields[name].([]any)
		for _, e := range list {
			fields, _ := e.(map[string]any)
			entry := arguments{fields: fields}
			title, status := entry.text(titleNames...), entry.text(statusNames...)
			if title == "" || status == "" {
				continue
			}
			title = lex.Clip(oneLine(title), maxTitle)
			c.task(Task{ID: "list:" + title, Title: title, Status: status, List: at, At: at})
			found = true
		}
	}
	return found
}

// Bounds of what is kept of a task, in code points.
const (
	maxTitle  = 120
	maxID     = maxTitle + len("list:")
	maxStatus = 40
)

// task records an entry, each of its texts on one line.
func (c *collector) task(t Task) {
	line := func(s string, most int) string { return strings.ToValidUTF8(lex.Clip(oneLine(s), most), "") }
	t.ID, t.Title, t.Status = line(t.ID, maxID), line(t.Title, maxTitle), line(t.Status, maxStatus)
	put(&c.tasks, t.ID, t, (*Task).join)
}

// number returns an id that is a string or a number.
func (a arguments) number(names ...string) string {
	for _, n := range names {
		switch v := a.fields[n].(type) {
		case string:
			if v != "" {
				return v
			}
		case float64:
			return strconv.FormatFloat(v, 'f', -1, 64)
		}
	}
	return ""
}

// numberOfNew returns the id of a new entry: the number that the tool's result gives it, or else its title.
func numberOfNew(result Message, title string) string {
	if result.Message != nil {
		if m := taskNumber.FindStringSubmatch(lex.Clip(result.Content.Text(), 200)); m != nil {
			return "#" + m[1]
		}
	}
	return "#: " + title
}

// tookIn are words that say an entry is done, and leftOut words that say it is not.
var (
	tookIn  = regexp.MustCompile(`(?i)\b(?:done|finished|complete|\w{2,}ed)\b`)
	leftOut = regexp.MustCompile(`(?i)\b(?:remain\w*|next|pending|blocked|to ?do|left|open|still|not|only|needs?|skipped|deferred|started|will|should)\b|n['’]t\b`)
)

// saidDone reports whether the assistant said of an entry, since it was listed, that it is done: of its end the list does not tell.
func (v *view) saidDone(t Task) bool {
	number := regexp.MustCompile(regexp.QuoteMeta(t.ID) + `\b`)
	return strings.HasPrefix(t.ID, "#") && len(t.ID) > 1 && t.ID[1] != ':' && slices.ContainsFunc(slices.Concat(v.l.Plans, v.l.Answers), func(n Note) bool {
		if n.Last <= t.At || !strings.Contains(n.Text, t.ID) {
			return false
		}
		for s := range sentencesOf(n.Text) {
			if number.MatchString(s) && tookIn.MatchString(s) && !leftOut.MatchString(s) {
				return true
			}
		}
		return false
	})
}

// uncertain reports whether it isn't known if an entry is open.
func (v *view) uncertain(t Task) bool { return t.Status == unknownStatus || v.saidDone(t) }

// done reports whether the status means that the task is finished.
func (t Task) done() bool {
	switch strings.ToLower(t.Status) {
	case "completed", "complete", "done", "finished", "closed", "resolved", "cancelled", "canceled", "deleted", "skipped":
		return true
	}
	return false
}

// underWay reports whether the status means that the task is being worked on.
func (t Task) underWay() bool {
	status := strings.ToLower(t.Status)
	return strings.HasPrefix(status, "in") && !t.process() || status == "active" || status == "doing"
}
