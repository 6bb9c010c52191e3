package gateway

import (
	"bytes"
	"io"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/semaphore"
)

// A provider may answer before it has read a request, whose body is read beside the exchange's end then.
func TestSealedCopy(t *testing.T) {
	var held atomic.Int64
	c := &copied{limit: 1 << 20, budget: &budget{room: semaphore.NewWeighted(4 << 20), held: func(n int64) { held.Add(n) }}}
	in, out := io.Pipe()
	ended := make(chan error)
	go func() {
		_, err := io.Copy(io.Discard, &tee{in, c})
		ended <- err
	}()
	send := func(text string) {
		if _, err := io.WriteString(out, text); err != nil {
			t.Error(err)
		}
	}
	send("as far as the answer")
	send(",") // the first is in the copy, since the copy's reader takes this
	sealed := make(chan []byte)
	go func() {
		c.seal()
		sealed <- bytes.Clone(c.data)
		c.release()
		sealed <- nil
	}()
	send(" and this beside its end")
	got := <-sealed
	<-sealed
	send(" and this beyond it")
	if err := out.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if !bytes.HasPrefix(got, []byte("as far as the answer")) {
		t.Errorf("the copy has %q", got)
	}
	if c.data != nil || c.whole || held.Load() != 0 {
		t.Errorf("behind its release a copy has %q (whole: %t), and %d bytes are held", c.data, c.whole, held.Load())
	}
}
