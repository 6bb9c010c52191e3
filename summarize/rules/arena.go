package rules

// arena allocates zeroed slices that are all released at once.
type arena[T any] struct {
	room []T // the allocated part is in front, up to its length
}

// take returns a slice of n zeros.
func (a *arena[T]) take(n int) []T {
	if len(a.room)+n > cap(a.room) { // earlier slices keep the old array
		a.room = make([]T, 0, 2*(cap(a.room)+n))
	}
	from := len(a.room)
	a.room = a.room[:from+n]
	list := a.room[from : from+n : from+n]
	clear(list)
	return list
}

// reset releases all slices.
func (a *arena[T]) reset() { a.room = a.room[:0] }
