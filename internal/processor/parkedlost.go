package processor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"precis/internal/parked"
	"precis/state"
)

// Rows of a parked thread are lost when their object is not where it was put, or is another one. One answer says nothing: a leader may be behind, and a stream may be about
// to be restored. So rows count as lost when two reads, parkConfirms apart or more, find the same, and the stream is the one that was there when the processor began. The
// partition is marked in the store then (state.Lost), and made again from the log. Where the log does not have everything any more, that would lose what no parked thread ever
// was in: a processor that is alone does not do it, and says what to do.

// parkConfirms is how long after the first read a second one confirms that rows are lost.
var parkConfirms = 30 * time.Second

// otherHeld is for how long it is not asked again whether PARKED is another stream than at the start: each read of a request would ask.
const otherHeld = 5 * time.Second

// lossForgotten is after how long without another read that finds the same a loss has to be found twice again; mostLosses bounds how many are held.
const lossForgotten, mostLosses = 10 * time.Minute, 10_000

// ErrNotInLog: rows of a parked thread are lost, and the log does not have all of what its partition is made from.
var ErrNotInLog = errors.New("the log does not have everything to make them again")

// losses are objects of parked threads that were not where they were put.
type losses struct {
	mu      sync.Mutex
	created time.Time // of PARKED, when the store came to have parked threads, or the processor began; zero: it was not there
	of      map[lossOf]loss
	other   error // why what PARKED lacks may be elsewhere, as of asked
	asked   time.Time
}

type lossOf struct {
	partition int
	object    string
}

type loss struct{ first, last time.Time }

// note notes a read that has found a loss; it reports since when the reads agree.
func (l *losses) note(of lossOf, now time.Time) (first time.Time, again bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.of) > mostLosses || l.of == nil {
		l.of = map[lossOf]loss{}
	}
	at, again := l.of[of]
	if !again || now.Sub(at.last) > lossForgotten {
		at.first, again = now, false
	}
	at.last = now
	l.of[of] = at
	return at.first, again
}

// found forgets what another read has found where it was put.
func (l *losses) found(of lossOf, data []byte) {
	l.mu.Lock()
	_, noted := l.of[of]
	l.mu.Unlock()
	if noted && isObject(data, of.object) {
		l.forget(of)
	}
}

// isObject reports whether data is what an object is named after.
func isObject(data []byte, object string) bool {
	sum := state.NewObjectSum()
	sum.Write(data)
	return sum.Object() == object
}

func (l *losses) forget(of lossOf) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.of, of)
}

func (l *losses) some() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.of) > 0
}

// beginLosses notes, once, which stream the rows of parked threads are in, if there are any, or are to be.
func (p *Processor) beginLosses(ctx context.Context) {
	p.losses.mu.Lock()
	begun := !p.losses.created.IsZero()
	p.losses.mu.Unlock()
	if begun || p.parking.after == 0 && p.store.Format() == state.Format() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, snapshotList)
	defer cancel()
	created, err := p.shelf.Created(ctx)
	if err != nil && !errors.Is(err, parked.ErrNoStream) {
		p.log.Warn().Err(err).Msg("what is missing in " + parked.Stream + " does not count as lost until the next start")
	}
	p.losses.mu.Lock()
	defer p.losses.mu.Unlock()
	p.losses.created = created
}

