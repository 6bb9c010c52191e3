package broker

import (
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	// pullExpires is how long a request for messages waits at the server.
	pullExpires = 30 * time.Second
	// pullHeartbeat is how often the server must confirm that it still holds the
	// request; after two missed heartbeats the consumer is recreated.
	pullHeartbeat = 5 * time.Second
)

// pullRequest requests messages. maxBytes 0: no limit.
type pullRequest struct{ batch, maxBytes int }

func (r pullRequest) encode() []byte {
	b := make([]byte, 0, 96)
	b = append(b, `{"batch":`...)
	b = strconv.AppendInt(b, int64(r.batch), 10)
	if r.maxBytes > 0 {
		b = append(b, `,"max_bytes":`...)
		b = strconv.AppendInt(b, int64(r.maxBytes), 10)
	}
	b = append(b, `,"expires":`...)
	b = strconv.AppendInt(b, pullExpires.Nanoseconds(), 10)
	b = append(b, `,"idle_heartbeat":`...)
	b = strconv.AppendInt(b, pullHeartbeat.Nanoseconds(), 10)
	return append(b, '}')
}

// pullStatus is what an empty message says about a request.
type pullStatus int

const (
	statusNone      pullStatus = iota // an ordinary message
	statusHeartbeat                   // the request waits; there is nothing to deliver
	statusExpired                     // the request is over; its remainder will not come
	statusTooSmall                    // the next message is larger than the request's max_bytes
	statusBroken                      // the consumer or its server is gone
)

// statusOf classifies m and returns how many messages of its request will not come.
func statusOf(m *nats.Msg) (pullStatus, int) {
	if len(m.Data) > 0 || m.Reply != "" && strings.HasPrefix(m.Reply, ackPrefix) {
		return statusNone, 0
	}
	left, _ := strconv.Atoi(m.Header.Get("Nats-Pending-Messages"))
	switch m.Header.Get("Status") {
	case "":
		return statusNone, 0
	case "100":
		return statusHeartbeat, 0
	case "408":
		return statusExpired, left
	case "409":
		return conflict(m.Header.Get("Description")), left
	default:
		return statusBroken, 0
	}
}

// conflict distinguishes 409s by their description, as nats.go does.
func conflict(description string) pullStatus {
	switch strings.ToLower(description) {
	case "message size exceeds maxbytes":
		return statusTooSmall
	case "batch completed":
		return statusExpired
	default:
		return statusBroken
	}
}
