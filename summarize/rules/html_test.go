package rules

import (
	"strings"
	"testing"
)

// TestScriptsEndWhereTheyEnd: a '<' of a script is no tag, whose end would be the script's end tag.
func TestScriptsEndWhereTheyEnd(t *testing.T) {
	for _, before := range []string{
		"<script>for(i=0;i<n;i++){}</script>", "<script>if(a<2}</SCRIPT >", "<style>a<b{}</style>", "<script><!-- a </script>",
		`<svg viewBox="0 0 1 1"/>`, `<svg><path d="M0"/><title>x</title></svg>`, "<script>'</' + '</p>'</script>",
		"<script src=//cdn.example.com/a/>a{}</script>", "<script>'</scripts-of>{'</script>", "<svg><svg-x>{</svg-x></svg>",
	} {
		page := "<html><head><title>Opening hours</title>" + before + "</head><body><p>We open at ten.</p></body></html>" + strings.Repeat("<br>", 200)
		out := ToolOutput(Input{MessageID: "m1", ToolName: "web_fetch", Content: page, MaxChars: 800})
		if !strings.Contains(out.Text, "\nWe open at ten.") {
			t.Errorf("behind %s nothing is left:\n%s", before, out.Text)
		}
		if strings.ContainsAny(out.Text, "<{") {
			t.Errorf("of %s something is left:\n%s", before, out.Text)
		}
	}
}
