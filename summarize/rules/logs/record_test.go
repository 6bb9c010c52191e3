package logs

import (
	"strings"
	"testing"
)

func TestLogRecords(t *testing.T) {
	for text, want := range map[string]string{
		`{"level":"error","ts":1,"msg":"no","error":"broken"}`:                                       `failed "msg" "error"`,
		`api-1  | {"time":"x","level":50,"err":{"code":"E1","stack":["a, b","}"]},"msg":"no"}`:       `failed "msg" "err"`,
		`{"severity" : "INFO", "trace":{"a":[1,{"b":"\"},"}]}, "message" : "yes", "error" : null}`:   `"message"`,
		`{"@l":"Fatal","@m":"a\"b","exception":""}`:                                                  `failed "@m"`,
		`{"level":"warn","ts":12,"fields":{"msg":"inner"}}`:                                          "none",
		`{"message":"a record of no log","error":"x"}`:                                               "none",
		`{"level":"error","ts":"cut off`:                                                             "none",
		`{"level":"error","ts":12,"msg":"cut`:                                                        `failed "msg"`,
		`level=error {x "level"`:                                                                     "none",
		strings.Repeat("x", 70) + `{"level":"error","msg":"too far"}`:                                "none",
		`{"level":"error",` + strings.Repeat(`"a":[{"b":1}],`, longestRecord/14) + `"msg":"beyond"}`: "none",
	} {
		r, ok := RecordOf(text)
		got := "none"
		if ok {
			got = ""
			if r.Failed {
				got = "failed"
			}
			for _, at := range []int{r.Message, r.Err} {
				if at > 0 {
					got += " " + text[at:at+strings.IndexByte(text[at+1:], '"')+2]
				}
			}
		}
		if strings.TrimSpace(got) != want {
			t.Errorf("%.80s: %s, want %s", text, got, want)
		}
	}
}

// TestPairsCopyNothing: a value is a slice of the line, whatever follows it.
func TestPairsCopyNothing(t *testing.T) {
	line, found := "level=error msg=\"a b\" x= y=1"+strings.Repeat(" =", 500), 0
	allocs := testing.AllocsPerRun(1, func() {
		found = 0
		pairs(line, 0, func(int, string, string) { found++ })
	})
	if found != 504 || allocs > 0 {
		t.Errorf("%d pairs, %v allocations", found, allocs)
	}
	var last string
	pairs("a=1 b=2", 0, func(_ int, key, value string) { last = key + value })
	if last != "b2" {
		t.Errorf("the last pair is %q", last)
	}
}
