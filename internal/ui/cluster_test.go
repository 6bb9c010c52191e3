package ui

import "testing"

func TestRanges(t *testing.T) {
	for _, c := range []struct {
		list []int
		want string
	}{
		{nil, "none"}, {[]int{3}, "3"}, {[]int{0, 1}, "0–1"}, {[]int{0, 1, 2, 5, 7, 8, 16}, "0–2, 5, 7–8, 16"},
	} {
		if got := ranges(c.list); got != c.want {
			t.Errorf("%v: %s, want %s", c.list, got, c.want)
		}
	}
}
