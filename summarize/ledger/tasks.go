package ledger

import (
	"regexp"
	"strconv"
	"strings"

	"precis/summarize/lex"
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

// taskCall records a call's effect on the agent's own task list: it sets the whole list, adds an entry,
// or changes one. It returns false for any other call.
func (c *collector) taskCall(at uint64, tool string, args arguments, result Message) bool {
	if c.wholeList(at, args) {
		return true
	}
	if !taskTool.MatchString(tool) {
		return false
	}
	id, title, status := args.number(idNames...), args.text("subject", "title", "content"), args.text(statusNames...)
	if id == "" && title == "" || id == "" && args.text("prompt") != "" {
		return false
	}
	if id == "" {
		id = givenNumber(result, strconv.FormatUint(at, 10))
	}
	c.task(Task{ID: "#" + id, Title: title, Status: status, At: at})
	return true
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

// givenNumber returns the number that the tool's result assigned to a new entry.
func givenNumber(result Message, fallback string) string {
	if result.Message == nil {
		return fallback
	}
	if m := taskNumber.FindStringSubmatch(lex.Clip(result.Content.Text(), 200)); m != nil {
		return m[1]
	}
	return fallback
}

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
