package gateway

import (
	"sync"
	"time"
)

// Bounds on what a request waits for precis. Of 2,000 requests in ten seconds at most dearTurns and five wait for longer than brief, whatever precis does:
// so the 99th of a hundred does not. Where requests are few, one more at a time may wait: so an agent on its own that sends its next request right after an answer gets its
// prompt. Not so once there are many requests, or while precis is slow.
const (
	brief     = 4 * time.Millisecond  // what every request without a prepared prompt may wait where precis answers within that
	worth     = 30 * time.Millisecond // what summaries of the newest messages are worth to a request that has a prepared prompt
	dearTurns = 4                     // requests that may wait for longer than brief
	dearAgain = 2 * time.Second       // until one more may
	many      = 32                    // requests in dearAgain among which none with a prepared prompt waits
	restFor   = 10 * time.Second      // how long a precis that hangs is not waited for
)

// pace decides how long a request waits for its prompt, by how long precis took lately.
type pace struct {
	brief, worth time.Duration
	now          func() time.Time

	mu      sync.Mutex
	typical time.Duration // follows the median of what precis takes
	spent   int           // of dearTurns
	alone   bool          // a request waits that has no turn of these
	since   time.Time     // when they began to come back
	hangs   time.Time     // until when precis is not waited for
	from    time.Time     // since when requests are counted
	count   int
	crowded bool // they were many before that
}

func newPace(brief time.Duration, now func() time.Time) *pace {
	worth := max(brief, worth)
	return &pace{brief: brief, worth: worth, now: now, typical: min(2*brief, worth)}
}

// turn is a request's leave to wait.
type turn struct {
	most time.Duration // 0: it does not wait
	free time.Duration // a wait within this costs no other request its turn
	dear bool
	// alone: without a turn of dearTurns, the only one at a time.
	alone bool
}

// turn says how long a request may wait, at most wait. Call ends when the wait is over. prepared: the request has a prompt that it can go on with. One without that may not wait for
// long waits where answers come soon.
func (p *pace) turn(prepared bool, wait time.Duration) turn {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	if now.Before(p.hangs) {
		return turn{}
	}
	if again := int(now.Sub(p.since) / dearAgain); p.spent > 0 && again > 0 {
		p.spent, p.since = max(0, p.spent-again), now
	}
	crowd := p.crowd(now)
	switch {
	case prepared && (crowd || p.typical > p.worth):
		return turn{}
	case p.spent < dearTurns:
		free := p.brief // where several wait at once, each has the questions of the others to wait for
		if p.spent == 0 {
			p.since, free = now, p.worth
		}
		p.spent++
		if prepared {
			return turn{most: min(wait, p.worth), free: p.brief, dear: true}
		}
		return turn{most: wait, free: free, dear: true}
	case !prepared && !crowd && !p.alone && p.typical < 2*p.worth:
		p.alone = true
		return turn{most: wait, alone: true}
	case !prepared && p.typical <= p.brief:
		return turn{most: min(wait, p.brief)}
	}
	return turn{}
}

// crowd counts a request, and reports whether many come.
func (p *pace) crowd(now time.Time) bool {
	if since := now.Sub(p.from); since >= dearAgain {
		p.crowded = p.count > many && since < 2*dearAgain
		p.from, p.count = now, 0
	}
	p.count++
	return p.crowded || p.count > many
}

// ends is called behind each wait.
func (p *pace) ends(t turn) {
	if t.alone {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.alone = false
	}
}

// back ends a wait that was not too long, whatever ended it. What was answered at once costs nothing.
func (p *pace) back(t turn, took time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t.dear && took <= t.free && p.spent > 0 {
		p.spent--
	}
}

// took notes how long precis took.
func (p *pace) took(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.step(d)
}

// takes notes how long precis has taken without an answer.
func (p *pace) takes(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if d > p.typical {
		p.step(d)
	}
}

// step moves the typical answer towards one, by half of it at most.
func (p *pace) step(d time.Duration) {
	p.typical = min(max(d, p.typical*2/3, p.brief/4), p.typical*3/2, 2*p.worth)
}

// answered notes that precis does not hang, silent that it seems to.
func (p *pace) answered() { p.hang(time.Time{}) }
func (p *pace) silent()   { p.hang(p.now().Add(restFor)) }

func (p *pace) hang(until time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hangs = until
}

// hanging reports whether precis is left alone.
func (p *pace) hanging() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now().Before(p.hangs)
}
