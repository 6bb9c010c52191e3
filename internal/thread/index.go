package thread

// index finds the members of a list that only grows. Nearly every step has a handful of them; a rewind may have thousands.
type index[T any] struct {
	by map[string]*T
	n  int // how much of the list is in it
}

// indexFrom is the length from which a list is indexed: shorter ones are searched faster.
const indexFrom = 64

// find returns the first member with a name; nil if there is none.
func (x *index[T]) find(list []*T, name string, of func(*T) string) *T {
	if len(list) < indexFrom {
		for _, v := range list {
			if of(v) == name {
				return v
			}
		}
		return nil
	}
	if x.by == nil {
		x.by = map[string]*T{}
	}
	for _, v := range list[x.n:] {
		if x.by[of(v)] == nil {
			x.by[of(v)] = v
		}
	}
	x.n = len(list)
	return x.by[name]
}
