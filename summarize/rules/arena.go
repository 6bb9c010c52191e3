package rules

// arena hands out lists of zeros, that are all given back at once.
type arena[T any] struct {
	room []T // what is handed out stands in front, up to its length
}

// take is a list of n zeros.
func (a *arena[T]) take(n int) []T {
	if len(a.room)+n > cap(a.room) { // those handed out keep the old room
		a.room = make([]T, 0, 2*(cap(a.room)+n))
	}
	from := len(a.room)
	a.room = a.room[:from+n]
	list := a.room[from : from+n : from+n]
	clear(list)
	return list
}

// reset takes all lists back.
func (a *arena[T]) reset() { a.room = a.room[:0] }
