package llm

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"precis/summarize/lex"
)

// Prompts finds the prompt for a job: an own one of the category, an own one of the kind, the built-in one.
type Prompts struct{ own map[string]string }

// Prompt is a prompt's text with its placeholders.
type Prompt struct {
	Name string
	Text string
}

// placeholder is what own prompts may hold: {limit} the budget in words, {max_chars}, {max_tokens},
// {tool_name}, {category}, and {content} where the material is to stand (else it follows the prompt).
// {maxTokens} and {context} are read as {max_tokens} and {content}. Other braces are text.
var placeholder = regexp.MustCompile(`\{[A-Za-z_]+\}`)

var placeholders = []string{"{limit}", "{max_chars}", "{max_tokens}", "{maxTokens}", "{tool_name}", "{category}", "{content}", "{context}"}

// NewPrompts takes own prompts by category or kind. Errors wrap ErrPrompt and name the key.
func NewPrompts(own map[string]string) (Prompts, error) {
	for _, name := range slices.Sorted(maps.Keys(own)) {
		if _, ok := builtinPrompts[name]; !ok && name != promptToolResult {
			known := slices.Sorted(maps.Keys(builtinPrompts))
			return Prompts{}, fmt.Errorf("%w: %q is not a category or kind; there are %s, %s", ErrPrompt, name, promptToolResult, strings.Join(known, ", "))
		}
		if strings.TrimSpace(own[name]) == "" {
			return Prompts{}, fmt.Errorf("%w: %s is empty", ErrPrompt, name)
		}
		for _, p := range placeholder.FindAllString(own[name], -1) {
			if !slices.Contains(placeholders, p) {
				return Prompts{}, fmt.Errorf("%w: %s holds %s; there are %s", ErrPrompt, name, p, strings.Join(placeholders, ", "))
			}
		}
	}
	return Prompts{own: maps.Clone(own)}, nil
}

// For is the prompt for a kind ("tool_result", "compaction", "history") and, for tool results, a category.
func (p Prompts) For(kind, category string) Prompt {
	names := []string{kind}
	if kind == promptToolResult {
		names = []string{category, kind}
	}
	for _, name := range names {
		if text, ok := p.own[name]; ok {
			return Prompt{Name: name, Text: text}
		}
	}
	if text, ok := builtinPrompts[names[0]]; ok {
		return Prompt{Name: names[0], Text: text}
	}
	return Prompt{Name: promptOther, Text: builtinPrompts[promptOther]}
}

// Version is prompt_version: a hash of all the text that precis itself puts before a model in this job.
func (p Prompt) Version() string {
	sum := sha256.Sum256([]byte(strings.Join([]string{frame, partPrompt, mergePrompt, p.Text}, "\x00")))
	return p.Name + "-" + hex.EncodeToString(sum[:6])
}

// Serves says whether a version is one that the prompts of a kind have now, for whatever category. now is
// the version of the prompt that stands where that one stood.
func (p Prompts) Serves(kind, version string) (now string, serves bool) {
	name, _, _ := cutLast(version)
	now = p.For(kind, name).Version()
	if kind != promptToolResult {
		return now, now == version
	}
	for category := range builtinPrompts {
		if p.For(kind, category).Version() == version {
			return version, true
		}
	}
	return now, false
}

// Versions are those of all prompts, whatever the kind and the category, in a fixed order.
func (p Prompts) Versions() []string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(builtinPrompts)) {
		kind := promptToolResult
		if name == promptCompaction || name == promptHistory {
			kind = name
		}
		list = append(list, p.For(kind, name).Version())
	}
	return list
}

// cutLast cuts a version into its prompt's name and its hash.
func cutLast(version string) (name, hash string, ok bool) {
	i := strings.LastIndexByte(version, '-')
	if i < 0 {
		return version, "", false
	}
	return version[:i], version[i+1:], true
}

// BuiltinPrompt is the built-in prompt for a kind, whatever the tool.
func BuiltinPrompt(kind string) Prompt { return Prompts{}.For(kind, "") }

// Size is what the prompt adds to a call's material, counted by count.
func (p Prompt) Size(count func(string) int) int { return count(frame) + count(p.Text) }

// values are what placeholders stand for in one request.
type values struct {
	room        room
	toolName    string
	category    string
	part, parts int
}

// user makes the user's message: the prompt, with the fenced material in its place or at its end. One
// pass: what is put in is not searched for placeholders.
func (p Prompt) user(v values, before, fenced string) string {
	text := before + p.Text
	placed := strings.Contains(text, "{content}") || strings.Contains(text, "{context}")
	maxTokens := strconv.Itoa(v.room.tokens)
	text = strings.NewReplacer(
		"{limit}", v.room.words,
		"{max_chars}", strconv.Itoa(v.room.chars),
		"{max_tokens}", maxTokens, "{maxTokens}", maxTokens,
		"{tool_name}", clean(v.toolName), "{category}", v.category,
		"{part}", strconv.Itoa(v.part), "{parts}", strconv.Itoa(v.parts),
		"{content}", fenced, "{context}", fenced,
	).Replace(text)
	if placed {
		return text
	}
	return text + "\n\n" + fenced
}

// clean keeps what the agent names its tool from being more than a name.
func clean(toolName string) string {
	return lex.Head(strings.Join(strings.Fields(toolName), " "), 64)
}
