package gateway

import (
	"context"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	client "precis/api"
)

// A question that no request waits for has the whole time that precis may take, however long it waited for its turn.
func TestTurnTakesNoTimeOfTheQuestion(t *testing.T) {
	srv, err := natsserver.NewServer(&natsserver.Options{Host: "127.0.0.1", Port: natsserver.RANDOM_PORT, NoSigs: true, NoLog: true})
	if err != nil {
		t.Fatal(err)
	}
	srv.Start()
	defer srv.WaitForShutdown()
	defer srv.Shutdown()
	nc, err := nats.Connect(srv.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	sub, err := nc.Subscribe(client.ThreadContext+">", func(m *nats.Msg) {
		_ = m.Respond([]byte(`{"thread_id":"t","messages":[],"token_count":1}`))
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	const most = 500 * time.Millisecond
	c := &compactor{pace: newPace(0, time.Now), now: time.Now, most: most, open: map[string]int{}, news: newNews(), prepared: newPrepared(preparedBytes, func(int) {})}
	if c.client, err = client.NewClient(nc, client.ClientOptions{Timeout: most}); err != nil {
		t.Fatal(err)
	}
	c.running, c.stop = context.WithCancel(t.Context())
	defer c.close()
	c.next = time.Now().Add(2 * most) // others have their turn before
	q := c.askInTurn("t", client.FormatMessages, nil, apart)
	<-q.done
	if q.err != nil {
		t.Errorf("the answer of a question that waited: %v", q.err)
	}
}
