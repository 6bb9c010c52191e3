package gateway

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// simulated is a day in the life of a pace: requests of conversations at a steady rate, to a precis that takes what it takes.
type simulated struct {
	every         time.Duration
	conversations int
	turns         int // of each conversation, one after the other; 0: they take turns
	takes         func(at time.Duration) time.Duration

	waits []time.Duration
	fresh []bool // with the request's own prompt
	alone []bool // with none
}

func (s *simulated) run(requests int) {
	type event struct {
		at time.Duration
		do func()
	}
	var clock time.Duration
	begun := time.Unix(1, 0)
	p := newPace(brief, func() time.Time { return begun.Add(clock) })
	var later []event
	at := func(when time.Duration, do func()) {
		i, _ := slices.BinarySearchFunc(later, when, func(e event, when time.Duration) int {
			if e.at <= when {
				return -1
			}
			return 1
		})
		later = slices.Insert(later, i, event{when, do})
	}
	until := func(end time.Duration) {
		for len(later) > 0 && later[0].at <= end {
			e := later[0]
			later, clock = later[1:], e.at
			e.do()
		}
		clock = end
	}
	prepared := make([]bool, s.conversations)
	for i := range requests {
		until(time.Duration(i) * s.every)
		c, takes := i%s.conversations, s.takes(clock)
		if s.turns > 0 {
			c = i / s.turns
		}
		turn := p.turn(prepared[c], 250*time.Millisecond)
		wait, fresh := turn.most, turn.most > 0 && takes <= turn.most
		if fresh {
			wait = takes
			at(clock+takes, func() { p.back(turn, takes); p.ends(turn) })
		} else if turn.most > 0 {
			at(clock+turn.most, func() { p.takes(turn.most); p.ends(turn) })
		}
		s.waits, s.fresh, s.alone = append(s.waits, wait), append(s.fresh, fresh), append(s.alone, !fresh && !prepared[c])
		if takes <= askFor {
			at(clock+takes, func() {
				prepared[c] = true
				p.answered()
				p.took(takes)
			})
		} else {
			at(clock+askFor, func() {
				p.silent()
				p.took(askFor)
			})
		}
	}
}

func (s *simulated) long() (n int) {
	for _, w := range s.waits {
		if w > brief {
			n++
		}
	}
	return n
}

func constant(d time.Duration) func(time.Duration) time.Duration {
	return func(time.Duration) time.Duration { return d }
}

// Whatever precis does, fewer than one request in a hundred waits for longer than brief at 200 a second, the beginning included.
func TestPaceOfASlowOne(t *testing.T) {
	ways := map[string]func(rnd *rand.Rand) func(at time.Duration) time.Duration{
		"hangs": func(*rand.Rand) func(time.Duration) time.Duration { return constant(time.Hour) },
		"jitters": func(rnd *rand.Rand) func(time.Duration) time.Duration {
			return func(time.Duration) time.Duration { return time.Duration(rnd.Int64N(int64(300 * time.Millisecond))) }
		},
		"often quick": func(rnd *rand.Rand) func(time.Duration) time.Duration {
			return func(time.Duration) time.Duration {
				return []time.Duration{2 * time.Millisecond, 100 * time.Millisecond}[rnd.IntN(2)]
			}
		},
		"becomes slow": func(*rand.Rand) func(time.Duration) time.Duration {
			return func(at time.Duration) time.Duration {
				if at < 3*time.Second {
					return 2 * time.Millisecond
				}
				return 100 * time.Millisecond
			}
		},
		"comes and goes": func(rnd *rand.Rand) func(time.Duration) time.Duration {
			return func(at time.Duration) time.Duration {
				if int(at/(700*time.Millisecond))%2 == 0 {
					return time.Duration(rnd.Int64N(int64(6 * time.Millisecond)))
				}
				return time.Duration(rnd.Int64N(int64(3 * time.Second)))
			}
		},
	}
	for _, ms := range []int64{35, 50, 100, 250, 251, 1000, 2001} {
		d := time.Duration(ms) * time.Millisecond
		ways[d.String()] = func(*rand.Rand) func(time.Duration) time.Duration { return constant(d) }
	}
	for name, takes := range ways {
		for seed := range uint64(20) {
			s := &simulated{every: 5 * time.Millisecond, conversations: 20, takes: takes(rand.New(rand.NewPCG(seed, 1)))}
			s.run(2000)
			if n := s.long(); n >= 20 {
				t.Errorf("%s, seed %d: %d of 2000 requests wait for longer than %s", name, seed, n, brief)
			}
		}
	}
}

