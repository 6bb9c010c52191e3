package events

import (
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// Encode returns the headers of an event in CloudEvents binary mode; the message body is the data alone.
// thread is the unescaped thread id (for config.applied, PartitionToken), source a URI reference. The id is also the
// Nats-Msg-Id, so that the server drops duplicates: use one of the EventID functions.
func Encode(t Type, id, thread, source string, at time.Time) nats.Header {
	return nats.Header{
		nats.MsgIdHdr:        {percentEncode(id)},
		"ce-specversion":     {specVersion},
		"ce-id":              {percentEncode(id)},
		"ce-source":          {percentEncode(source)},
		"ce-type":            {string(t)},
		"ce-time":            {at.UTC().Format(time.RFC3339Nano)},
		"ce-subject":         {percentEncode(thread)},
		"ce-datacontenttype": {"application/json"},
	}
}

// SummaryEventID is the id of an event about a summary, unique per type.
func SummaryEventID(t Type, summaryID string) string { return string(t) + "/" + summaryID }

// InheritedEventID is the id of a summary.invalidated about a summary that the thread of a token has from its parent: the parent, and
// each of its forks, may invalidate the same summary.
func InheritedEventID(t Type, summaryID, token string) string {
	return SummaryEventID(t, summaryID) + "/" + token
}

// UsageEventID is the id of a usage.recorded: the attempt distinguishes a summary's calls.
func UsageEventID(summaryID string, attempt int) string {
	return fmt.Sprintf("%s/%s/%d", UsageRecorded, summaryID, attempt)
}

// PositionEventID is the id of an event without a summary: the log position at which it was decided.
func PositionEventID(t Type, partition int, eventSeq uint64) string {
	return fmt.Sprintf("%s/%d/%d", t, partition, eventSeq)
}

// PartitionToken replaces the thread token in the subject of an event that belongs to a partition: it is never a
// valid thread token, since p needs no escape.
func PartitionToken(partition int) string { return fmt.Sprintf("=p%d", partition) }

// percentEncode encodes an attribute as a header value (CloudEvents NATS binding, 3.1.3.2): it escapes every byte
// outside printable ASCII, and space, double quote and percent.
func percentEncode(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return !asItIs(r) }) < 0 {
		return s
	}
	b := make([]byte, 0, 3*len(s))
	for i := range len(s) {
		if c := s[i]; asItIs(rune(c)) {
			b = append(b, c)
		} else {
			b = append(b, '%', upperHex[c>>4], upperHex[c&15])
		}
	}
	return string(b)
}

func asItIs(r rune) bool { return 0x21 <= r && r <= 0x7E && r != '"' && r != '%' }
