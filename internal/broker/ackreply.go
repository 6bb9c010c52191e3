package broker

import (
	"strings"
	"time"
)

// ackReply is JetStream's metadata of a delivered message, from its reply subject:
//
//	$JS.ACK.<stream>.<consumer>.<delivered>.<stream seq>.<consumer seq>.<time>.<pending>
//	$JS.ACK.<domain>.<account>.<stream>.<consumer>.<delivered>.<stream seq>.<consumer seq>.<time>.<pending>[.<token>]
//
// nats.go parses the same with an allocation per message; this parser has none.
type ackReply struct {
	streamSeq   uint64
	consumerSeq uint64
	stamp       int64 // Unix nanoseconds
	pending     uint64
}

func (a ackReply) time() time.Time { return time.Unix(0, a.stamp) }

const (
	ackPrefix    = "$JS.ACK."
	ackTokensV1  = 9
	ackTokensV2  = 11
	ackMaxTokens = 12
)

func parseAckReply(reply string) (ackReply, error) {
	if !strings.HasPrefix(reply, ackPrefix) {
		return ackReply{}, errNotJetStream
	}
	var tokens [ackMaxTokens]string
	n := 0
	for rest, more := reply, true; more; n++ {
		if n == ackMaxTokens {
			return ackReply{}, errNotJetStream
		}
		tokens[n], rest, more = strings.Cut(rest, ".")
	}
	first := 5 // stream seq in the first form
	if n >= ackTokensV2 {
		first = 7
	} else if n != ackTokensV1 {
		return ackReply{}, errNotJetStream
	}
	return numbers(tokens[first : first+4])
}

func numbers(tokens []string) (ackReply, error) {
	var v [4]uint64
	for i, t := range tokens {
		n, ok := parseDecimal(t)
		if !ok {
			return ackReply{}, errNotJetStream
		}
		v[i] = n
	}
	return ackReply{streamSeq: v[0], consumerSeq: v[1], stamp: int64(v[2]), pending: v[3]}, nil
}

// parseDecimal takes 1 to 19 digits, which always fit.
func parseDecimal(s string) (uint64, bool) {
	if len(s) == 0 || len(s) > 19 {
		return 0, false
	}
	var n uint64
	for i := range len(s) {
		d := s[i] - '0'
		if d > 9 {
			return 0, false
		}
		n = n*10 + uint64(d)
	}
	return n, true
}
