package broker

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestParseAckReply(t *testing.T) {
	for reply, want := range map[string]ackReply{
		"$JS.ACK.EVENTS.c.1.10.3.1700000000000000000.7":              {10, 3, 1700000000000000000, 7},
		"$JS.ACK.hub.ACCHASH.EVENTS.c.1.10.3.1700000000000000000.7":  {10, 3, 1700000000000000000, 7},
		"$JS.ACK._.ACCHASH.EVENTS.c.1.10.3.1700000000000000000.7.xy": {10, 3, 1700000000000000000, 7},
	} {
		got, err := parseAckReply(reply)
		require.NoError(t, err, reply)
		require.Equal(t, want, got, reply)
	}
	for _, reply := range []string{
		"", "_INBOX.x", "$JS.ACK.", "$JS.ACK.S.c.1.10.3.9", "$JS.ACK.S.c.1.x.3.9.7", "$JS.ACK.S.c.1..3.9.7",
		"$JS.ACK.S.c.1.-1.3.9.7", "$JS.ACK.S.c.1.99999999999999999999.3.9.7", "$JS.ACK.a.b.c.d.e.f.1.2.3.4.5.6",
	} {
		_, err := parseAckReply(reply)
		require.ErrorIs(t, err, errNotJetStream, reply)
	}
}

// The parser agrees with nats.go on all input that both accept.
func FuzzParseAckReply(f *testing.F) {
	f.Add("$JS.ACK.EVENTS.c.1.10.3.1700000000000000000.7")
	f.Add("$JS.ACK._.ACCHASH.EVENTS.c.1.10.3.1700000000000000000.7.xy")
	f.Fuzz(func(t *testing.T, reply string) {
		got, err := parseAckReply(reply)
		theirs, theirErr := (&nats.Msg{Reply: reply, Sub: &nats.Subscription{}}).Metadata()
		if err != nil || theirErr != nil {
			return // nats.go accepts negative and empty numbers; this parser does not
		}
		require.Equal(t, theirs.Sequence.Stream, got.streamSeq)
		require.Equal(t, theirs.Sequence.Consumer, got.consumerSeq)
		require.Equal(t, theirs.NumPending, got.pending)
		require.True(t, theirs.Timestamp.Equal(got.time()))
	})
}

func FuzzParseAck(f *testing.F) {
	f.Add([]byte(`{"stream":"EVENTS","seq":7,"duplicate":true}`), "")
	f.Add([]byte(`{"error":{"code":400,"err_code":10071,"description":"wrong last sequence: 1"}}`), "")
	f.Add([]byte(``), "503")
	f.Fuzz(func(t *testing.T, data []byte, status string) {
		a := parseAck(&nats.Msg{Data: data, Header: nats.Header{"Status": {status}}})
		require.True(t, a.Err != nil || strings.Contains(string(data), "stream"), "acknowledged by %q", data)
	})
}

func TestStatusOf(t *testing.T) {
	header := func(kv ...string) nats.Header {
		h := nats.Header{}
		for i := 0; i < len(kv); i += 2 {
			h.Set(kv[i], kv[i+1])
		}
		return h
	}
	for name, c := range map[string]struct {
		msg  nats.Msg
		want pullStatus
		left int
	}{
		"message":         {nats.Msg{Reply: "$JS.ACK.x", Data: []byte("x")}, statusNone, 0},
		"empty message":   {nats.Msg{Reply: "$JS.ACK.x"}, statusNone, 0},
		"forged status":   {nats.Msg{Reply: "$JS.ACK.x", Header: header("Status", "409")}, statusNone, 0},
		"heartbeat":       {nats.Msg{Header: header("Status", "100", "Description", "Idle Heartbeat")}, statusHeartbeat, 0},
		"expired":         {nats.Msg{Header: header("Status", "408", "Nats-Pending-Messages", "5")}, statusExpired, 5},
		"too small":       {nats.Msg{Header: header("Status", "409", "Description", "Message Size Exceeds MaxBytes", "Nats-Pending-Messages", "3")}, statusTooSmall, 3},
		"batch completed": {nats.Msg{Header: header("Status", "409", "Description", "Batch Completed")}, statusExpired, 0},
		"deleted":         {nats.Msg{Header: header("Status", "409", "Description", "Consumer Deleted")}, statusBroken, 0},
		"shutdown":        {nats.Msg{Header: header("Status", "409", "Description", "Server Shutdown")}, statusBroken, 0},
		"no responders":   {nats.Msg{Header: header("Status", "503")}, statusBroken, 0},
		"bad request":     {nats.Msg{Header: header("Status", "400")}, statusBroken, 0},
	} {
		got, left := statusOf(&c.msg)
		require.Equal(t, c.want, got, name)
		require.Equal(t, c.left, left, name)
	}
}

// The demultiplexer agrees with matching every filter by the server's rules.
func TestDemuxFindsTheLaneOfTheFilter(t *testing.T) {
	lanes := make([]*lane, 0, 17)
	for _, l := range allLanes(16) {
		lanes = append(lanes, &lane{Lane: l})
	}
	d := newDemux(lanes)
	token := rapid.SampledFrom([]string{"0", "3", "15", "16", "thread", "tool", "message", "result", "edited", "*", ">", "a=2Eb"})
	rapid.Check(t, func(t *rapid.T) {
		subject := strings.Join(rapid.SliceOfN(token, 1, 5).Draw(t, "subject"), ".")
		var want *lane
		for _, l := range lanes {
			for _, f := range l.Filters {
				if slowMatch(strings.Split(f, "."), strings.Split(subject, ".")) {
					require.Nil(t, want, "two lanes for %s", subject)
					want = l
				}
			}
		}
		require.Equal(t, want, d.laneOf(subject), subject)
	})
}

// slowMatch is an independent implementation of subjectMatches.
func slowMatch(filter, subject []string) bool {
	if len(filter) == 1 && filter[0] == ">" {
		return len(subject) > 0
	}
	if len(filter) == 0 || len(subject) == 0 {
		return len(filter) == len(subject)
	}
	return (filter[0] == "*" || filter[0] == subject[0]) && slowMatch(filter[1:], subject[1:])
}

func TestPullRequestsAreBounded(t *testing.T) {
	require.JSONEq(t, fmt.Sprintf(`{"batch":5,"max_bytes":9,"expires":%d,"idle_heartbeat":%d}`, pullExpires, pullHeartbeat),
		string(pullRequest(5, 9)))
	require.Contains(t, string(pullRequest(1, 0)), `"max_bytes":0,`, "no limit")
}
