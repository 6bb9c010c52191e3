package ask

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"precis/cmd/processor/console"
	"precis/cmd/processor/remote"
	"precis/events"
	"precis/internal/broker"
)

// A claim is a take-over where a processor takes what another one had, beside what it has: not at a start, of one alone or of one that joins.
func TestTakeOvers(t *testing.T) {
	o, now := newOwners(), time.Unix(1, 0)
	for i, c := range []struct {
		after     time.Duration
		partition int
		owner     string
		want      string
	}{
		{0, 0, "host/1/a", ""}, {0, 1, "host/1/a", ""}, {0, 2, "host/1/a", ""}, // it starts
		{time.Hour, 1, "host/2/b", ""}, {time.Second, 2, "host/2/b", ""}, // another one joins and takes its share
		{time.Hour, 1, "host/2/b", ""}, // it claims its own again
		{time.Minute, 1, "host/1/a", "partition 1: moved from host/2/b to host/1/a"}, {0, 2, "host/1/a", "partition 2: moved from host/2/b to host/1/a"},
		{time.Minute, 0, "host/3/c", ""}, {0, 1, "host/3/c", ""}, {0, 2, "host/3/c", ""}, // the next start of one alone
		{time.Minute, 7, "host/3/c", ""}, // its former owner is not known
	} {
		now = now.Add(c.after)
		body := fmt.Sprintf(`{"thread_id":null,"partition":%d,"epoch":%d,"owner":%q}`, c.partition, i, c.owner)
		if got := o.claimed(remote.Entry{Time: now, Typ: events.PartitionClaimed, Raw: events.Raw{Body: []byte(body)}}); got != c.want {
			t.Errorf("claim %d, of partition %d by %s: %q, want %q", i, c.partition, c.owner, got, c.want)
		}
	}
	if got := o.claimed(remote.Entry{Time: now, Typ: events.PartitionClaimed, Raw: events.Raw{Body: []byte("{")}}); got != "" {
		t.Errorf("a claim that can't be read: %s", got)
	}
}

// Only what people see is changed, and only where the records of no thread are not asked for.
func TestTakeOversForPeople(t *testing.T) {
	thread := "t1"
	for name, c := range map[string]struct {
		tail Tail
		want bool
	}{
		"plain": {Tail{}, true}, "all": {Tail{All: true}, false}, "of types": {Tail{Type: []string{"summary.created"}}, false},
		"of a thread": {Tail{Thread: &thread}, false}, "of a prefix": {Tail{Prefix: "a"}, false},
	} {
		if got := c.tail.takesOver(); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	e := remote.Entry{Typ: events.PartitionClaimed}
	if c := (&Tail{}); c.shows(e) {
		t.Error("a claim is shown")
	}
	if e.Said = "partition 1: moved"; !(&Tail{}).shows(e) {
		t.Error("a take-over is not shown")
	}
}

// A tail that begins now knows who has the partitions.
func TestLastClaims(t *testing.T) {
	b, err := broker.Open(t.Context(), broker.Options{Listen: "127.0.0.1:0", StoreDir: t.TempDir(), Sync: "1m", Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close(context.WithoutCancel(t.Context())) }()
	if _, err := broker.Provision(t.Context(), b.JetStream(), broker.StreamSpec{Partitions: 4}); err != nil {
		t.Fatal(err)
	}
	last := func() *owners {
		o := newOwners()
		a := console.New(strings.NewReader(""), io.Discard, io.Discard)
		err := remote.Flags{NATS: b.URL()}.With(t.Context(), a, func(ctx context.Context, s *remote.Server) error {
			o.lastClaims(ctx, s)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	if o := last(); len(o.of) != 0 {
		t.Errorf("of a log without claims: %v", o.of)
	}
	claim := func(partition int, owner string) []byte {
		body := fmt.Appendf(nil, `{"thread_id":null,"partition":%d,"epoch":1,"owner":%q}`, partition, owner)
		if _, err := b.JetStream().Publish(t.Context(), fmt.Sprintf("partition.claimed.=p%d", partition), body); err != nil {
			t.Fatal(err)
		}
		return body
	}
	claim(0, "host/1/a")
	claim(1, "host/1/a")
	body := claim(1, "host/2/b")
	o := last()
	if len(o.of) != 2 || o.of[0] != "host/1/a" || o.of[1] != "host/2/b" {
		t.Errorf("the owners are %v", o.of)
	}
	body = []byte(strings.Replace(string(body), "host/2/b", "host/1/a", 1))
	if said := o.claimed(remote.Entry{Time: time.Now().Add(time.Minute), Raw: events.Raw{Body: body}}); said != "partition 1: moved from host/2/b to host/1/a" {
		t.Error(said)
	}
}
