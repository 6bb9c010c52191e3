package columns

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestSketch: every row that says of a failure is shown, cells are visibly cut, a column's only value is said once, and rows without room are counted and named.
func TestSketch(t *testing.T) {
	var pods strings.Builder
	pods.WriteString("NAMESPACE   NAME           READY   STATUS             RESTARTS        AGE\n")
	for i := range 30 {
		state, restarts := "Running", "0"
		if i == 27 {
			state, restarts = "CrashLoopBackOff", "41 (2m11s ago)"
		}
		fmt.Fprintf(&pods, "ledger      worker-%02d      1/1     %-16s   %-14s  6d2h\n", i, state, restarts)
	}
	for name, c := range map[string]struct {
		text string
		room int
		want []string
	}{
		"kubectl":   {pods.String(), 400, []string{"all 30 rows: READY=1/1, AGE=6d2h\nNAMESPACE  NAME  STATUS  RESTARTS\nledger  worker-00  Running  0\n", "ledger  worker-27  CrashLoopBackOff  41 (2m11s ago)\n", "\n+20 rows"}},
		"all fit":   {"ID  NAME  STATE\n1   a     up\n2   b     up\n3   c     up\n4   d     down\n", 200, []string{"ID  NAME  STATE\n1  a  up\n2  b  up\n3  c  up\n4  d  down"}},
		"one value": {"ID  ZONE  STATE\n1   eu-1  up\n2   eu-1  up\n3   eu-1  up\n4   eu-1  down\n", 200, []string{"all 4 rows: ZONE=eu-1\nID  STATE\n1  up\n"}},
		"empty":     {"ID  PORTS  NAMES\n1   80     a\n2          b\n3          c\n4   81     d\n", 200, []string{"\n2  -  b\n"}},
		"psql":      {" id | name  | note\n----+-------+------\n  1 | a b   | x\n  2 | c     | \n  3 | d     | y\n  4 | e     | y\n(4 rows)\n", 200, []string{"id  name  note\n1  a b  x\n2  c\n", "\n4  e  y\n(4 rows)"}},
		"mysql":     {"+----+------+------+\n| id | name | n    |\n+----+------+------+\n|  1 | a    |    7 |\n|  2 | b    |    8 |\n|  3 | c    |    9 |\n|  4 | d    |    9 |\n+----+------+------+\n", 200, []string{"id  name  n\n1  a  7\n"}},
		"tabs":      {"lint\tfail\t41s\thttps://ci.example.com/acme/ledger/runs/8112233445/job/22190003\n" + strings.Repeat("unit\tpass\t3m11s\thttps://ci.example.com/acme/ledger/runs/8112233445/job/22190004\n", 6), 300, []string{"lint  fail  41s  http", "job/22190003\n", "…"}},
		"one row":   {"+----+------+------+\n| id | name | n    |\n+----+------+------+\n" + "|  1 | a    |    7 |\n|  2 | b    |    8 |\n|  3 | c    |    8 |\n|  4 | d    |    9 |\n" + "+----+------+------+\n4 rows in set\n", 200, []string{"id  name  n\n1  a  7\n"}},
		"no names":  {"RESULT  PACKAGE      TIME\n" + strings.Repeat("ok      example/pkg  0.1s\n", 30) + "FAIL    example/bad  0.2s\n", 120, []string{"rows"}},
		"paths":     {"ID  IMAGE                                             STATE\n" + strings.Repeat("1   registry.example.com/team/ledger/worker:2026.03.1  up\n", 5) + "2   registry.example.com/team/ledger/api:2026.03.1     up\n", 260, []string{"…edger/worker:2026.03.1\n"}},
	} {
		got := Sketch(c.text, c.room)
		if n := utf8.RuneCountInString(got); n > c.room || got == "" {
			t.Errorf("%s: %d characters in %d", name, n, c.room)
		}
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %q in\n%s", name, want, got)
			}
		}
	}
}

// TestNoTable: what only begins like a table, or has texts in its columns' place, is none.
func TestNoTable(t *testing.T) {
	for name, text := range map[string]string{
		"a log":       "INFO  START  QUEUE\n" + strings.Repeat("something entirely different happens on this line of the log\n", 9),
		"ps":          "USER  PID  %CPU  COMMAND\nroot      1  0.0 init\npostgres 12345678  0.0 postgres: writer\nx\ny\nz\nw\n",
		"two rows":    "ID  NAME  STATE\n1   a     up\n2   b     up\n",
		"shouting":    "ERROR: THE BUILD HAS FAILED\n" + strings.Repeat("x\n", 9),
		"words":       strings.Repeat("one two three\n", 9),
		"nothing":     "",
		"two lists":   "NAME    READY   STATUS    AGE\n" + strings.Repeat("api-1   1/1     Running   6d\n", 5) + "\nNAME    TYPE    STATUS    AGE\n" + strings.Repeat("api-2   LB      Bound     7d\n", 5),
		"two queries": " id | name | n\n----+------+---\n  1 | a    | 3\n  2 | a    | 3\n  3 | b    | 4\n  4 | a    | 3\n(4 rows)\n\n no | kind | m\n----+------+---\n  7 | x    | 1\n(1 row)\n",
		"two parts":   " a | b | c\n---+---+---\n 1 | 2 | 3\n 1 | 2 | 3\n 1 | 2 | 3\n 1 | 2 | 3\nIndexes:\n x\n y\n z\n w\n",
	} {
		if got := Sketch(text, 500); got != "" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestLargeTable: a table of a megabyte is read to a bound, and says how many rows it does not show.
func TestLargeTable(t *testing.T) {
	text := "ID        NAME  STATE\n" + strings.Repeat("12345678  a     up\n", 50000)
	got := Sketch(text, 300)
	shown := strings.Count(got, "\n12345678")
	if !strings.Contains(strings.ReplaceAll(got, ",", ""), fmt.Sprintf("+%d rows", 50000-shown)) || strings.Contains(got, "all ") { // of those that are not read nothing is known
		t.Error(got)
	}
	for _, hostile := range []string{strings.Repeat("\t", 1<<20), strings.Repeat("a  b  c\n", 1<<17), strings.Repeat("|", 1<<20), "A  B  C\n" + strings.Repeat(" ", 1<<20), "A  B  C\n" + strings.Repeat("\xff  b  c\n", 100)} {
		if got := Sketch(hostile, 300); utf8.RuneCountInString(got) > 300 {
			t.Errorf("%d characters", utf8.RuneCountInString(got))
		}
	}
}
