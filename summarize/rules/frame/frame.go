package frame

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Opened is an output without its frame, and what the frame states.
type Opened struct {
	Text string
	Exit *int // nil: not stated
	// Failed: the harness says that it could not run the command. Running: that the command goes on. Report: that the text is another agent's.
	Failed, Running, Report bool
}

// deepest is how many frames within each other are taken off.
const deepest = 6

// Open takes the frames off an output; ok is false if it has none, or nothing is in it. The command is the one that was run; empty if the
// call is of another kind.
func Open(output, command string) (o Opened, ok bool) {
	o.Text = output
	for range deepest {
		rest := o
		if !rest.peel(command, ok) || strings.TrimSpace(rest.Text) == "" {
			break
		}
		o, ok = rest, true
	}
	if o.Running = o.Running && (o.Exit == nil || *o.Exit == goesOnCode); o.Running {
		o.Exit = nil
	}
	return o, ok
}

// goesOnCode stands where an exit code would, as long as the command goes on.
const goesOnCode = -1

// Notes takes off what a harness says for a later call, behind any output: it can't be taken for what a file says.
func Notes(output string) (text string, ok bool) {
	text = output
	for {
		trimmed := strings.TrimRight(text, " \t\r\n")
		at := strings.LastIndexByte(trimmed, '\n') + 1
		if at == 0 || !noteLine.MatchString(trimmed[at:]) {
			return text, ok
		}
		text, ok = trimmed[:at], true
	}
}

var noteLine = regexp.MustCompile(`^\[(?:result-id|rerun): \w{1,40}\]$`)

func (o *Opened) peel(command string, framed bool) bool {
	return o.tagged() || o.labelled() || o.sections() || o.codex() || o.head() || o.tail() || o.prompt(command) || framed && o.fence()
}

// Tags of harnesses: the text is in the first kind, the exit code in the second, and what else is known in the third.
var (
	textTags = []string{"output", "stdout", "stderr", "command_output", "output_head", "elided_chars", "output_tail"}
	codeTags = []string{"returncode", "exit_code", "exitcode", "command_exit_code", "return_code"}
	sideTags = []string{"status", "command_status", "retrieval_status", "task_id", "task_type", "timestamp", "terminal_id", "terminal_cwd", "shell_id", "bash_id", "cwd", "duration", "warning", "wall_time"}
)

const observed = "Observation: "

// tagged opens an output that is a sequence of tags, one of which has its text: `<returncode>0</returncode><output>…</output>`. One that was
// cut off ends without its closing tag.
func (o *Opened) tagged() bool {
	rest := strings.TrimSpace(strings.TrimPrefix(o.Text, observed))
	var parts []string
	found, told, running := *o, false, false
	for rest != "" {
		name, body, after, ok := element(rest)
		if !ok {
			return false
		}
		switch {
		case slices.Contains(textTags, name):
			told = true
			if body = strings.Trim(body, "\r\n"); strings.TrimSpace(body) != "" {
				parts = append(parts, body)
			}
		case slices.Contains(codeTags, name):
			found.stated(strings.TrimSpace(body))
		default:
			running = running || strings.EqualFold(strings.TrimSpace(body), "running")
			found.Report = found.Report || name == "task_type" && strings.Contains(body, "agent")
		}
		rest = after
	}
	if !told {
		return false
	}
	found.Text, found.Running = strings.Join(parts, "\n"), found.Running || running
	*o = found
	return true
}

// element splits the first tag from a sequence of them. A text can contain its own closing tag: what ends it is the last one.
func element(s string) (name, body, after string, ok bool) {
	const longest = 24
	end := strings.IndexByte(s, '>')
	if s[0] != '<' || end < 0 || end > longest {
		return "", "", "", false
	}
	name = s[1:end]
	text := slices.Contains(textTags, name)
	if !text && !slices.Contains(codeTags, name) && !slices.Contains(sideTags, name) {
		return "", "", "", false
	}
	body = s[end+1:]
	closing := "</" + name + ">"
	at := strings.Index(body, closing)
	if text {
		at = strings.LastIndex(body, closing)
	}
	if at < 0 {
		return name, body, "", text
	}
	return name, body[:at], strings.TrimSpace(body[at+len(closing):]), true
}

