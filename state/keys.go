package state

import (
	"crypto/sha256"
	"encoding/binary"
)

// The kinds of keys; doc.go has the table.
const (
	kindMeta     = 'm'
	kindConfig   = 'c'
	kindHeader   = 't'
	kindMessage  = 'i'
	kindOrder    = 'o'
	kindRevision = 'v'
	kindEdit     = 'e'
	kindWaiting  = 'w'
	kindDeadline = 'x'
	kindSummary  = 's'
	kindOwner    = 'S'
	kindSlot     = 'l'
	kindSource   = 'r'
	kindJob      = 'j'
	kindLedger   = 'g'
	kindSeen     = 'f'
	kindSpent    = 'u'
	kindOutbox   = 'b'
	kindStaged   = 'R'
	kindStagedTo = 'Q'
	kindRejected = 'J'
	kindRenewal  = 'z'
	kindExpiry   = 'X'
	kindIdle     = 'I'
	kindIdleDue  = 'D'
	kindSweep    = 'y'
	kindChild    = 'p'
	kindHanded   = 'h'
	kindPlace    = 'a'
	kindParked   = 'P'
	kindUnparked = 'U'
)

// formatPartition is beyond every partition: the store's own rows.
const formatPartition = 0xFFFF

type key []byte

func newKey(partition uint16, kind byte) key {
	k := make(key, 3, 64)
	binary.BigEndian.PutUint16(k, partition)
	k[2] = kind
	return k
}

// part appends a string that more may follow.
func (k key) part(s string) key {
	k = binary.BigEndian.AppendUint16(k, uint16(len(s)))
	return append(k, s...)
}

// rest appends a string that ends the key.
func (k key) rest(s string) key { return append(k, s...) }

func (k key) number(n uint64) key { return binary.BigEndian.AppendUint64(k, n) }

func (k key) editKey(editKey string) key {
	sum := sha256.Sum256([]byte(editKey))
	return append(k, sum[:]...)
}

// end is the first key behind all that start with k.
func (k key) end() key {
	e := append(key(nil), k...)
	for i := len(e) - 1; i >= 0; i-- {
		e[i]++
		if e[i] != 0 {
			return e[:i+1]
		}
	}
	return nil
}

// lastNumber reads the number that ends a key.
func lastNumber(k []byte) uint64 {
	if len(k) < 8 {
		return 0
	}
	return binary.BigEndian.Uint64(k[len(k)-8:])
}

// cutPart reads a part and returns what follows it.
func cutPart(k []byte) (part string, rest []byte, ok bool) {
	if len(k) < 2 {
		return "", nil, false
	}
	n := int(binary.BigEndian.Uint16(k))
	if len(k) < 2+n {
		return "", nil, false
	}
	return string(k[2 : 2+n]), k[2+n:], true
}

// Sources of summaries, as the reverse index names them.
func messageSource(id string) string { return "m" + id }
func summarySource(id string) string { return "s" + id }
