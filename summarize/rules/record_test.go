package rules

import (
	"fmt"
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
		r, ok := recordOf(text)
		got := "none"
		if ok {
			got = ""
			if r.failed {
				got = "failed"
			}
			for _, at := range []int{r.message, r.err} {
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

// TestRecordsShowWhatTheySay: an error record in a long log is shown with its message and its error, wherever they are in it.
func TestRecordsShowWhatTheySay(t *testing.T) {
	line := func(n int, level, more string) string {
		return fmt.Sprintf(`{"level":"%s","ts":"2026-03-02T10:1%d:22.731Z","logger":"worker.consumer","caller":"consumer/loop.go:131","request_id":"req-%08x","region":"eu-west-1","pod":"orders-worker-5f6d9c8b7-c5r7x",%s}`+"\n", level, n%6, n*7919, more)
	}
	var log strings.Builder
	for n := range 60 {
		log.WriteString(line(n, "info", fmt.Sprintf(`"msg":"order processed","order_id":"ord_%06d"`, n*131)))
		if n == 30 {
			log.WriteString(line(n, "error", `"msg":"could not charge the card","order_id":"ord_1","error":"rpc error: deadline exceeded while calling Charge","attempt":3`))
		}
	}
	for name, in := range map[string]Input{
		"among other lines": {ToolName: "bash", Content: "Starting 4 workers\n" + log.String() + "stopped\n"},
		"alone":             {ToolName: "bash", Content: log.String()},
		"with spaces":       {ToolName: "bash", Content: "Starting 4 workers\n" + strings.NewReplacer(`":`, `": `, `,"`, `, "`).Replace(log.String())},
		"behind a name":     {ToolName: "bash", Content: "Attaching to api-1, db-1\n" + strings.ReplaceAll(log.String(), `{"level`, `api-1  | {"level`)},
	} {
		in.MessageID, in.MaxChars, in.PreserveErrors = "m1", 800, true
		out := ToolOutput(in)
		for _, want := range []string{"could not charge the card", "rpc error: deadline exceeded while calling Charge"} {
			if !strings.Contains(out.Text, want) {
				t.Errorf("%s: no %q in\n%s", name, want, out.Text)
			}
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
