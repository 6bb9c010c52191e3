package manual

import (
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"
)

// Man writes the manual page in roff: section 1, for man(1) and mandoc(1). The date is that of the version; empty is unknown.
func Man(w io.Writer, app *kong.Application, version, date string) error {
	p := &page{}
	p.line(`.TH PROCESSOR 1 "%s" "precis %s" "User Commands"`, date, quoted(version))
	p.section("NAME")
	p.line(`%s \- compacts the memory of AI agents, with proof`, escaped(app.Name))
	p.section("SYNOPSIS")
	p.line(`.B %s`, escaped(app.Name))
	p.line(`[\fIcommand\fR] [\fIflags\fR]`)
	p.section("DESCRIPTION")
	p.text(app.Help)
	p.section("FLAGS")
	for _, f := range app.Flags {
		p.flag(f)
	}
	p.section("COMMANDS")
	for _, command := range app.Children {
		if !command.Hidden {
			p.command(command)
		}
	}
	p.environment(app)
	p.section("EXIT STATUS")
	for _, status := range [][2]string{
		{"0", "Done."}, {"1", "Found something wrong: a rejected line, an unknown thread, a damaged store."},
		{"2", "Wrong usage or configuration."}, {"3", "Can't reach what it needs."},
	} {
		p.item(`\fB`+status[0]+`\fR`, status[1])
	}
	p.section("SEE ALSO")
	p.line(`.BR nats\-server (8)`)
	_, err := io.WriteString(w, p.b.String())
	return err
}

// page collects lines of roff.
type page struct{ b strings.Builder }

func (p *page) line(format string, args ...any) { fmt.Fprintf(&p.b, format+"\n", args...) }

func (p *page) section(name string) { p.line(".SH %s", name) }

// command is a subsection: how it is called, what it does, its flags and examples.
func (p *page) command(c *kong.Node) {
	usage := `\fB` + escaped(c.Name) + `\fR`
	for _, arg := range c.Positional {
		usage += ` \fI` + escaped(arg.Summary()) + `\fR`
	}
	p.line(".SS %s", usage)
	p.text(c.Help)
	for _, arg := range c.Positional {
		p.item(`\fI`+escaped(arg.Summary())+`\fR`, arg.Help)
	}
	for _, f := range c.Flags {
		p.flag(f)
	}
	if c.Detail != "" {
		p.line(".PP")
		p.text(c.Detail)
	}
}

func (p *page) flag(f *kong.Flag) {
	if f.Hidden {
		return
	}
	name := `\fB\-\-` + escaped(f.Name) + `\fR`
	if f.Short != 0 {
		name = `\fB\-` + string(f.Short) + `\fR, ` + name
	}
	if !f.IsBool() && !f.IsCounter() {
		name += `=\fI` + escaped(f.FormatPlaceHolder()) + `\fR`
	}
	help := f.Help
	if len(f.Envs) > 0 {
		help += " ($" + strings.Join(f.Envs, ", $") + ")"
	}
	p.item(name, help)
}

func (p *page) item(name, text string) {
	p.line(".TP")
	p.line("%s", name)
	p.line("%s", guarded(escaped(text)))
}

// text writes paragraphs; lines that are indented stand as they are, as examples do.
func (p *page) text(text string) {
	literal, apart := false, false // apart: a paragraph has ended, and the next one is still to begin
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		example, indented := strings.CutPrefix(line, "    ")
		if indented != literal && (indented || line != "") {
			p.line(map[bool]string{true: ".PP\n.RS 4\n.nf", false: ".fi\n.RE\n.PP"}[indented])
			literal, apart = indented, false
		}
		if apart && line != "" {
			p.line(".PP")
			apart = false
		}
		switch {
		case indented:
			p.line("%s", guarded(escaped(example)))
		case line == "" && !literal:
			apart = true
		case line == "":
			p.line(`\&`)
		default:
			p.line("%s", guarded(escaped(line)))
		}
	}
	if literal {
		p.line(".fi\n.RE")
	}
}

// environment lists the variables of all flags once.
func (p *page) environment(app *kong.Application) {
	p.section("ENVIRONMENT")
	p.item(`\fBPRECIS_\fR\fIKEY\fR`, "A key of the configuration for the commands that take one: PRECIS_HTTP_LISTEN sets http.listen.")
	seen := map[string]bool{}
	for _, command := range app.Children {
		for _, f := range command.Flags {
			for _, name := range f.Envs {
				if !seen[name] && !f.Hidden {
					seen[name] = true
					p.item(`\fB`+escaped(name)+`\fR`, "--"+f.Name+": "+f.Help)
				}
			}
		}
	}
}

// escaped takes their meaning from characters that roff reads.
func escaped(text string) string {
	return strings.NewReplacer(`\`, `\e`, `-`, `\-`, `'`, `\(aq`, `"`, `\(dq`, "`", "\\(ga", "^", `\(ha`, "~", `\(ti`, "…", `\&...`).Replace(text)
}

// guarded keeps a line from being read as a request.
func guarded(line string) string {
	if strings.HasPrefix(line, ".") || strings.HasPrefix(line, `\(aq`) {
		return `\&` + line
	}
	return line
}

// quoted makes a text safe inside the quotes of a macro's argument.
func quoted(text string) string { return strings.ReplaceAll(text, `"`, "") }
