package ui

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"precis/api"
	"precis/internal/audit"
	"precis/internal/content"
	"precis/internal/service"
	"precis/internal/thread"
	"precis/state"
	"precis/summarize"
)

const (
	// maxFolds is how many stories are folded at once.
	maxFolds = 2
	// maxStory is the number of events beyond which a thread is not folded for a page.
	maxStory = 50_000
	// maxKnown is up to how many messages a thread's events are looked up in the store before the log is read.
	maxKnown = 256
	// keptStories, and keptEntries of them together, are remembered.
	keptStories, keptEntries = 32, 100_000
	// foldFor bounds a fold.
	foldFor = 20 * time.Second
)

// stories remembers what was folded last, by thread and state.
type stories struct {
	places chan struct{}
	mu     sync.Mutex
	list   []*told // the last used at the end
}

type told struct {
	name, at           string
	eventSeq, chainSeq uint64
	story              *audit.Story
}

func (s *stories) find(name, at string, h *thread.Header) *told {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, t := range s.list {
		if t.name == name && t.at == at && (at != "" && t.eventSeq <= h.EventSeq || t.eventSeq == h.EventSeq && t.chainSeq == h.ChainSeq) {
			s.list = append(append(s.list[:i:i], s.list[i+1:]...), t)
			return t
		}
	}
	return nil
}

func (s *stories) keep(t *told) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, t)
	entries := 0
	for i := len(s.list) - 1; i >= 0; i-- {
		if entries += len(s.list[i].story.Entries); entries > keptEntries && i < len(s.list)-1 || len(s.list)-i > keptStories {
			s.list = append([]*told(nil), s.list[i+1:]...)
			return
		}
	}
}

// header is that of a thread that the viewer may see.
func (u *UI) header(r *http.Request, v *Viewer) (h *thread.Header, partition int, err error) {
	name := r.PathValue("thread")
	if !v.Covers(name) {
		return nil, 0, &failure{http.StatusForbidden, "The token " + v.Name + " is for threads that begin with " + strconv.Quote(v.Prefix) + "."}
	}
	var reply api.ThreadReply // it says what is wrong with an id, and waits until what it tells is durable
	if err := u.ask(r, v, api.ThreadGet, name, api.ThreadRequest{}, &reply); err != nil {
		return nil, 0, err
	}
	if other := u.Backend.Elsewhere(reply.Partition); other != "" { // what the store has here may be of the past
		return nil, 0, &failure{http.StatusMisdirectedRequest, fmt.Sprintf("The thread is in partition %d, which %s has: its pages are there. The commands and the API answer for all threads.", reply.Partition, other)}
	}
	h, err = u.Backend.View(reply.Partition).Header(name)
	if err == nil && h == nil {
		err = &failure{http.StatusNotFound, "There is no such thread."}
	}
	return h, reply.Partition, err
}

// moment reads a time or an event.
func moment(text string) (audit.Moment, error) {
	if text == "" {
		return audit.Moment{}, nil
	}
	if seq, err := strconv.ParseUint(text, 10, 64); err == nil && seq > 0 {
		return audit.Moment{Seq: seq}, nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return audit.Moment{Time: t}, nil
		}
	}
	return audit.Moment{}, &failure{http.StatusBadRequest, "A moment is an event's number, or a time such as 2026-11-17 09:30 (UTC)."}
}

// tell folds the story of a thread.
func (u *UI) tell(ctx context.Context, h *thread.Header, at string) (*audit.Story, error) {
	m, err := moment(at)
	if err != nil {
		return nil, err
	}
	if t := u.stories.find(h.Thread, at, h); t != nil {
		return t.story, nil
	}
	if h.Events > maxStory {
		return nil, &failure{http.StatusUnprocessableEntity, "The thread has more events than a page folds. The command does: processor audit " + strconv.Quote(h.Thread) + " --html FILE"}
	}
	done, err := u.place(&ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	scratch, err := scratchStore()
	if err != nil {
		return nil, err
	}
	defer scratch.Close()
	story, err := audit.Tell(ctx, u.folding(scratch, h.Thread), h.Thread, m)
	if err != nil {
		return nil, toldWrong(err)
	}
	u.stories.keep(&told{name: h.Thread, at: at, eventSeq: h.EventSeq, chainSeq: h.ChainSeq, story: story})
	return story, nil
}

// toldWrong says what is wrong with a thread or a moment.
func toldWrong(err error) error {
	if errors.Is(err, audit.ErrNoThread) || errors.Is(err, audit.ErrNotYet) {
		return &failure{http.StatusNotFound, sentence(err)}
	}
	return err
}

// place waits for one of the places of folds, and bounds the fold's time.
func (u *UI) place(ctx *context.Context) (done func(), err error) {
	bounded, cancel := context.WithTimeout(*ctx, foldFor)
	select {
	case u.stories.places <- struct{}{}:
		*ctx = bounded
		return func() { <-u.stories.places; cancel() }, nil
	case <-bounded.Done():
		cancel()
		return nil, bounded.Err()
	}
}

func scratchStore() (*state.Store, error) {
	return state.Open("", state.Options{FS: state.Memory(), Scratch: true, CacheBytes: 8 << 20, Logger: zerolog.Nop()})
}

func (u *UI) folding(scratch *state.Store, name string) audit.Options {
	return audit.Options{JetStream: u.JetStream, Beside: u.Beside, Scratch: scratch, Mask: u.Backend.Mask, Now: u.Backend.Now, Logger: zerolog.Nop(), Filter: audit.Filter{Thread: name}, Known: u.known, Kept: u.kept, Applied: &u.applied}
}

// known returns where the events of a thread stand, as far as the store knows.
func (u *UI) known(name string) (seqs []uint64, err error) {
	for partition := range u.Backend.Partitions() {
		view := u.Backend.View(partition)
		h, err := view.Header(name)
		if err != nil {
			return nil, err
		}
		if h != nil && h.Ordinals <= maxKnown {
			return audit.EventsIn(view, h)
		}
	}
	return nil, nil
}

// log reads the messages of a prompt at once, and keeps them for that prompt.
func (u *UI) log() content.Log { return content.NewShared(u.events) }

// read makes the prompt of a thread from a store.
func (u *UI) read(ctx context.Context, from *state.Store, partition int, policies []summarize.Policy, now time.Time, name string, req api.ContextRequest) (api.ContextReply, error) {
	return service.ReadContext(ctx, service.Reading{
		View: from.View(partition), Policies: policies, Now: now, Log: u.log(),
	}, name, req)
}
