package gateway

import (
	"sync"
	"time"

	"github.com/rs/zerolog"
)

// quietFor is how long a reason is not logged again.
const quietFor = 10 * time.Second

// quiet keeps a log from being flooded.
type quiet struct {
	now func() time.Time

	mu     sync.Mutex
	last   map[string]time.Time
	silent map[string]int // what happened since
}

// turn reports whether a reason may be logged, and how often it was not.
func (q *quiet) turn(reason string) (silent int, may bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.last == nil {
		q.last, q.silent = map[string]time.Time{}, map[string]int{}
	}
	now := q.now()
	if last, ok := q.last[reason]; ok && now.Sub(last) < quietFor {
		q.silent[reason]++
		return 0, false
	}
	silent = q.silent[reason]
	q.last[reason], q.silent[reason] = now, 0
	return silent, true
}

func (q *quiet) dropped(log zerolog.Logger, reason string, err error) {
	if silent, may := q.turn(reason); may {
		log.Warn().Err(err).Str("reason", reason).Int("not_logged", silent).Msg("not published")
	}
}

func (q *quiet) warn(log zerolog.Logger, what string, err error) {
	if _, may := q.turn(what); may {
		log.Warn().Err(err).Msg(what + ": trying again")
	}
}

// unknown names a member for which requests go as they came: agents show no header of an answer.
func (q *quiet) unknown(log zerolog.Logger, api, member string) {
	if silent, may := q.turn(asField); may {
		log.Warn().Str("api", api).Str("member", member).Int("not_logged", silent).Msg("not compacted: a member of the request is not known")
	}
}

// elsewhere reports an operation that is asked for at a path where no provider has it: a base URL with one /v1 too few or too many.
func (q *quiet) elsewhere(log zerolog.Logger, path string) {
	if silent, may := q.turn(path); may {
		log.Warn().Str("path", path).Int("not_logged", silent).Msg("passed on unread: the base URL of OpenAI's clients ends with /v1, and that of Anthropic's does not")
	}
}
