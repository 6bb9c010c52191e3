package tokens

// mergeMax is the longest piece, in bytes, that merges by scanning. A scan is quadratic in the
// piece's length; measured, it is twice as fast as the heap at 24 bytes and as slow at 96.
const mergeMax = 64

// mergeScan counts the tokens that byte pair encoding leaves of a piece of 2 to mergeMax bytes:
// the leftmost of the neighbours with the lowest-ranking token merge, until none has one.
func mergeScan(v *vocab, piece string) int {
	var (
		ranks [mergeMax]rank      // of part i with the part after it
		start [mergeMax + 1]uint8 // of part i
	)
	n := len(piece)
	for i := range n - 1 {
		start[i], ranks[i] = uint8(i), v.pair(piece, i)
	}
	start[n-1], ranks[n-1] = uint8(n-1), noRank
	start[n] = uint8(n)
	for n > 1 {
		best, at := noRank, 0
		for i, r := range ranks[:n-1] {
			if r < best {
				best, at = r, i
			}
		}
		if best == noRank {
			break
		}
		copy(start[at+1:n], start[at+2:n+1])
		copy(ranks[at:n-1], ranks[at+1:n])
		n--
		ranks[at] = mergedRank(v, piece, start[:n+1], at)
		if at > 0 {
			ranks[at-1] = mergedRank(v, piece, start[:n+1], at-1)
		}
	}
	return n
}

// mergedRank is the rank of part i with the part after it; noRank for the last.
func mergedRank(v *vocab, piece string, start []uint8, i int) rank {
	if i+2 >= len(start) {
		return noRank
	}
	return v.rank(piece[start[i]:start[i+2]])
}
