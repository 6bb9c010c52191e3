package page

import "testing"

func TestLeadsWithin(t *testing.T) {
	for text, want := range map[string]bool{
		`[1] link "Methods"  [url: https://a.example.org/plan#methods-2]`: true, `[a1] link 'Methods', url='https://a.example.org/plan#methods'`: true,
		`[1] link "Methods"  [url: https://a.example.org/plan]`: false, `[a1] link 'Inbox', url='https://mail.example.org/#/inbox'`: false,
		`[a1] link 'C#', url='https://a.example.org/c'`: false, `[a1] link 'Menu', url='https://a.example.org/#'`: false,
	} {
		if got := LeadsWithin(text); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

func TestIsText(t *testing.T) {
	for text, want := range map[string]bool{"StaticText 'x'": true, `[12] StaticText "x"`: true, `[12] link "StaticText x"`: false, "": false} {
		if got := IsText(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	if e, ok := ElementIn("[12] navigation"); !ok || e.Role != "navigation" || e.Name != "" {
		t.Error(e, ok)
	}
}