// lostParked is called with each read that finds rows of a parked thread missing, or other ones. It reports whether they are lost, and has their partition be made again
// then. A follower opens the partition again by itself.
func (p *Processor) lostParked(id int, object string, err error) bool {
	of, now := lossOf{id, object}, time.Now()
	first, again := p.losses.note(of, now)
	if !errors.Is(err, state.ErrNoObject) { // else the read itself has counted
		p.metrics.parking.WithLabelValues("unread").Inc()
	}
	if !again || now.Sub(first) < p.opts.ParkConfirms {
		p.absent.Warn().Err(err).Int("partition", id).Dur("again_in", p.opts.ParkConfirms-now.Sub(first)).Msg("rows of a parked thread are missing: they count as lost when a later read finds the same")
		return false
	}
	if why := p.otherShelf(); why != nil {
		p.absent.Error().Err(err).AnErr("stream", why).Int("partition", id).Msgf("rows of a parked thread are missing in %s: restore it, or move state in the data directory away, which is made again from the log", parked.Stream)
		return false
	}
	p.losses.forget(of)
	mark, unread := p.store.Lost(id)
	if mark.Object != object { // else it is known: a processor that is alone goes on until an event needs them
		p.metrics.parking.WithLabelValues("lost").Inc()
	}
	if err := errors.Join(unread, p.store.MarkLost(id, object)); err != nil {
		p.log.Error().Err(err).Int("partition", id).Msg("that rows are lost is not noted: the next start finds it again")
	}
	if p.opts.Config.Cluster.Name == "" {
		p.log.Error().Err(err).Int("partition", id).Msg("rows of a parked thread are lost")
		return true
	}
	p.lostInCluster(id, err)
	return true
}

// otherShelf is why what PARKED lacks may be elsewhere.
func (p *Processor) otherShelf() error {
	p.losses.mu.Lock()
	why, asked := p.losses.other, p.losses.asked
	p.losses.mu.Unlock()
	if why != nil && time.Since(asked) < otherHeld {
		return why
	}
	ctx, cancel := context.WithTimeout(context.Background(), snapshotList)
	defer cancel()
	created, err := p.shelf.Created(ctx)
	p.losses.mu.Lock()
	defer p.losses.mu.Unlock()
	if err == nil && !created.Equal(p.losses.created) {
		err = fmt.Errorf("it was made at %s, and is not the one that was there at the start", created.Format(time.RFC3339))
	}
	p.losses.other, p.losses.asked = err, time.Now()
	return err
}

// lostInCluster gives the partition up: whoever takes it makes it again, from a snapshot that does not name the object, or from the log. What the log has no more, since retention has
// removed it, is gone then. Nothing is said of the snapshots themselves: who was away may miss what was deleted in order, which those of the owner do not name.
func (p *Processor) lostInCluster(id int, err error) {
	first, set := p.markAgain(id, rowsLost), p.running.Load()
	part := set.byID[id]
	if part != nil && part.anew.CompareAndSwap(false, true) {
		defer p.lose(part, err)
	} else if !first {
		return
	}
	log := p.log.Error().Err(err).Int("partition", id)
	if config := p.folds.Load(); config != nil && config.Retention > 0 {
		log = log.Dur("retention", config.Retention).Bool("incomplete", true)
	}
	log.Msg("rows of a parked thread are lost: its partition is made again when it is opened the next time, from a snapshot that does not name them, or from the log; what neither has of any of its threads stays lost")
}

// madeAnew removes the mark of a partition that has come to the end of the log, and has its owner make a snapshot soon: those that there are may name what is lost.
func (p *Processor) madeAnew(id int) {
	mark, err := p.store.Lost(id)
	if err == nil && mark.Set && mark.Object == "" {
		err = p.store.ClearLost(id)
		p.snapshots.outdated(id)
	}
	if err != nil {
		p.log.Warn().Err(err).Int("partition", id).Msg("a partition that was made again stays marked: it begins from no snapshot that names what was lost")
	}
}

// lostAlone is what a processor that is alone ends with if rows are lost: its next start makes the partition again, if the log has everything.
func (p *Processor) lostAlone(at streams, err error) error {
	if at.events.MaxAge == 0 && at.events.First <= 1 && at.events.Holes() == 0 && at.summaries.Holes() == 0 {
		return err
	}
	return fmt.Errorf("%w; %w, since EVENTS begins at %d, has %d holes and keeps events for %s: restore %s and start again; or move the store (state in the data directory) away and start: all partitions are made from what the log has, "+
		"and lack what is gone from it of every thread", err, ErrNotInLog, at.events.First, at.events.Holes(), kept(at.events.MaxAge), parked.Stream)
}

