package rules

import (
	"fmt"
	"strings"
	"testing"

	"precis/summarize/lex"
)

// TestScriptsEndWhereTheyEnd: a '<' in a script opens no tag, which would swallow the script's end tag.
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

// TestEntities: a page's text is shown as its reader sees it, and a '<' in it is not a tag.
func TestEntities(t *testing.T) {
	text := "<p>Write &lt;script&gt; in&nbsp;render_page(), don&#39;t nest it.</p>\n<p>Twice: &amp;lt;b&amp;gt;&#27;[31m; caf&eacute; &amp; bar&#10;next</p>\n" +
		`<p><a href="/docs?page=1&amp;copy=2&region=3">Docs</a></p><p>Behind all of it stands end_marker.</p>`
	page := "<html><head><title>Tom &amp; Jerry&#39;s | Cartoons</title></head><body>" + text + "</body></html>" + strings.Repeat("<br>", 200)
	out := ToolOutput(Input{MessageID: "m1", ToolName: "web_fetch", Content: page, MaxChars: 800}).Text + "\n"
	for _, want := range []string{
		"Title: Tom & Jerry's", "\nWrite <script> in render_page(), don't nest it.\n", "\nTwice: &lt;b&gt; [31m; café & bar next\n", "\n/docs?page=1&copy=2&region=3\n",
		"\nBehind all of it stands end_marker.\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

// TestEntitiesCountAsWhatTheyAre: a line that is not shown as it is in the source does not count as a source line.
func TestEntitiesCountAsWhatTheyAre(t *testing.T) {
	var page strings.Builder
	page.WriteString("<html><head><title>Notes</title></head><body>\n")
	for i := range 40 {
		fmt.Fprintf(&page, "<p>The method run_job%d() doesn&#39;t wait for queue_%d.</p>\n<p>Nothing else waits for anything in the %d-th of them.</p>\n", i, i, i)
	}
	in := Input{MessageID: "m1", ToolName: "web_fetch", Content: page.String() + "</body></html>", MaxChars: 800}
	out := ToolOutput(in).Text
	if _, got := sourceLines(out, in.Content); 2*got < lex.Runes(out) {
		t.Errorf("%d of %d characters are lines of the source:\n%s", got, lex.Runes(out), out)
	}
}

// TestEntitiesHideNothing: no entity becomes an invisible character, except for those that join letters or keep them apart.
func TestEntitiesHideNothing(t *testing.T) {
	for text, want := range map[string]string{
		"a&#8238;b&#x200b;c": "abc", "pass&shy;word &lrm;&rlm;&#xFEFF;": "password ", "&#xe0041;x": "x", "&amp;#8238;": "&#8238;", "&#8238;&#8238;": "",
		"می&zwnj;خواهم &#x1f469;&#x200d;&#x1f4bb;": "می\u200cخواهم 👩\u200d💻", "ab\u200fc &amp; d&rlm;": "abc & d",
		"ab\u200fc": "ab\u200fc", "a & b": "a & b",
	} {
		if got := unescaped(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
	page := "<html><head><title>safe&#8238;exe.txt</title></head><body><p>Open&#x200b;it.</p></body></html>" + strings.Repeat("<br>", 200)
	out := ToolOutput(Input{MessageID: "m1", ToolName: "web_fetch", Content: page, MaxChars: 800}).Text
	if !strings.Contains(out, "Title: safeexe.txt") || !strings.Contains(out, "\nOpenit.") {
		t.Error(out)
	}
}
