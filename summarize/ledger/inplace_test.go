package ledger

import (
	"strings"
	"testing"
)

// Only options that rewrite files in place make operands written files.
func TestInPlace(t *testing.T) {
	for line, want := range map[string]bool{
		"perl -Ilib bin/tide.pl data/tide.csv":       false,
		"ruby -Ilib test/a_test.rb test/b_test.rb":   false,
		"perl bin/tide.pl -i data/tide.csv":          false,
		"perl -ne print if /tide/ data/tide.csv":     false,
		"perl -i -pe s/a/b/ data/tide.csv":           true,
		"perl -i.bak -pe s/a/b/ data/tide.csv":       true,
		"perl -pie s/a/b/ data/tide.csv":             true,
		"perl -p -i -e s/a/b/ data/tide.csv":         true,
		"perl -0777 -pi -e s/a/b/ data/tide.csv":     true,
		"perl -pe s/a/b/ -i data/tide.csv":           true,
		"ruby -pi -e gsub(/a/,'b') data/tide.csv":    true,
		"sed -i s/a/b/ data/tide.csv":                true,
		"sed -Ei s/a/b/ data/tide.csv":               true,
		"sed --in-place=.bak s/a/b/ data/tide.csv":   true,
		"sed -n -e /tide/p -f bin/i.sed data/tide.c": false,
	} {
		words := strings.Fields(line)
		if got := inPlace(words[0], words[1:]); got != want {
			t.Errorf("%s: got %t", line, got)
		}
	}
	play(t, []scenario{
		{"a library's directory", askFerry + claude("perl -Ilib bin/tide.pl data/tide.csv") + "ok: 3\n", nil, []string{"tide.csv"}},
	})
}