// One that is not so quick has every request compacted, but for the first ones of conversations that begin at the same time; with its own prompt where there
// are few of them.
func TestPaceOfAHealthyOne(t *testing.T) {
	firstIsSlow := func() func(time.Duration) time.Duration {
		n := 0
		return func(time.Duration) time.Duration {
			n++
			if n <= 20 { // the first of each conversation
				return 18 * time.Millisecond
			}
			return 3 * time.Millisecond
		}
	}
	for _, test := range []struct {
		name  string
		every time.Duration
		takes func(time.Duration) time.Duration
		fresh int // of 400, at least
	}{
		{"usual", 100 * time.Millisecond, firstIsSlow(), 400},
		{"many", 5 * time.Millisecond, firstIsSlow(), 4},
		{"slow disk, many", 5 * time.Millisecond, constant(15 * time.Millisecond), 4},
		{"slow disk, few requests", 5 * time.Second, constant(15 * time.Millisecond), 400},
		{"slower, few requests", 5 * time.Second, constant(29 * time.Millisecond), 400},
		{"slow, few requests", 5 * time.Second, constant(100 * time.Millisecond), 20},
	} {
		s := &simulated{every: test.every, conversations: 20, takes: test.takes}
		s.run(400)
		fresh := 0
		for i := range s.waits {
			if s.fresh[i] {
				fresh++
			}
			if s.alone[i] && (i >= s.conversations || test.every > 5*time.Millisecond) {
				t.Errorf("%s: request %d has no prompt", test.name, i)
			}
		}
		if fresh < test.fresh {
			t.Errorf("%s: %d of 400 requests have their own prompt", test.name, fresh)
		}
		if late := s.waits[len(s.waits)/2:]; test.name == "slow, few requests" && slices.Max(late) > 0 {
			t.Errorf("%s: a request waits %s", test.name, slices.Max(late))
		}
	}
}

// When it is quick again, requests have their own prompts again within three seconds.
func TestPaceFindsOut(t *testing.T) {
	for name, before := range map[string]time.Duration{"slow": 250 * time.Millisecond, "hangs": time.Hour} {
		for _, every := range []time.Duration{100 * time.Millisecond, time.Second} {
			const slow = 10 * time.Second
			s := &simulated{every: every, conversations: 1, takes: func(at time.Duration) time.Duration {
				if at < slow {
					return before
				}
				return 2 * time.Millisecond
			}}
			n := int((slow + 20*time.Second) / every)
			s.run(n)
			for i := int((slow + 3*time.Second) / every); i < n; i++ {
				if !s.fresh[i] {
					t.Fatalf("%s, one request in %s: %s later it still goes without its own prompt", name, every, time.Duration(i)*every-slow)
				}
			}
		}
	}
}

// An agent on its own, whose requests follow on the answers at once, has a prompt in each conversation, though those before have spent the turns.
func TestPaceOfAnAgentAlone(t *testing.T) {
	for _, test := range []struct {
		turns        int
		every, takes time.Duration
	}{
		{6, 80 * time.Millisecond, 20 * time.Millisecond},
		{1, 110 * time.Millisecond, 50 * time.Millisecond},
	} {
		s := &simulated{every: test.every, conversations: 10, turns: test.turns, takes: constant(test.takes)}
		s.run(10 * test.turns)
		for i, without := range s.alone {
			if without {
				t.Errorf("%d turns, answers after %s: request %d has no prompt", test.turns, test.takes, i)
			}
		}
	}
}

// However the wait of a request without a turn ends, the next one may wait.
func TestAwaitEnds(t *testing.T) {
	answered := make(chan struct{})
	close(answered)
	gone, leave := context.WithCancel(t.Context())
	leave()
	for name, way := range map[string]struct {
		caller context.Context
		q      *question
	}{
		"no question":   {t.Context(), nil},
		"answered":      {t.Context(), &question{done: answered}},
		"caller leaves": {gone, &question{done: make(chan struct{})}},
		"late":          {t.Context(), &question{done: make(chan struct{})}},
	} {
		p := newPace(brief, time.Now)
		p.spent, p.since = dearTurns, time.Now()
		turn := p.turn(false, time.Millisecond)
		if again := p.turn(false, time.Millisecond); !turn.alone || again.alone {
			t.Fatalf("%s: %+v, then %+v", name, turn, again)
		}
		_ = (&compactor{pace: p, now: time.Now}).await(way.caller, way.q, turn)
		if again := p.turn(false, time.Millisecond); !again.alone {
			t.Errorf("%s: the next one may not wait", name)
		}
	}
}
