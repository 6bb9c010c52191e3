package events

import (
	"errors"
	"fmt"
	neturl "net/url"
	"time"

	"github.com/nats-io/nats.go"
)

// Connect connects with the options that the clients of this package need: it waits for a server that is not up yet
// and reconnects without limit. The caller's options come last and may override these.
func Connect(url string, opts ...nats.Option) (*nats.Conn, error) {
	all := append([]nats.Option{
		nats.Name("precis client"),
		nats.RetryOnFailedConnect(true),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(250 * time.Millisecond),
		nats.ReconnectJitter(100*time.Millisecond, 100*time.Millisecond),
	}, opts...)
	nc, err := nats.Connect(url, all...)
	var malformed *neturl.Error
	switch {
	case errors.As(err, &malformed): // its text contains the address, and with it any password
		return nil, errors.New("connect: not a server's address")
	case err != nil:
		return nil, fmt.Errorf("connect: %w", err)
	}
	return nc, nil
}
