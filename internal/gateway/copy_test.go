package gateway

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
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

// What a transport or the worker still reads of a copy is not lent to another one, and a transport that reads on behind the end of its exchange gets nothing
// of what the memory has by then.
func TestHeldCopy(t *testing.T) {
	var held atomic.Int64
	budget := &budget{room: semaphore.NewWeighted(4 << 20), held: func(n int64) { held.Add(n) }}
	text := bytes.Repeat([]byte("what a client says"), 1000)
	for range 100 {
		c := &copied{limit: 1 << 20, hint: len(text), budget: budget}
		c.write(text)
		first := c.body(c.data)
		body := c.body(c.data[:9000], []byte("a summary"), c.data[9000:]) // in its place
		if n, err := first.Read(make([]byte, 1)); err == nil {
			t.Fatalf("%d bytes of a body that is not sent", n)
		}
		c.hold() // of the worker
		words := c.data
		c.release()
		if held.Load() == 0 || !bytes.Equal(words, text) {
			t.Fatalf("%d bytes are held while they are read: %.40q", held.Load(), words)
		}
		begun, read := make(chan struct{}), make(chan error)
		go func() {
			got := make([]byte, 0, len(text)+9)
			b := make([]byte, 512)
			for {
				n, err := body.Read(b)
				got = append(got, b[:n]...)
				if n > 0 && len(got) == 512 {
					close(begun)
				}
				if err != nil {
					if want := string(text[:9000]) + "a summary" + string(text[9000:]); !strings.HasPrefix(want, string(got)) || errors.Is(err, io.EOF) && want != string(got) {
						t.Errorf("%d bytes, and %v: %.40q", len(got), err, got)
					}
					read <- err
					return
				}
			}
		}()
		<-begun
		c.release()
		c.seal()
		other := &copied{limit: 1 << 20, hint: len(text), budget: budget} // may have the same memory
		other.write(bytes.Repeat([]byte("what another says "), 1000))
		if err := <-read; !errors.Is(err, io.EOF) && !errors.Is(err, http.ErrBodyReadAfterClose) {
			t.Error(err)
		}
		other.release()
		if n := held.Load(); n != 0 {
			t.Fatalf("%d bytes are held", n)
		}
	}
}