// labelEnd are the lines that stand behind an output under a label.
var labelEnd = regexp.MustCompile(`^(?:Stderr: \(empty\)|Error: \(none\)|Exit Code: (?:\(none\)|(-?\d{1,10}))|Signal: (?:\(none\)|\w{1,12})|Background PIDs: .{0,80}|Process Group PGID: (?:\(none\)|\d+))$`)

const noErrors = "Stderr: (empty)"

// labelled opens an output between labels: `Command: …`, `Directory: …`, `Output: …` or `Stdout: …`, and behind it `Error: (none)`, `Exit Code: 0`.
func (o *Opened) labelled() bool {
	text, found := strings.TrimRight(o.Text, " \r\n"), *o
	ends, quiet := 0, false
	for {
		at := strings.LastIndexByte(text, '\n') + 1
		m := labelEnd.FindStringSubmatch(text[at:])
		if m == nil || at == 0 {
			break
		}
		found.stated(m[1])
		quiet = quiet || m[0] == noErrors
		text, ends = text[:at-1], ends+1
	}
	if ends == 0 || ends == 1 && found.Exit != nil && o.Exit == nil && !strings.HasPrefix(text, "Command: ") {
		return false // a program can print one by itself
	}
	if strings.HasPrefix(text, "Command: ") {
		_, after, ok := strings.Cut(text, "\nDirectory: ")
		if !ok {
			return false
		}
		_, text, _ = strings.Cut(after, "\n")
	}
	for _, label := range []string{"Output: ", "Stdout: "} {
		if rest, ok := strings.CutPrefix(text, label); ok {
			if label == "Stdout: " && !quiet {
				rest = joinErrors(rest, "\nStderr: ")
			}
			found.Text = strings.TrimPrefix(strings.TrimPrefix(rest, "(empty)"), "\n")
			*o = found
			return true
		}
	}
	return false
}

// joinErrors puts what stands behind a label for the errors at the end of the rest.
func joinErrors(text, label string) string {
	at := strings.LastIndex(text, label)
	if at < 0 {
		return text
	}
	head, errors := strings.TrimRight(text[:at], "\r\n"), strings.Trim(text[at+len(label):], "\r\n")
	if strings.TrimSpace(errors) == "" {
		return head
	}
	return head + "\n" + errors
}

var (
	// codeLine states an exit code alone.
	codeLine = regexp.MustCompile(`(?i)^(?:exit[_ ]?code|return[_ ]?code)\s?[:=]\s*(-?\d{1,10})$`)
	outLine  = regexp.MustCompile(`(?i)^\[?(?:stdout|output)\]?:?$`)
	errLine  = regexp.MustCompile(`(?i)\n\[?stderr\]?:?[ \t]*(?:\n|$)`)
)

// sections opens an output under a line `stdout:`, with one for the errors below it, or an exit code before or behind it.
func (o *Opened) sections() bool {
	found := *o
	text := strings.TrimLeft(o.Text, "\r\n")
	line, rest := cutLine(text)
	coded := false
	if m := codeLine.FindStringSubmatch(line); m != nil {
		found.stated(m[1])
		coded = true
		line, rest = cutLine(strings.TrimLeft(rest, "\r\n"))
	}
	if !outLine.MatchString(line) {
		return false
	}
	trimmed := strings.TrimRight(rest, " \r\n")
	at := strings.LastIndexByte(trimmed, '\n') + 1
	if m := codeLine.FindStringSubmatch(trimmed[at:]); m != nil && !coded && at > 0 && errLine.MatchString(rest) {
		found.stated(m[1])
		rest, coded = trimmed[:at-1], true
	}
	all := errLine.FindAllStringIndex(rest, -1)
	if len(all) > 0 {
		last := all[len(all)-1]
		rest = joinErrors(rest[:last[0]]+"\n\x00"+rest[last[1]:], "\n\x00")
	}
	if !coded && len(all) == 0 {
		return false // "Output:" of a program
	}
	found.Text = strings.Trim(rest, "\r\n")
	*o = found
	return true
}

