package prompt

import (
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"precis/events"
)

// Build makes a prompt. It fails only on an unknown format.
func Build(r Request) (Prompt, error) {
	write, ok := writers[r.Format]
	if !ok {
		return Prompt{}, fmt.Errorf("build prompt as %q: %w", r.Format, ErrFormat)
	}
	r.Messages = outlined(r.Messages)
	units, waiting := assemble(r.Messages, r.Edge, shapes[r.Format], r.Apart)
	compose(units, r)
	d := draft{units: units, summary: headed(r), role: r.summaryRole(), apart: r.Apart, onlySummaries: r.OnlySummaries, from: &sources{apart: systemApart(r.Format), count: r.Count}}
	if systemApart(r.Format) {
		d.inlineSystem(r.Format)
	}
	if r.Compaction != nil {
		d.id = r.Compaction.ID
	}
	// Whether an opening is needed shows when everything else is chosen: room for one is kept.
	opening := openingCost(r)
	base := promptFrame + compactionCost(d.summary, r.Count) + opening
	total := fit(units, base, r.MaxTokens, r.Context.KeepOutputs.Turns, r.Count)
	total, shortened := keepWhole(units, total, r.MaxTokens, r.Count)
	total = d.shrink(total, r) - opening
	if d.opens = d.opener(r.Format); d.opens != "" && r.Apart {
		d.opens = ""
	}
	if d.opens != "" {
		total += messageFrame + r.Count(d.opens)
	}
	p := Prompt{
		TokenCount: total, WithinBudget: r.MaxTokens <= 0 || total <= r.MaxTokens,
		DroppedMessageIDs: droppedIDs(units), SummaryIDs: d.summaryIDs(), WaitingMessageIDs: waiting,
		SummaryLeftOut: r.Compaction != nil && !d.summarized(), OmittedParts: omittedParts(units),
		ShortenedMessageIDs: shortened,
	}
	err := write(&p, d)
	p.Sources, p.SystemSource, p.Parts = d.from.messages, d.from.system, d.parts(total, r.Count)
	return p, err
}

// draft is a prompt before it takes a provider's shape.
type draft struct {
	units   []unit
	summary string // the compaction under its heading; empty for none
	role    string // its role
	id      string // its id
	opens   string // what is said in the user's name before everything else; empty for nothing
	apart   bool   // see Request.Apart
	from    *sources

	onlySummaries bool // see Request.OnlySummaries
}

// written is the list of a prompt's messages, of which d.from has the sources.
func written[M any](d draft, messages []M) (jsontext.Value, error) {
	list := []byte{'['}
	for i := range messages {
		if i > 0 {
			list = append(list, ',')
		}
		if d.onlySummaries {
			if from := d.from.at(i); len(from.SummaryIDs) == 0 && len(from.MessageIDs) > 0 {
				list = append(list, "null"...)
				continue
			}
		}
		if ready, is := any(&messages[i]).(readyMessage); is && ready.isReady() {
			list = ready.append(list)
			continue
		}
		m, err := json.Marshal(messages[i])
		if err != nil {
			return nil, err
		}
		list = append(list, m...)
	}
	return append(list, ']'), nil
}

// readyMessage is a message of a format that most messages of a prompt are: of values that are ours, and compact, so that none is to be checked again.
type readyMessage interface {
	isReady() bool
	append(list []byte) []byte
}

var writers = map[string]func(*Prompt, draft) error{
	FormatOpenAI: writeOpenAI, FormatResponses: writeResponses, FormatAnthropic: writeAnthropic, FormatGemini: writeGemini,
	FormatMessages: writePlain,
}

// Stride is how many messages of a prompt are worked on, some 0.1 ms, until what is short and waits for a processor has its turn: an event on its way
// from a publisher to its record is taken up by a dozen goroutines, each of which would wait for whole prompts of others.
const Stride = 16

