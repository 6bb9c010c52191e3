package ledger

import (
	"cmp"
	"slices"
	"strings"

	"precis/events"
	"precis/summarize/envelope"
	"precis/summarize/lex"
	"precis/summarize/shell"
	"precis/summarize/verdict"
)

// Collect reads a span's messages, in order, and returns its untrimmed ledger.
func Collect(messages []Message) Ledger { return collect(messages, func(f func()) { guarded(f) }) }

// collect reads each message by way of try.
func collect(messages []Message, try func(f func())) Ledger {
	c := collector{results: map[string]Message{}, calls: map[string]events.ToolCall{}, processes: map[string]string{}, edits: map[string][]edit{}}
	messages = slices.Clone(messages)
	for i, m := range messages {
		try(func() { messages[i] = unwrapped(m) })
		try(func() { c.index(messages[i]) })
	}
	for _, m := range messages {
		try(func() { c.message(m) })
	}
	if c.tree.Last > 0 {
		put(&c.events, c.tree.Text, c.tree, (*Note).join)
	}
	l := Ledger{
		Messages: len(messages),
		Requests: c.requests.list, Instructions: c.instructions.list, Decisions: c.decisions.list, Plans: c.plans.list, Answers: c.answers.list,
		Branches: c.branches.list, Commits: c.commits.list, Events: c.events.list, Calls: c.trail, Shown: c.shown.list, Rules: c.rules.list, Runs: c.runs.list, Tasks: latestList(c.tasks.list),
		Files: c.files.list, Acted: c.acted, Ends: c.handed,
	}
	if len(messages) > 0 {
		l.From, l.To = messages[0].Ordinal, messages[len(messages)-1].Ordinal
		l.EndsFrom, l.GoesOn = l.From, messages[0].Role == events.RoleAssistant
	}
	return l
}

// unwrapped returns a tool's result with the text that it holds, if it is JSON around one.
func unwrapped(m Message) Message {
	if m.Role != events.RoleTool {
		return m
	}
	o, ok := envelope.Open(m.Content.Text())
	if !ok || o.Quoted {
		return m
	}
	result := *m.Message
	result.Content, result.ExitCode = events.TextContent(o.Text), cmp.Or(result.ExitCode, o.Exit)
	if o.Failed {
		result.IsError = &o.Failed
	}
	m.Message = &result
	return m
}

// guarded runs f and reports whether it returned. A message that the rules stumble over must not end the process, at each
// start anew: what f did until it panicked counts.
func guarded(f func()) (ok bool) {
	defer func() { ok = recover() == nil }()
	f()
	return true
}

// collector builds a ledger.
type collector struct {
	results map[string]Message         // by call id
	calls   map[string]events.ToolCall // the calls in the span, by id
	turn    uint64                     // the newest message that is no result
	last    uint64                     // the message before the one that is read
	open    string                     // the current file of an editor whose calls name no path

	processes map[string]string // the command lines of processes in the background, by id

	stashed bool           // work was put on the stash, and not taken from it since
	cwd     string         // where a command line went that did nothing else
	dir     string         // where the current command line works, if it says so
	newDirs map[string]int // the directories that it makes
	away    bool           // it works in a directory for temporary files
	told    string         // what the assistant said last

	inText     bool // the message before is the assistant's, with a call in its text
	printsHere bool // the user's turns hold what such calls print

	tree Note // what git status told last

	requests, instructions, decisions, plans, answers, branches, commits, events, shown, rules entries[Note]

	handed []uint64          // where the assistant handed back to the user
	acted  uint64            // the first call that may have changed files
	whole  bool              // the write that is read sets all of its file
	left   []string          // what the write that is read takes out of its file
	to     string            // where the file that is read as deleted is now
	swaps  uint64            // the texts that it replaces by others, 0 if they aren't known
	edits  map[string][]edit // of each file, those that can be undone
	trail  []Note            // the calls of tools, in order
	runs   entries[Run]
	tasks  entries[Task]
	files  entries[File]
}

// entries is a list that is also found by name. It keeps the order of first occurrence, so that the same messages give
// the same ledger.
type entries[T any] struct {
	list []T
	at   map[string]int
}

// of finds or creates the entry of a name. The pointer is valid until the next call.
func (e *entries[T]) of(name string) (entry *T, fresh bool) {
	i, known := e.at[name]
	if !known {
		if e.at == nil {
			e.at = map[string]int{}
		}
		var none T
		i = len(e.list)
		e.at[name], e.list = i, append(e.list, none)
	}
	return &e.list[i], !known
}

// put adds an entry under a name, or joins it with the one that is there.
func put[T any](e *entries[T], name string, entry T, join func(a, b *T)) {
	if old, fresh := e.of(name); fresh {
		*old = entry
	} else {
		join(old, &entry)
	}
}

func (c *collector) note(to *entries[Note], text string, rank int, at uint64) {
	text = strings.ToValidUTF8(text, "") // a ledger has to be stored as JSON
	put(to, text, Note{Text: text, Rank: rank, First: at, Last: at}, (*Note).join)
}

// index makes a result known by its call, a call by its id, and the newest turn.
func (c *collector) index(m Message) {
	if _, seen := c.results[m.ToolCallID]; m.Role == events.RoleTool && m.ToolCallID != "" && !seen {
		c.results[m.ToolCallID] = m
	}
	if m.Role != events.RoleTool {
		c.turn = m.Ordinal
	}
	for _, call := range m.ToolCalls {
		c.calls[call.ID] = call
	}
}

