package llm

import (
	"strings"
	"testing"
	"testing/synctest"

	"precis/events"
	"precis/internal/secrets"
)

// A secret is neither sent nor published, on whatever rung the job ends; the facts don't bring it back.
func TestSecretsStayInTheProcess(t *testing.T) {
	masker, err := secrets.Load()
	if err != nil {
		t.Fatal(err)
	}
	secret := "hunter22-and-more"
	line := `db.connect(password="` + secret + `")`
	job := testJob(OpenAI)
	job.Content = strings.Repeat("a line of the source that says little\n", 50) + line + "\n"
	job.Facts = func(content string) []string {
		return Facts("error: " + content[strings.Index(content, "db.connect"):])
	}
	job.Rules = func(content string) string { return content[strings.Index(content, "db.connect"):] }

	for _, c := range []struct {
		name   string
		script []act
		method string
	}{
		{"by a model that repeats what it can't know", []act{says("it connects by " + line)}, events.MethodLLM},
		{"by rules", []act{says("")}, events.MethodRules},
	} {
		for _, category := range []string{"command_output", "file_content"} {
			t.Run(c.name+"/"+category, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newServer(map[string][]act{OpenAI: c.script})
					l := serve(t, s, Options{Mask: masker.Mask})
					job := job
					job.Category = category
					o := l.Run(t.Context(), job)
					if o.Method != c.method || !strings.Contains(o.Text, "db.connect(password=") {
						t.Fatalf("%q by %s (%s)", o.Text, o.Method, o.FallbackReason)
					}
					if strings.Contains(o.Text, secret) {
						t.Errorf("published: %q", o.Text)
					}
					for _, q := range s.requests {
						if strings.Contains(q.body, secret) {
							t.Errorf("sent: %s", q.body)
						}
					}
				})
			})
		}
	}
}

// The facts that rules rank highest are appended to a model's text that lacks them.
func TestMissingFactsAreAppended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(map[string][]act{OpenAI: {says("The build failed in store/open.go.")}})
		l := serve(t, s, Options{})
		job := testJob(OpenAI)
		job.Facts = func(string) []string { return []string{"error: no space left", "store/open.go", "7f3d2a91"} }
		want := "The build failed in store/open.go.\nerror: no space left\nAlso: 7f3d2a91"
		if o := l.Run(t.Context(), job); o.Text != want {
			t.Fatalf("got %q, want %q", o.Text, want)
		}
	})
}

// The relevant lines of a file stand in its summary as they are.
func TestFileSummaryHoldsTheRelevantLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(map[string][]act{OpenAI: {says("It numbers its lines.")}})
		l := serve(t, s, Options{})
		job := testJob(OpenAI)
		job.Category, job.Content, job.Relevant = "file_content", numbered(200), &events.LineRange{Start: 7, End: 8}
		want := "It numbers its lines.\n" + hashline(7, "line 7 of the file") + "\n" + hashline(8, "line 8 of the file")
		if o := l.Run(t.Context(), job); o.Text != want {
			t.Fatalf("got %q (%s), want %q", o.Text, o.FallbackReason, want)
		}
	})
}
