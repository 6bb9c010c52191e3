package words

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// ErrDamaged is data that Seen did not write.
var ErrDamaged = errors.New("damaged data")

// Seen remembers which identifiers a thread has had, so that a summary can recognize new ones without the
// thread's whole text: a caller adds every message's text once, and passes only the newest texts in
// Input.Earlier. It holds 32-bit fingerprints (one in some hundred thousand collides), in
// two generations of at most seenGeneration each; the older one is dropped when the younger is full.
// The zero value is empty and ready. It is a pure fold over the added texts, in order.
type Seen struct {
	young, old map[uint32]struct{}
}

// seenGeneration bounds one generation: 32,768 identifiers cover a thread of some megabytes.
const seenGeneration = 1 << 15

// Add adds a message's text: its content and the arguments of its calls.
func (s *Seen) Add(text string) {
	EachWord(text, func(start, end int) {
		if w := text[start:end]; Specific(w) {
			s.add(fingerprint(w))
		}
	})
}

func (s *Seen) add(mark uint32) {
	if _, ok := s.young[mark]; ok {
		return
	}
	if len(s.young) >= seenGeneration {
		s.young, s.old = nil, s.young
	}
	if s.young == nil {
		s.young = map[uint32]struct{}{}
	}
	s.young[mark] = struct{}{}
}

// Has reports whether an identifier was added and not dropped since.
func (s *Seen) Has(word string) bool {
	if s == nil {
		return false
	}
	mark := fingerprint(word)
	if _, ok := s.young[mark]; ok {
		return true
	}
	_, ok := s.old[mark]
	return ok
}

// Len is the number of identifiers held.
func (s *Seen) Len() int { return len(s.young) + len(s.old) }

// fingerprint is FNV-1a, folded to 32 bits.
func fingerprint(w string) uint32 {
	h := uint64(FnvOffset)
	for i := 0; i < len(w); i++ {
		h = (h ^ uint64(w[i])) * FnvPrime
	}
	return Folded(h)
}

// MarshalBinary writes both generations as sorted, delta-coded fingerprints: two to four bytes each.
func (s *Seen) MarshalBinary() ([]byte, error) {
	return appendMarks(appendMarks(nil, s.young), s.old), nil
}

func appendMarks(b []byte, marks map[uint32]struct{}) []byte {
	sorted := make([]uint32, 0, len(marks))
	for m := range marks {
		sorted = append(sorted, m)
	}
	slices.Sort(sorted)
	b = binary.AppendUvarint(b, uint64(len(sorted)))
	last := uint32(0)
	for _, m := range sorted {
		b = binary.AppendUvarint(b, uint64(m-last))
		last = m
	}
	return b
}

// UnmarshalBinary reads what MarshalBinary wrote.
func (s *Seen) UnmarshalBinary(b []byte) error {
	young, b, err := readMarks(b)
	if err != nil {
		return err
	}
	old, b, err := readMarks(b)
	if err != nil {
		return err
	}
	if len(b) > 0 {
		return fmt.Errorf("read seen identifiers: %w: %d bytes left over", ErrDamaged, len(b))
	}
	s.young, s.old = young, old
	return nil
}

func readMarks(b []byte) (map[uint32]struct{}, []byte, error) {
	count, n := binary.Uvarint(b)
	if n <= 0 || count > seenGeneration {
		return nil, nil, fmt.Errorf("read seen identifiers: %w: count", ErrDamaged)
	}
	b = b[n:]
	marks := make(map[uint32]struct{}, min(int(count), len(b)))
	last := uint64(0)
	for range count {
		delta, n := binary.Uvarint(b)
		if n <= 0 || delta > 1<<32-1 || last+delta > 1<<32-1 {
			return nil, nil, fmt.Errorf("read seen identifiers: %w: fingerprint", ErrDamaged)
		}
		last += delta
		b = b[n:]
		marks[uint32(last)] = struct{}{}
	}
	return marks, b, nil
}
