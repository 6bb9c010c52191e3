package recovery_test

import (
	"fmt"
	"slices"
	"testing"

	"precis/internal/broker"
	"precis/internal/recovery"
)

// What waits for all piles together is bounded whatever their number, and every pile receives its messages in order.
func TestDealBoundsWhatWaits(t *testing.T) {
	for _, piles := range []int{1, 17, 64, 1025} {
		for _, size := range []int{100, 100_000} {
			t.Run(fmt.Sprintf("%d piles, %d bytes", piles, size), func(t *testing.T) {
				deal := recovery.NewDeal(piles, func(subject string) int { return recovery.PartitionOf(subject, piles-1) })
				body := make([]byte, size)
				// Each pile has one hand waiting; the next one would block.
				given := make(map[int]int)
				waiting, mostEvents, mostBytes := 0, max(8*piles, 32*256), max(64<<10*piles, 32<<20)+piles*size
				received := make([]chan []uint64, piles)
				for i := range piles {
					received[i] = make(chan []uint64, 1)
				}
				var seq uint64
				for i := range piles {
					for {
						if len(deal.Pile(i)) == 1 {
							break
						}
						seq++
						if err := deal.Give(t.Context(), broker.Stored{Subject: fmt.Sprintf("%d.thread.message.t", i), Seq: seq, Data: body}); err != nil {
							t.Fatal(err)
						}
						given[i]++
						waiting++
					}
				}
				if waiting > mostEvents || waiting*size > mostBytes {
					t.Errorf("%d messages, %d bytes wait; at most %d, %d", waiting, waiting*size, mostEvents, mostBytes)
				}
				for i := range piles {
					go func() {
						var seqs []uint64
						for hand := range deal.Pile(i) {
							for _, m := range hand {
								seqs = append(seqs, m.Seq)
							}
						}
						received[i] <- seqs
					}()
				}
				deal.End(t.Context())
				for i := range piles {
					if seqs := <-received[i]; len(seqs) != given[i] || !slices.IsSorted(seqs) {
						t.Fatalf("pile %d: %d of %d messages, sorted: %v", i, len(seqs), given[i], slices.IsSorted(seqs))
					}
				}
			})
		}
	}
}