func cutLine(text string) (line, rest string) {
	line, rest, _ = strings.Cut(text, "\n")
	return strings.TrimRight(line, " \t\r"), rest
}

// notRun is what is said of a command that was refused before it ran; the command itself, which can be a long script, stands between.
const notRun = "exec_command failed for `"

// chunk begins the lines about an output, behind the command.
var chunk = regexp.MustCompile(`(?:^|\n)Chunk ID: \w+\r?\nWall time: `)

// codex takes off a command that stands in front of the lines about its output, and the one that could not be run.
func (o *Opened) codex() bool {
	switch {
	case strings.HasPrefix(o.Text, "Command: "):
		if at := chunk.FindStringIndex(o.Text); at != nil {
			o.Text = strings.TrimPrefix(o.Text[at[0]:], "\n")
			return true
		}
	case strings.HasPrefix(o.Text, notRun):
		if at := strings.LastIndex(o.Text, "`: "); at > 0 {
			o.Text, o.Failed = "exec_command failed: "+o.Text[at+len("`: "):], true
			return true
		}
	}
	return false
}

var (
	// headLine is a line in front of an output.
	headLine = regexp.MustCompile(`^(?:\[\w+ for '.*'\] Result:|EXECUTION RESULT of \[\w+\]:|OBSERVATION:|Observation:|(?:New|Current) Terminal (?:Output|Screen):|Command output:|Command executed(?: successfully)?\.|The command completed\.|Tool: \w+)$`)
	// ranIn is a line with the place, and often the exit code; Output: follows.
	ranIn = regexp.MustCompile(`^Command (?:executed in terminal|is still running in)\b.{0,300}?(?:Exit code: (-?\d{1,10}))?$`)
	// failedWith stands behind a command in quotes.
	failedWith = regexp.MustCompile(`^Command "(?s:.+?)" failed with exit code (-?\d{1,10})\.\n`)
)

func (o *Opened) head() bool {
	if m := failedWith.FindStringSubmatchIndex(o.Text); m != nil {
		o.stated(o.Text[m[2]:m[3]])
		o.Text = strings.TrimLeft(o.Text[m[1]:], "\r\n")
		return true
	}
	text := strings.TrimLeft(o.Text, "\r\n")
	line, rest := cutLine(text)
	if m := ranIn.FindStringSubmatch(line); m != nil {
		next, below := cutLine(rest)
		if !outLine.MatchString(next) {
			return false
		}
		o.stated(m[1])
		o.Running = o.Running || strings.Contains(line, "still running")
		o.Text = below
		return true
	}
	if m := codeLine.FindStringSubmatch(line); m != nil { // in front of a label
		next, _ := cutLine(strings.TrimLeft(rest, "\r\n"))
		if next != "Command output:" && next != "Output:" {
			return false
		}
		o.stated(m[1])
		o.Text = strings.TrimLeft(rest, "\r\n")
		return true
	}
	if !headLine.MatchString(line) {
		return false
	}
	next, below := cutLine(strings.TrimLeft(rest, "\r\n"))
	switch {
	case strings.HasPrefix(line, "Tool: "):
		if next != "Result:" {
			return false
		}
		rest = below
	case strings.HasPrefix(line, "Command executed") || line == "The command completed.":
		if codeLine.MatchString(next) {
			break
		}
		if !outLine.MatchString(next) {
			return false
		}
		rest = below
	}
	o.Text = strings.TrimLeft(rest, "\r\n")
	return true
}

