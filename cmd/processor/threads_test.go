package main

import (
	"regexp"
	"strings"
	"testing"
)

func TestThreads(t *testing.T) {
	p := startProcessor(t, t.TempDir())
	var lines strings.Builder
	for thread, size := range map[string]int{"small": 1, "Large": 300, "mid dle": 20} {
		lines.WriteString(`{"type":"thread.message","thread_id":"` + thread + `","message_id":"m","role":"user","agent_id":"of ` + thread + `","content":"` + strings.Repeat("some words ", size) + `"}` + "\n")
	}
	p.do(t, lines.String(), "publish", "-", "--wait").wants(t, exitDone, "3 events of 3 threads", "")
	ids := regexp.MustCompile(`(?m) (\S+|mid dle) · of`)
	for args, want := range map[string]string{
		"--sort size":                  "Large mid dle small",
		"--sort size --reverse":        "small mid dle Large",
		"--sort size --limit 2":        "Large mid dle",
		"--sort size --limit 0":        "Large mid dle small",
		"l --sort size --reverse":      "small mid dle Large",
		"LARGE":                        "Large",
		"--prefix m":                   "mid dle",
		"--stale":                      "",
		"--policy default --sort size": "Large mid dle small",
		"--policy none":                "",
		"--sort prompt --limit 1":      "Large",
		"--sort cost --prefix small":   "small",
		"--sort stale --prefix mid":    "mid dle",
		"--sort recent --prefix Large": "Large",
	} {
		got := p.do(t, "", append([]string{"threads"}, strings.Fields(args)...)...)
		got.wants(t, exitDone, "TOKENS", "")
		var found []string
		for _, m := range ids.FindAllStringSubmatch(got.stdout, -1) {
			found = append(found, m[1])
		}
		if strings.Join(found, " ") != want {
			t.Errorf("%s: %q, want %q\n%s", args, found, want, got.stdout)
		}
	}
	p.do(t, "", "threads", "--limit", "2").wants(t, exitDone, "2 of 3 threads\n", "")
	p.do(t, "", "threads", "--agent", "of small").wants(t, exitDone, "1 of 1 thread\n", "")
	p.do(t, "", "threads", "--json", "--prefix", "mid").wants(t, exitDone, `{"thread_id":"mid dle","partition":`, "")
	p.do(t, "", "threads", "--limit=-1").wants(t, exitUsage, "", "--limit -1: give a number of threads")
	p.do(t, "", "threads", "--sort", "name").wants(t, exitUsage, "", "--sort must be one of")
}
