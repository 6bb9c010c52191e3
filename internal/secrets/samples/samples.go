package samples

import (
	"math/rand/v2"
	"regexp"
	"strings"
)

// Sample is a secret in its place.
type Sample struct {
	Before, Secret, After string
}

// Text is the sample as it stands in a log or a file.
func (s Sample) Text() string { return s.Before + s.Secret + s.After }

// Leaks returns a piece of the secret of least characters or more that stands in a text, or nothing.
func (s Sample) Leaks(text string, least int) string {
	text = mark.ReplaceAllString(text, "")
	secret := []rune(s.Secret)
	for i := 0; i+least <= len(secret); i++ {
		piece := string(secret[i : i+least])
		if i == 0 && strings.Trim(piece, lower) == "" {
			continue // how a token begins is no secret, and may stand in its mark; a leak goes on behind it
		}
		if strings.Contains(text, piece) && !strings.Contains(s.Before+s.After, piece) {
			return piece
		}
	}
	return ""
}

// mark stands where a secret stood, and names its kind.
var mark = regexp.MustCompile(`\[masked(?::[\w-]+)?\]`)

// Kind is a kind of secret.
type Kind struct {
	Name string
	Draw func(r *Random) Sample
}

// Random draws characters.
type Random struct{ *rand.Rand }

// New returns a source for a seed.
func New(seed uint64) *Random { return &Random{rand.New(rand.NewPCG(seed, 0x5ec2e7))} }

const (
	digits = "0123456789"
	lower  = "abcdefghijklmnopqrstuvwxyz"
	upper  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	letter = upper + lower
	alnum  = letter + digits
)

// alphabets of tokens.
var alphabets = map[string]string{
	"digit": digits, "number": digits[1:], "lower": lower, "upper": upper, "letter": letter, "alnum": alnum, "hex": digits + lower[:6],
	"base32": upper + "234567", "word": alnum + "_", "url64": alnum + "-_", "std64": alnum + "+/", "signs": "!@#%^*~+?", "django": lower + digits + "!@#$%^&*(-_=+)",
}

// Of draws n characters.
func (r *Random) Of(n int, alphabet string) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[r.IntN(len(alphabet))]
	}
	return string(b)
}

// One draws one of several.
func (r *Random) One(of ...string) string { return of[r.IntN(len(of))] }

// seedWords are short English words as mnemonics have them.
var seedWords = strings.Fields(`abandon ability about above absent absorb abstract absurd access accident account accuse achieve acid
across action actor actress actual adapt address adjust admit adult advance advice aerobic affair afford afraid again agent agree ahead
airport aisle alarm album alcohol alert alien alley allow almost alone alpha already also alter always amateur amazing among amount
zebra zero zone zoo wrong wrist write wrestle wreck worth worry world work wool wonder woman wolf window winter wine village vintage
violin virtual virus visa visit visual vital vivid vocal voice void volcano volume vote voyage sausage scatter scene school science`)