func kept(age time.Duration) string {
	if age == 0 {
		return "ever"
	}
	return age.String()
}

// openAlone opens all partitions of a processor that is alone, after those whose parked rows are lost are dropped.
func (p *Processor) openAlone(ctx context.Context, at streams) ([]*partition, error) {
	for waited, again := false, false; ; again = true {
		if again { // the last try has published claims, which the store has seen
			var err error
			if at, err = p.streams(ctx); err != nil {
				return nil, err
			}
		}
		dropped, err := p.dropLost(ctx, at)
		if err != nil {
			return nil, err
		}
		parts, err := p.openAll(ctx, p.all(), at)
		switch {
		case errors.Is(err, state.ErrParked) && p.losses.some() && !waited: // a second look confirms it
			if err := pause(ctx, p.opts.ParkConfirms); err != nil {
				return nil, err
			}
			waited = true
		case errors.Is(err, state.ErrLost) && !dropped && !errors.Is(p.lostAlone(at, err), ErrNotInLog):
		case errors.Is(err, state.ErrLost):
			return nil, p.lostAlone(at, err)
		default:
			return parts, err
		}
	}
}

// dropLost drops the rows of all partitions, which nothing may have open, if parked rows of one are lost and the log has everything: what the lost one's forks begin with
// may be handed over by others again only from the beginning. They go at once: a start that finds some gone, and the rows where they were put, would fail at such a fork.
// Where the log lacks something, nothing is dropped: who needs the rows finds that out.
func (p *Processor) dropLost(ctx context.Context, at streams) (dropped bool, err error) {
	var lost []int
	for _, id := range p.all() {
		is, err := p.isLost(ctx, id)
		if err != nil {
			return false, err
		}
		if is {
			lost = append(lost, id)
		}
	}
	if len(lost) == 0 {
		return false, nil
	}
	if err := p.lostAlone(at, state.ErrLost); errors.Is(err, ErrNotInLog) {
		p.log.Error().Err(err).Ints("partitions", lost).Msg("what needs the rows of a parked thread that are lost will end the processor")
		return false, nil
	}
	p.log.Warn().Ints("partitions", lost).Msg("rows of parked threads are lost: all partitions are made again from the log")
	return true, p.dropRows(p.all()...)
}

// isLost reports whether a partition is marked, and rightly. The mark goes if its object is back, or nothing names it any more.
func (p *Processor) isLost(ctx context.Context, id int) (bool, error) {
	if lost, err := p.isNamed(id); err != nil || !lost {
		return false, err
	}
	mark, err := p.store.Lost(id)
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, snapshotGet)
	defer cancel()
	data, err := p.shelf.Get(ctx, id, mark.Object)
	switch {
	case err == nil && isObject(data, mark.Object):
		p.log.Info().Int("partition", id).Msg("rows of a parked thread that were lost are back")
		return false, p.store.ClearLost(id)
	case err != nil && !errors.Is(err, state.ErrNoObject): // it can't be told now
		p.log.Warn().Err(err).Int("partition", id).Msg("whether lost rows of a parked thread are back can't be determined now; it is checked again when the partition is next opened")
		return false, nil
	}
	return true, nil
}

// isNamed reports whether a partition is marked, and a parked thread of it names what is lost. If none does any more, the mark goes.
func (p *Processor) isNamed(id int) (bool, error) {
	mark, err := p.store.Lost(id)
	if err != nil || mark.Object == "" {
		return false, err
	}
	named := false
	err = p.store.View(id).ParkedThreads(func(_ string, k state.Parked) (bool, error) {
		named = k.Object == mark.Object
		return !named, nil
	})
	if err != nil || named {
		return named, err
	}
	return false, p.store.ClearLost(id)
}
