package gateway

import "testing"

// A prompt is asked for behind the exchanges that bring a call or a result, behind some more since a model may take a while, and behind every few kilobytes
// of other texts.
func TestNews(t *testing.T) {
	n := newNews()
	asked := func(list ...*message) bool {
		n.add("t", list)
		worth, _ := n.worth("t")
		return worth
	}
	text, result := &message{sent: 500}, &message{sent: 500, linked: true}
	several := func(times int, list ...*message) (count int) {
		for range times {
			if asked(list...) {
				count++
			}
		}
		return count
	}
	if got := several(newsBegun+1, text); got != newsBegun {
		t.Errorf("a new thread: %d questions", got)
	}
	if got := several(7, text); got != 0 {
		t.Errorf("%d questions for 4,000 bytes", got)
	}
	if got := several(90, text); got != 10 {
		t.Errorf("%d questions for 49,000 bytes", got)
	}
	if !asked(text, result) || several(newsOwed-1, text) != newsOwed-1 || several(8, text) != 0 {
		t.Error("a result is not asked for")
	}
	if several(90, &message{linked: true}) != 0 {
		t.Error("a result that is known is asked for")
	}
	if n.missed("t"); several(9, text) != 1 {
		t.Error("a question without an answer is not asked again")
	}
	n.add("t", []*message{{sent: newsBytes}})
	if worth, soon := n.worth("t"); !worth || soon {
		t.Error("texts alone are urgent")
	}
	n.add("other", nil)
	if worth, soon := n.worth("other"); !worth || !soon {
		t.Error("another thread's questions are taken")
	}
}
