package e2e_test

import (
	"fmt"
	"testing"

	"github.com/nats-io/nats.go"
)

// elsewhere are reply subjects that are no inboxes: what JetStream, the system and the processor listen to, and what the
// streams take.
func elsewhere() []string {
	list := []string{
		"", "_INBOX", "_INBOX.", "_INBOX..x", "_INBOX.*", "_INBOX.>", "_INBOX.x.*", "_INBOXES.x", "_inbox.x",
		"thread.message.t9", "tool.result.t9", "message.edited.t9", "0.tool.result.t9",
		"summary.created.t1", "summary.started.t1", "summary.invalidated.t1", "summary.failed.t1",
		"usage.recorded.t1", "config.applied.=p0", "partition.claimed.=p0", "event.rejected.t1", "event.rejected.=",
		"precis.thread.summarize.t1", "$SRV.PING", "$SYS.REQ.USER.INFO", "$SYS.ACCOUNT.$G.CONNECT", "$KV.x.y",
		"$JS.API.INFO", "$JS.API.STREAM.NAMES", "$JS.API.STREAM.LIST", "$JS.API.META.LEADER.STEPDOWN",
		"$JS.API.SERVER.REMOVE", "$JS.API.ACCOUNT.PURGE.$G", "$JS.API.DIRECT.GET.EVENTS.x",
		"$JS.API.CONSUMER.CREATE.EVENTS.c.*.tool.result.*",
	}
	for _, stream := range []string{"EVENTS", "SUMMARIES", "REJECTED"} {
		for _, call := range []string{
			"STREAM.CREATE", "STREAM.UPDATE", "STREAM.INFO", "STREAM.DELETE", "STREAM.PURGE", "STREAM.SNAPSHOT", "STREAM.RESTORE",
			"STREAM.MSG.DELETE", "STREAM.MSG.GET", "DIRECT.GET", "STREAM.PEER.REMOVE", "STREAM.LEADER.STEPDOWN",
			"CONSUMER.CREATE", "CONSUMER.NAMES", "CONSUMER.LIST",
		} {
			list = append(list, "$JS.API."+call+"."+stream)
		}
		for _, call := range []string{
			"CONSUMER.CREATE", "CONSUMER.DURABLE.CREATE", "CONSUMER.INFO", "CONSUMER.DELETE", "CONSUMER.PAUSE", "CONSUMER.MSG.NEXT",
			"CONSUMER.RESET", "CONSUMER.UNPIN", "CONSUMER.LEADER.STEPDOWN",
		} {
			list = append(list, "$JS.API."+call+"."+stream+".c")
		}
	}
	return list
}

// A reply goes out with the service's rights: it must not be a way to write, delete or read elsewhere.
func TestServiceAnswersInboxesAlone(t *testing.T) {
	w := begin(t, "partitions: 2\n")
	w.thread("t1", w.message("t1", "m", "x"))
	w.eventually("each partition has its claim and what is in force, which comes behind the first answers", func() error {
		for _, partition := range []int{0, 1, 2} {
			if len(w.configured(partition)) == 0 {
				return fmt.Errorf("partition %d has no configuration", partition)
			}
		}
		return nil
	})
	before := w.everything()
	requests := []nats.Msg{
		{Subject: "precis.thread.get.t1"}, {Subject: "precis.thread.get.nobody", Data: []byte("{}")}, // an error has no body
		{Subject: "precis.thread.context.t1"}, {Subject: "precis.thread.context.nobody"},
		{Subject: "precis.message.get.t1", Data: []byte(`{"message_id":"m"}`)}, {Subject: "precis.message.get.nobody"},
		{Subject: "precis.summary.get.none"}, {Subject: "precis.thread.summarize.nobody"}, {Subject: "precis.thread.summarize.t1", Data: []byte("[]")},
		{Subject: "$SRV.PING"}, {Subject: "$SRV.PING.precis"}, {Subject: "$SRV.INFO"}, {Subject: "$SRV.STATS.precis"},
	}
	sent := 0
	for _, to := range elsewhere() {
		for _, request := range requests {
			request.Reply = to
			if err := w.nc.PublishMsg(&request); err != nil {
				t.Fatal(err)
			}
			sent++
		}
	}
	w.eventually("requests are refused", func() error {
		if got := w.metrics("precis_requests_refused_total")[`reason="reply_subject"`]; int(got) != sent {
			return fmt.Errorf("%v of %d", got, sent)
		}
		return nil
	})
	w.answer("precis.thread.get.t1", nil) // and goes on
	for stream, was := range before {
		if is := w.everything()[stream]; len(is) != len(was) {
			t.Errorf("%s holds %d messages, held %d", stream, len(is), len(was))
		}
	}
}
