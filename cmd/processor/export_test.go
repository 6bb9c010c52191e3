package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"precis/internal/broker"
)

func TestExport(t *testing.T) {
	b := newServer(t)
	for _, event := range []nats.Msg{
		{Subject: "thread.message.t=20x", Data: []byte(`{"message_id":"m1", "role":"user", "content":"one", "score":1.50}`)},
		{Subject: "thread.message.other", Data: []byte(`{"message_id":"m1","role":"user","content":"not mine"}`)},
		{Subject: "tool.result.t=20x", Header: nats.Header{"Content-Type": {"application/cloudevents+json; charset=utf-8"}},
			Data: []byte(`{"specversion":"1.0","id":"e1","source":"/a","type":"tool.result","subject":"t x","data":{"message_id":"m2","content":"two"}}`)},
		{Subject: "tool.result.t=20x", Header: nats.Header{"content-type": {"application/cloudevents"}},
			Data: []byte(`{"specversion":"1.0","id":"e3","source":"/a","type":"tool.result","subject":"t x","data":{"message_id":"m3","content":"four"}}`)},
		{Subject: "tool.result.t=20x", Data: []byte(`broken`)},
		{Subject: "message.edited.t=20x", Header: nats.Header{"ce-specversion": {"1.0"}, "ce-id": {"e2"}, "ce-source": {"/a"}, "ce-type": {"message.edited"}},
			Data: []byte(`{"message_id":"m1","content":"three"}`)},
		{Subject: "message.edited.t=20x", Data: []byte(`{"message_id":"m1","deleted":true}`)},
		{Subject: "thread.message.t=20x", Data: []byte(`{"message_id":"m1", "role":"user", "content":"one", "score":1.50}`)},
	} {
		if err := b.Conn().PublishMsg(&event); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Conn().FlushTimeout(testTimeout); err != nil {
		t.Fatal(err)
	}
	got := command(t, b, "", "export", "t x")
	got.wants(t, exitDone, "", "6 events, 1 left out")
	want := []string{
		`{"type":"thread.message","thread_id":"t x","message_id":"m1", "role":"user", "content":"one", "score":1.50}`,
		`{"type":"tool.result","thread_id":"t x","message_id":"m2","content":"two"}`,
		`{"type":"tool.result","thread_id":"t x","message_id":"m3","content":"four"}`,
		`{"type":"message.edited","thread_id":"t x","content":"three","edit_id":"e2","message_id":"m1"}`,
		`{"type":"message.edited","thread_id":"t x","message_id":"m1","deleted":true}`,
		`{"type":"thread.message","thread_id":"t x","message_id":"m1", "role":"user", "content":"one", "score":1.50}`,
	}
	if lines := strings.Split(strings.TrimSpace(got.stdout), "\n"); !slices.Equal(lines, want) {
		t.Errorf("got\n%s\nwant\n%s", got.stdout, strings.Join(want, "\n"))
	}
	tailed := command(t, b, "", "tail", "--json", "--from", "start", "--until-caught-up", "--thread", "t x")
	if tailed.stdout != got.stdout {
		t.Errorf("tail wrote\n%s\nwant\n%s", tailed.stdout, got.stdout)
	}
	again := newServer(t)
	command(t, again, got.stdout, "publish", "-").wants(t, exitDone, "6 events of 1 thread", "")
	second := command(t, again, "", "export", "t x")
	if second.stdout != got.stdout {
		t.Errorf("the second export differs:\n%s\nwant\n%s", second.stdout, got.stdout)
	}
	if n := len(stored(t, again, broker.StreamEvents)); n != 6 {
		t.Errorf("stored %d events", n)
	}
}

func TestExportOfNobody(t *testing.T) {
	command(t, newServer(t), "", "export", "nobody").wants(t, exitWrong, "", `no thread "nobody"`)
}
