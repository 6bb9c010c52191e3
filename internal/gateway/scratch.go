package gateway

import (
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// scratch is what a request is read into. It is lent for as long as the request's copy, which the messages are parts of: requests of 41 to 241 messages take
// 70 kB of lists, messages and maps otherwise, and the collections of that garbage make the requests slow that come meanwhile. Without one (nil), memory is made.
type scratch struct {
	values   []jsontext.Value
	messages []message
	counts   map[key]int
	index    map[string]int
}

var scratches = sync.Pool{New: func() any { return &scratch{counts: map[key]int{}, index: map[string]int{}} }}

// largestScratch is how many messages one holds that is lent again, and valuesOfMessage how many values for each: half a megabyte together. More are rare.
const (
	largestScratch  = 1 << 10
	valuesOfMessage = 8
)

// returned is called with a scratch that goes back; nil: nothing is. Tests have a use behind that show by it.
var returned func(*scratch)

func newScratch() *scratch {
	s, ok := scratches.Get().(*scratch)
	if !ok {
		panic("the pool has only scratches")
	}
	return s
}

// back ends the use of everything that was taken from it.
func (s *scratch) back() {
	if s == nil {
		return
	}
	clear(s.values) // lets bodies be freed
	clear(s.messages)
	if returned != nil {
		returned(s)
	}
	if cap(s.messages) > largestScratch || cap(s.values) > valuesOfMessage*largestScratch {
		return
	}
	clear(s.counts)
	clear(s.index)
	s.values, s.messages = s.values[:0], s.messages[:0]
	scratches.Put(s)
}

// room returns an empty list with room for n values.
func (s *scratch) room(n int) []jsontext.Value {
	if s == nil {
		return make([]jsontext.Value, 0, n)
	}
	from := len(s.values)
	if from+n > cap(s.values) { // lists that were taken stay where they are
		s.values, from = make([]jsontext.Value, 0, max(n, 2*cap(s.values))), 0
	}
	s.values = s.values[:from+n]
	return s.values[from : from : from+n]
}

// listOf is the list of v's elements; nil for anything but a list.
func (s *scratch) listOf(v jsontext.Value) []jsontext.Value {
	if s == nil {
		return listOf(v)
	}
	from := len(s.values)
	if !elements(v, jsontext.KindBeginArray, func(_ string, value jsontext.Value, _ int) { s.values = append(s.values, value) }) {
		return nil
	}
	return s.values[from:len(s.values):len(s.values)]
}

// message returns an empty message.
func (s *scratch) message() *message {
	if s == nil {
		return &message{}
	}
	s.messages = append(s.messages, message{}) // where it moves, those before stay where they are
	return &s.messages[len(s.messages)-1]
}

// countsOf returns an empty map for a request of n messages. The one before is no longer used.
func (s *scratch) countsOf(n int) map[key]int {
	if s == nil {
		return make(map[key]int, n)
	}
	clear(s.counts)
	return s.counts
}

// indexOf is the same of places by id.
func (s *scratch) indexOf(n int) map[string]int {
	if s == nil {
		return make(map[string]int, n)
	}
	clear(s.index)
	return s.index
}
