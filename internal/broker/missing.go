package broker

import "fmt"

// Missing are sequences between a stream's first and last that it does not return: they were deleted, or the server
// can't read them. A running server silently skips a message that is damaged in its files (2.15); at startup it counts
// such a message as deleted, and lost.
type Missing struct {
	Stream   string
	From, To uint64
}

// Messages returns their number.
func (m Missing) Messages() uint64 { return m.To - m.From + 1 }

func (m Missing) String() string {
	if m.From == m.To {
		return fmt.Sprintf("%s %d", m.Stream, m.From)
	}
	return fmt.Sprintf("%s %d to %d", m.Stream, m.From, m.To)
}

// unbroken detects missing messages in a stream that is read completely and in order.
type unbroken struct {
	stream string
	next   uint64
	tell   func(Missing) // nil: don't report
}

// saw records a message: anything before it has been seen, or will not come.
func (u *unbroken) saw(seq uint64) {
	u.upTo(seq - 1)
	u.next = max(u.next, seq+1)
}

// upTo records that nothing more comes up to last.
func (u *unbroken) upTo(last uint64) {
	if last < u.next {
		return
	}
	if u.tell != nil {
		u.tell(Missing{Stream: u.stream, From: u.next, To: last})
	}
	u.next = last + 1
}
