package gateway

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/go-json-experiment/json/jsontext"
)

// What is read into a scratch that others have used is what is read without one, and stays when more is taken.
func TestScratch(t *testing.T) {
	r, s := newReader(), newScratch()
	for _, n := range []int{2, 300, 5, 40} {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprintf(`{"role":%q,"content":"message %d"}`, []string{"user", "assistant"}[i%2], i/4) // some are equal
		}
		body := []byte(`{"messages":[` + strings.Join(list, ",") + `]}`)
		var read [2][]string
		for i, into := range []*scratch{nil, s} {
			c, err := chatAPI.conversation(r.into(into), body)
			if err != nil {
				t.Fatal(err)
			}
			c.identify(key{})
			into.indexOf(n)["m"] = n
			small := append(into.room(1), jsontext.Value("1"))
			large := into.room(1000)
			for range 1000 {
				large = append(large, jsontext.Value("2"))
			}
			again := into.listOf(jsontext.Value(`[1,2]`))
			if string(small[0]) != "1" || len(large) != 1000 || len(again) != 2 {
				t.Fatal(small, len(large), again)
			}
			for _, m := range c.messages {
				read[i] = append(read[i], m.id+m.role+string(slices.Concat(m.raw...)))
			}
		}
		if !slices.Equal(read[0], read[1]) {
			t.Errorf("%d messages: %q, without a scratch %q", n, read[1], read[0])
		}
		s.back()
		s = newScratch()
		if len(s.indexOf(0)) > 0 || len(s.countsOf(0)) > 0 || len(s.values)+len(s.messages) > 0 {
			t.Error("a scratch that is lent again is not empty")
		}
	}
}

// What was taken from a scratch is no longer there when it has gone back, also from one that is too large to be lent again. All tests of the package have
// that show: see PoisonScratches.
func TestScratchIsPoisoned(t *testing.T) {
	for _, n := range []int{3, 2 * largestScratch} {
		s := newScratch()
		values := append(s.room(n), jsontext.Value("1"))
		for range n {
			s.message().id = "m"
		}
		messages := s.messages
		s.back()
		if string(values[0]) != poison || messages[0].id != poison || string(messages[0].raw[0]) != poison {
			t.Errorf("%d messages: %q, %+v", n, values, messages[0])
		}
	}
}

// The lists of a scratch that is kept take at most 384 kB; the maps add some 100 kB.
func TestScratchIsSmall(t *testing.T) {
	if size := largestScratch * (unsafe.Sizeof(message{}) + valuesOfMessage*unsafe.Sizeof(jsontext.Value{})); size > 384<<10 {
		t.Errorf("%d bytes", size)
	}
}