var (
	// tailLine is a line behind an output; what it states of the exit code is one of the groups.
	tailLine = regexp.MustCompile(`^(?:\[(?:The command (?:completed|exited|finished) with exit code (-?\d{1,10})\b.{0,80}|Command finished with exit code (-?\d{1,10})|Process exited with code (-?\d{1,10})|Current working directory: .{0,400}|Python [Ii]nterpreter: .{0,400}|result-id: \w{1,40}|rerun: \w{1,40})\]|<exited with exit code (-?\d{1,10})>|Command failed with exit code: (\d{1,10})\.|Command executed successfully\.|Command completed\.|The previous shell command ended, so on the next invocation of this tool, .{0,120})$`)
	// goesOn says that the command has not ended: the exit code beside it is none.
	goesOn = regexp.MustCompile(`^\[(?:The command (?:has no new output|timed out)|Command (?:is )?still running)\b.{0,600}\]$`)
	// atPrompt is the prompt of a shell that waits.
	atPrompt = regexp.MustCompile(`^(?:\([\w.-]{1,40}\) )?[\w.-]{1,60}@[\w.-]{1,80}:\S{0,200}\s?[$#]$`)
	// editorState is what an editor in a shell says of itself.
	editorState = regexp.MustCompile(`\n\(Open file: [^\n]{0,300}\)\n\(Current directory: [^\n]{0,300}\)\nbash-\$$`)
)

func (o *Opened) tail() bool {
	text := strings.TrimRight(o.Text, " \t\r\n")
	if at := editorState.FindStringIndex(text); at != nil && !strings.HasPrefix(text, "[File: ") { // there it says which file is shown
		o.Text = text[:at[0]] + "\n"
		return true
	}
	start := strings.LastIndexByte(text, '\n') + 1
	line := strings.TrimRight(text[start:], "\r")
	if m := tailLine.FindStringSubmatch(line); m != nil {
		for _, code := range m[1:] {
			o.stated(code)
		}
	} else if goesOn.MatchString(line) {
		o.Running = true
	} else if !atPrompt.MatchString(line) {
		return false
	}
	if start == 0 {
		return false
	}
	o.Text = strings.TrimRight(text[:start], " \t\r\n") + "\n"
	return true
}

// typed is a prompt and what was typed at it.
var typed = regexp.MustCompile(`^(?:\([\w.-]{1,40}\) )?[\w.-]{1,60}@[\w.-]{1,80}:\S{0,200}?\s?[$#] (\S.*)$`)

// prompt takes off the first line of a terminal's screen: the command that was typed.
func (o *Opened) prompt(command string) bool {
	line, rest := cutLine(strings.TrimLeft(o.Text, "\r\n"))
	m := typed.FindStringSubmatch(line)
	if m == nil || rest == "" || command == "" || !strings.HasPrefix(command, m[1]) {
		return false
	}
	o.Text = strings.TrimPrefix(rest, strings.TrimPrefix(strings.TrimPrefix(command, m[1]), "\n")) // further lines of it
	o.Text = strings.TrimLeft(o.Text, "\r\n")
	return true
}

// fence opens a text that is one fenced block.
func (o *Opened) fence() bool {
	text := strings.TrimSpace(o.Text)
	line, rest := cutLine(text)
	const most = 16
	if !strings.HasPrefix(line, "```") || len(line) > most || strings.Contains(line[3:], " ") {
		return false
	}
	body, ok := strings.CutSuffix(rest, "\n```")
	if !ok || strings.Contains("\n"+body, "\n```") {
		return false
	}
	o.Text = body
	return true
}

// stated keeps the exit code of the outermost frame.
func (o *Opened) stated(code string) {
	if n, err := strconv.ParseInt(code, 10, 32); err == nil && o.Exit == nil {
		exit := int(n)
		o.Exit = &exit
	}
}
