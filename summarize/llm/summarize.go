package llm

import (
	"context"
	"errors"
	"strings"

	"precis/summarize/lex"
)

// minPartChars keeps halving from ending in calls that are all prompt.
const minPartChars = 2000

// summarize makes the summary with one provider: in one call, or in parts that are merged. Where the
// provider says that the material is too long for its model, parts of half the size are tried.
func (r *run) summarize(ctx context.Context, e *endpoint) (string, error) {
	if r.limits.source < 2 {
		return "", errNotPossible
	}
	size := r.job.MaxInputChars
	for {
		text, err := r.inParts(ctx, e, size)
		var failed *Error
		if !errors.As(err, &failed) || failed.Kind != KindContextTooLong {
			return text, err
		}
		if size <= 0 || size > r.limits.source {
			size = r.limits.source
		}
		if size /= 2; size < minPartChars {
			return "", err
		}
		r.discard()
	}
}

func (r *run) inParts(ctx context.Context, e *endpoint, size int) (string, error) {
	f := fenceFor(r.content)
	material, whole := r.content, r.limits
	if r.file != nil {
		material, whole = r.file.sectioned(f.mark), r.file.left(r.limits)
	}
	parts := split(material, size)
	if len(parts) == 1 {
		return r.ask(ctx, e, question{fence: f, material: material, limits: whole})
	}
	summaries, err := r.each(ctx, e, f, parts)
	if err != nil {
		return "", err
	}
	return r.merge(ctx, e, summaries, size, whole)
}

// merge asks for one summary of summaries. They are much shorter than their sources, so where they still
// are too many for one call, one more round or two makes them fit.
func (r *run) merge(ctx context.Context, e *endpoint, summaries []string, size int, whole limits) (string, error) {
	for {
		material := strings.Join(summaries, "\n\n")
		f := fenceFor(material)
		parts := split(material, size)
		if len(parts) == 1 {
			return r.ask(ctx, e, question{fence: f, material: material, limits: whole, before: mergePrompt, parts: len(summaries)})
		}
		var err error
		if summaries, err = r.each(ctx, e, f, parts); err != nil {
			return "", err
		}
	}
}

// each summarizes the parts, one after the other: how many calls go out at once is for jobs to share.
func (r *run) each(ctx context.Context, e *endpoint, f fence, parts []string) ([]string, error) {
	var out []string
	for i, part := range parts {
		q := question{fence: f, material: part, limits: r.partLimits(part), before: partPrompt, part: i + 1, parts: len(parts)}
		text, err := r.ask(ctx, e, q)
		if err != nil {
			return nil, err
		}
		out = append(out, text)
	}
	return out, nil
}

// partsShrinkBy is the least by which a round of parts makes the material shorter.
const partsShrinkBy = 4

// partLimits gives a part the room of the whole, as far as the material still shrinks by it.
func (r *run) partLimits(part string) limits {
	n := lex.Runes(part)
	whole := r.limits.room().chars * outOf / askedFor
	return limits{chars: max(1, min(whole, n/partsShrinkBy)), source: max(n, 2), count: r.limits.count}
}

// verified puts right what a model quotes of a file, and takes out what an account of a conversation must not hold.
func (r *run) verified(text string) string {
	switch {
	case r.file != nil:
		return r.file.quotes(text)
	case r.job.Kind == promptCompaction:
		return described(text, r.content)
	}
	return text
}

// question is one request in the making.
type question struct {
	fence       fence
	material    string
	limits      limits
	before      string
	part, parts int
}

// ask makes the request, and checks the answer before anything is done with it.
func (r *run) ask(ctx context.Context, e *endpoint, q question) (string, error) {
	v := values{room: q.limits.room(), toolName: r.job.ToolName, category: r.job.Category, part: q.part, parts: q.parts}
	reply, err := r.call(ctx, e, Request{
		Model:     e.config.Model,
		System:    frame,
		User:      r.prompt.user(v, q.before, q.fence.around(q.material)),
		MaxTokens: q.limits.maxTokens(),
	})
	if err != nil {
		return "", err
	}
	reply.Text = r.options.Mask(reply.Text) // it may go to a model again, as a part of a whole
	text, err := checked(reply, q.limits, r.verified)
	if err != nil {
		r.refuse(err)
		return "", err
	}
	return text, nil
}