// each calls text for what is said in addition to the units, which are the opening and the compaction, and unit for each unit
// that stands, in the prompt's order.
// size is how many messages the format has so far: each notes with it what they are made of.
func (d draft) each(size func() int, text func(role, text string), write func(unit)) {
	if d.opens != "" {
		text(events.RoleUser, d.opens)
	}
	for i, opening := 0, d.opening(); i <= len(d.units); i++ {
		if i == opening && d.summary != "" {
			text(d.role, d.summary)
			d.from.compaction(d, size())
		}
		if i%Stride == 0 {
			runtime.Gosched()
		}
		if i < len(d.units) && !d.units[i].dropped {
			d.from.begin(&d.units[i])
			write(d.units[i])
			d.from.end(size())
		}
	}
	if n := size(); n > 0 {
		d.from.at(n - 1) // the last may have none
	}
}

// systemApart reports whether a format has system messages apart from the others.
func systemApart(format string) bool { return format == FormatAnthropic || format == FormatGemini }

// inlineSystem marks the text of system messages behind the opening. They stay at their places, as the user's: moved to the
// others they would change the beginning of the prompt, and the provider's cache of all of it would be lost.
func (d draft) inlineSystem(format string) {
	for i := d.opening(); i < len(d.units); i++ {
		if u := &d.units[i]; isSystem(u.role) {
			u.inline, u.text = true, systemMark+u.text
			if u.blocks != nil {
				u.blocks = slices.Insert(u.blocks, 0, block{
					raw: textPart(format, events.RoleUser, strings.TrimSpace(systemMark)), call: -1, isText: true, made: true, tokens: len(systemMark) / 4,
				})
			}
		}
	}
}

// opening is how many units come before the compaction: the system messages that open the thread.
func (d draft) opening() int {
	n := 0
	for n < len(d.units) && isSystem(d.units[n].role) {
		n++
	}
	return n
}

// headed is the compaction under its heading.
func headed(r Request) string {
	if r.Compaction == nil {
		return ""
	}
	return strings.TrimSpace(r.Context.SummaryHeading + "\n" + r.Compaction.Content)
}

// summaryRole is the policy's; without one the lowest that every provider takes.
func (r Request) summaryRole() string {
	if r.Context.SummaryRole == "" {
		return events.RoleUser
	}
	return r.Context.SummaryRole
}

func droppedIDs(units []unit) []string {
	ids := []string{}
	for i := range units {
		u := &units[i]
		if u.dropped {
			ids = append(ids, u.ids()...)
			continue
		}
		if u.message != nil && u.message.trimmed() {
			ids = append(ids, u.message.MessageID)
		}
		named := map[string]bool{}
		for _, c := range u.calls {
			if c.result != nil && !c.result.Deleted && (c.cut || c.result.trimmed()) && !named[c.result.MessageID] {
				named[c.result.MessageID] = true
				ids = append(ids, c.result.MessageID)
			}
		}
	}
	return ids
}

// summarized says that the compaction stands in the prompt, whole or cut short.
func (d draft) summarized() bool { return d.summary != "" && d.summary != omittedSummary }

// omittedParts are those of the contents that are shown.
func omittedParts(units []unit) []OmittedPart {
	list := []OmittedPart{}
	note := func(blocks []block) {
		for _, b := range blocks {
			if b.omitted != nil {
				list = append(list, *b.omitted)
			}
		}
	}
	for i := range units {
		u := &units[i]
		if u.dropped {
			continue
		}
		note(u.blocks)
		list = append(list, u.omitted...)
		for n := range u.calls {
			if u.calls[n].verbatim() {
				note(u.calls[n].blocks)
			}
		}
		for _, t := range u.beside() {
			note(t.blocks)
		}
	}
	return list
}

// summaryIDs are the summaries that stand in the prompt, the compaction first.
func (d draft) summaryIDs() []string {
	ids := []string{}
	if d.summarized() {
		ids = append(ids, d.id)
	}
	for _, u := range d.units {
		for n := range u.calls {
			if c := &u.calls[n]; !u.dropped && c.summarized() {
				ids = append(ids, c.result.Summary.ID)
			}
		}
	}
	return ids
}
