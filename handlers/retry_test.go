package handlers

import (
	"errors"
	"fmt"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"

	"precis/state"
)

// A step that fails for a while is tried again where it is; one that lacks rows of a parked thread is left to the lane, which has turns while it waits.
func TestParkedRowsAreWaitedForByTheLane(t *testing.T) {
	for err, want := range map[error]int{
		errors.New("for a while"):                2,
		fmt.Errorf("apply: %w", state.ErrParked): 1,
	} {
		tries := 0
		_, got := retry(func(*message.Message) ([]*message.Message, error) {
			if tries++; tries == 1 {
				return nil, err
			}
			return nil, nil
		})(message.NewMessage("1", nil))
		if tries != want || (got == nil) != (want == 2) {
			t.Errorf("%v: %d tries, then %v", err, tries, got)
		}
	}
}
