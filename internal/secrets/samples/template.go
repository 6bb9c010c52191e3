package samples

import (
	_ "embed"
	"encoding/base64"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

//go:embed kinds.txt
var kindsText string

//go:embed lookalikes.txt
var lookAlikesText string

// Kinds are a hundred and more kinds of secrets.
func Kinds() []Kind {
	var all []Kind
	for _, line := range entries(kindsText) {
		head, template, _ := strings.Cut(line, ": ")
		name, place, _ := strings.Cut(head, " @")
		all = append(all, Kind{name, func(r *Random) Sample { return r.sample(strings.Fields(place), template) }})
	}
	return all
}

// LookAlikes are texts that hold no secret and look as if they did, drawn anew each time.
func LookAlikes(r *Random) []string {
	list := entries(lookAlikesText)
	for i := range list {
		list[i] = r.expand(list[i])
	}
	return list
}

func entries(text string) (list []string) {
	for line := range strings.SplitSeq(text, "\n") {
		if line != "" && !strings.HasPrefix(line, "# ") {
			list = append(list, line)
		}
	}
	return list
}

// The places of a secret: they say nothing of it, or are the forms of a field or of a variable, whose name is $.
var places = map[string][]string{
	"token": {
		"«»⏎", "using «» for this run⏎", "value («»)⏎", `["«»","next"]`, "x='«»'; echo done⏎", `{"out":"line one\n«»\nline three"}`, "| ci | «»|⏎", "a,b,«»,d⏎", "got: «»…⏎",
		"<td>«»</td>", "- `«»`⏎", "https://x.test/?k=«»&page=2⏎", "\t«»␍⏎", "was «». Rotate it.⏎", "%3D«»%26", `\u003d«»\u0026`,
	},
	"field": {"$=«»⏎", "$: «»⏎", `{"$": "«»"}`, `"$":"«»","x":1`, `$ = "«»"⏎`, "  $: '«»'⏎", `{\"$\":\"«»\"}`, "$='«»' ./run⏎"},
	"env":   {"export $=«»⏎", "$='«»'⏎", `$="«»" ./run⏎`, "      - $=«»⏎", "ENV $=«»⏎", `"$": "«»",`, "$: «»⏎"},
}

func (r *Random) sample(place []string, template string) Sample {
	if len(place) > 0 {
		form := r.One(places[place[0]]...)
		if len(place) > 1 {
			form = strings.ReplaceAll(form, "$", r.One(place[1:]...))
		}
		template = strings.Replace(form, "«»", "«"+template+"»", 1)
	}
	before, rest, _ := strings.Cut(template, "«")
	secret, after, _ := strings.Cut(rest, "»")
	return Sample{Before: r.expand(before), Secret: r.expand(secret), After: r.expand(after)}
}

var (
	drawn = regexp.MustCompile(`‹([^›]*)›`)
	signs = strings.NewReplacer("⏎", "\n", "␍", "\r", "␠", " ")
)

// expand replaces what is drawn:
//
//	one A|B           one of several
//	20 alnum ./       so many characters of alphabets, which are named or stand for themselves
//	password 20 !?    so many letters and digits, and these signs
//	chosen, long      passwords of letters and digits; punctuated: with signs
//	words 5           of a mnemonic
//	base64 32         of so many bytes; escaped 32: in a URL
//	pem 600 \n        of so many bytes in lines, which end with these characters or ⏎
//	uuid, private     the word of a key's frame, which scanners look for
func (r *Random) expand(template string) string {
	return signs.Replace(drawn.ReplaceAllStringFunc(template, func(found string) string { return r.draw(drawn.FindStringSubmatch(found)[1]) }))
}

func (r *Random) draw(what string) string {
	kind, args, _ := strings.Cut(what, " ")
	list := strings.Fields(args)
	switch kind {
	case "one":
		return r.One(strings.Split(args, "|")...)
	case "chosen":
		return r.password(8+r.IntN(16), "")
	case "long":
		return r.password(32+r.IntN(16), "")
	case "punctuated":
		return r.password(12+r.IntN(12), alphabets["signs"]+"!@#%^*{}(),;:-_=[]")
	case "password":
		return r.password(number(list[0]), characters(list[1:]))
	case "words":
		return r.words(number(args))
	case "base64":
		return r.base64(number(args))
	case "escaped":
		return url.QueryEscape(r.base64(number(args)))
	case "pem":
		return lines(r.base64(number(list[0])), 64, append(list, "\n")[1])
	case "uuid":
		return r.expand("‹8 hex›-‹4 hex›-4‹3 hex›-a‹3 hex›-‹12 hex›")
	case "private":
		return "PRIVATE"
	default:
		return r.Of(number(kind), characters(list))
	}
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(fmt.Sprintf("template: %v", err)) // our own files
	}
	return n
}

// characters are those of several alphabets.
func characters(list []string) (all string) {
	for _, one := range list {
		if known := alphabets[one]; known != "" {
			one = known
		}
		all += signs.Replace(one)
	}
	return all
}

// password is what people and generators choose: letters, a digit and, where signs may be, a sign.
func (r *Random) password(n int, more string) string {
	b := []byte(r.Of(n, alnum+more))
	b[0] = lower[r.IntN(len(lower))]
	b[1+r.IntN(n-2)] = digits[r.IntN(len(digits))]
	b[n-1] = alnum[r.IntN(len(alnum))]
	return string(b)
}

func (r *Random) words(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = r.One(seedWords...)
	}
	return strings.Join(list, " ")
}

func (r *Random) base64(bytes int) string {
	b := make([]byte, bytes)
	for i := range b {
		b[i] = byte(r.UintN(256))
	}
	return base64.StdEncoding.EncodeToString(b)
}

// lines breaks a text as PEM does.
func lines(text string, width int, end string) string {
	var b strings.Builder
	for len(text) > width {
		b.WriteString(text[:width] + end)
		text = text[width:]
	}
	return b.String() + text
}