func (c *collector) message(m Message) {
	defer func() {
		c.last = m.Ordinal
		c.inText = m.Role == events.RoleAssistant && len(m.ToolCalls) == 0 && callInText.MatchString(head(m.Content.Text(), maxSaid))
	}()
	switch m.Role {
	case events.RoleUser:
		c.request(m)
	case events.RoleSystem, events.RoleDeveloper:
		c.ruled("system", head(m.Content.Text(), maxSaid), m.Ordinal)
	case events.RoleAssistant:
		c.statements(m)
	case events.RoleTool:
		call, called := c.calls[m.ToolCallID]
		if !called {
			call = events.ToolCall{ID: m.ToolCallID, Name: m.ToolName, Arguments: m.Arguments}
			if m.ToolName != "" { // no name, so nothing is known; or the call itself accounts for the result
				c.call(m.Ordinal, call, m)
			}
		}
		c.result(m, call)
	}
	for _, call := range m.ToolCalls {
		c.call(m.Ordinal, call, c.results[call.ID])
	}
}

// unanswered reports whether a call never got a result, as one that was aborted: others have one, and the thread went on. Of a call at
// the end of the span the next one may have it.
func (c *collector) unanswered(at uint64, result Message) bool {
	return result.Message == nil && len(c.results) > 0 && at < c.turn
}

// call records one call; result has no Message if the span contains none.
func (c *collector) call(at uint64, call events.ToolCall, result Message) {
	if finishing.MatchString(call.Name) || asking.MatchString(call.Name) {
		c.handed = append(c.handed, at)
	}
	if asking.MatchString(call.Name) && result.Message != nil && !agrees(result.Content.Text()) {
		c.note(&c.events, lex.Clip(oneLine(result.Content.Text()), maxShown), answeredElse, at)
	}
	args := parseArguments(call.Arguments)
	line := args.commandLine(call.Name)
	c.moves(at, call.Name, line, "")
	if line != "" {
		steps := shell.Steps(line)
		end := outcomeOf(result, verdict.Run, line)
		end.digest = digest(result)
		kind := kindOf(steps)
		if ofGit.MatchString(end.error) && strings.Contains(line, "git ") {
			kind = "" // not what the line was meant to run
		}
		c.run(at, line, c.workDir(line, args), kind, end)
		c.printed(at, line, kind, result, end)
		if c.unanswered(at, result) {
			return
		}
		if c.acted == 0 && slices.ContainsFunc(steps, mayChange) {
			c.acts(at)
		}
		c.away = elsewhere.MatchString(line)
		if m := changeDir.FindStringSubmatch(line); m != nil {
			c.dir = strings.Trim(m[1], `"'`)
		}
		c.shell(at, line, steps, end)
		if !c.away {
			c.history(at, steps, end)
		}
		if kind != "look" && !strings.Contains(kind, "test") && result.Message != nil && !c.away && !end.refused && !end.failed() && !strings.Contains(line, "--dry-run") {
			c.made(at, result.Content.Text())
		}
		c.dir, c.away = "", false
		return
	}
	if c.unanswered(at, result) {
		return // nothing is known to have happened
	}
	if delegates.MatchString(call.Name) {
		c.acts(at)
	}
	if c.processes[args.number(processNames...)] != "" {
		return // its result says how the process goes on
	}
	o := opOf(call.Name, args)
	kind := verdict.Other
	switch {
	case o == opRead || lookingTools.MatchString(call.Name):
		kind = verdict.Look
	case o != opNone:
		kind = verdict.Edit
	}
	end := outcomeOf(result, kind, "")
	end.digest = digest(result)
	if c.taskCall(at, call.Name, args, result) || c.fileCall(at, call.Name, o, args, end) {
		return
	}
	shown := "call"
	if kind == verdict.Look {
		shown = "look"
	}
	brief := args.brief(call.Name)
	if testsTool.MatchString(call.Name) {
		shown, end = "test", testedBy(result)
		end.digest = digest(result)
	}
	c.run(at, brief, "", shown, end)
	if shown == "call" && !end.refused {
		c.called(at, call.Name, lex.Clip(oneLine(args.text("description", "task_name", "name")), 60), brief, result, end)
	}
}

// result records what a result says beside the outcome of its call.
func (c *collector) result(m Message, call events.ToolCall) {
	args, text := parseArguments(call.Arguments), m.Content.Text()
	c.refusal(m, call.Name, args, text)
	c.chose(m.Ordinal, call.Name, args, text)
	c.moves(m.Ordinal, call.Name, args.commandLine(call.Name), head(text, maxScan))
	if line := args.commandLine(call.Name); !elsewhere.MatchString(line) {
		failed := m.IsError != nil && *m.IsError || strings.Contains(line, "git ") && outcomeOf(m, verdict.Run, line).failed()
		c.git(m.Ordinal, line, text, failed)
		if !failed {
			c.changedOtherwise(m.Ordinal, line, c.workDir(line, args), text)
		}
	}
	c.background(m, args, call.Name, text)
	name := rulesFile(args.text(pathNames...), args.commandLine(call.Name))
	if failed := m.IsError != nil && *m.IsError; name != "" && !failed && !writes.MatchString(call.Name) && args.text("repo", "repository", "owner", "project_id", "url") == "" {
		c.ruled(name, lineNumber.ReplaceAllString(withoutBlocks(head(text, maxSaid)), ""), m.Ordinal)
	}
}

// newest puts ordinals before older ones, and keeps the newest few.
func newest(newer, older []uint64) []uint64 {
	all := slices.Concat(newer, older)
	return slices.Clip(all[:min(len(all), maxChanges)])
}
