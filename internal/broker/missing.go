package broker

import "fmt"

// Missing are sequences between a stream's first and its last that it does not give out: somebody has deleted
// them, or the server can't read them. A server that finds a message damaged in its files passes it over and says
// nothing to whoever reads (2.15); what it finds when it starts it counts as deleted, and lost.
type Missing struct {
	Stream   string
	From, To uint64
}

// Messages is how many they are.
func (m Missing) Messages() uint64 { return m.To - m.From + 1 }

func (m Missing) String() string {
	if m.From == m.To {
		return fmt.Sprintf("%s %d", m.Stream, m.From)
	}
	return fmt.Sprintf("%s %d to %d", m.Stream, m.From, m.To)
}

// unbroken looks for what is missing in a stream that is read whole, and in order.
type unbroken struct {
	stream string
	next   uint64
	tell   func(Missing) // nil: nobody wants to know
}

// saw notes a message: everything before it has been seen, or does not come any more.
func (u *unbroken) saw(seq uint64) {
	u.upTo(seq - 1)
	u.next = max(u.next, seq+1)
}

// upTo notes that nothing more comes up to a sequence.
func (u *unbroken) upTo(last uint64) {
	if last < u.next {
		return
	}
	if u.tell != nil {
		u.tell(Missing{Stream: u.stream, From: u.next, To: last})
	}
	u.next = last + 1
}
