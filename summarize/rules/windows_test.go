package rules

import (
	"fmt"
	"strings"
	"testing"
)

// TestWindowsListing: headings of a listing of Windows are no entries, and every name stands below its directory.
func TestWindowsListing(t *testing.T) {
	var b strings.Builder
	for _, dir := range []string{"", `\rows`, `\rows\old`} {
		fmt.Fprintf(&b, "\r\n\r\n    Directory: C:\\orchard%s\r\n\r\n\r\nMode                 LastWriteTime         Length Name                      \r\n----                 -------------         ------ ----                      \r\n", dir)
		for i := range 8 {
			fmt.Fprintf(&b, "-a----         3/26/2026   2:57 PM           %4d tree_%d%d.py                 \r\n", i*100, len(dir), i)
		}
	}
	b.WriteString("d-----         3/26/2026   2:56 PM                saplings                   \r\n")
	out := ToolOutput(Input{ToolName: "shell_command", Arguments: []byte(`{"command":"Get-ChildItem -Recurse"}`), Content: b.String(), MessageID: "m1", MaxChars: 800})
	for _, part := range []string{"tree_07.py", "tree_53.py", "tree_96.py", "saplings/", "rows/old/:"} {
		if !strings.Contains(out.Text, part) {
			t.Errorf("no %q in\n%s", part, out.Text)
		}
	}
	if facts := strings.Join(out.Tool.KeyFacts, " "); !strings.Contains(facts, "Entries: 25") || !strings.Contains(facts, "24 .py") {
		t.Error(facts)
	}
	b.Reset()
	b.WriteString(" Volume in drive C is OS\r\n Volume Serial Number is 1A2B-3C4D\r\n\r\n Directory of C:\\orchard\r\n\r\n03/26/2026  02:56 PM    <DIR>          .\r\n03/26/2026  02:56 PM    <DIR>          ..\r\n")
	for i := range 30 {
		fmt.Fprintf(&b, "03/26/2026  02:57 PM             1,2%02d tree_%02d.py\r\n", i, i)
	}
	b.WriteString("03/26/2026  02:56 PM    <DIR>          saplings\r\n              30 File(s)         36,900 bytes\r\n               3 Dir(s)  10,000,000 bytes free\r\n")
	out = ToolOutput(Input{ToolName: "run_terminal_cmd", Arguments: []byte(`{"command":"dir"}`), Content: b.String(), MessageID: "m1", MaxChars: 800})
	if facts := strings.Join(out.Tool.KeyFacts, " "); !strings.Contains(facts, "Entries: 31") || !strings.Contains(out.Text, "tree_29.py") || !strings.Contains(out.Text, "saplings/") {
		t.Errorf("%s\n%s", facts, out.Text)
	}
}
