package events

import (
	"errors"
	"fmt"
	neturl "net/url"
	"time"

	"github.com/nats-io/nats.go"
)

// Connect connects to a server as the clients here need it: it waits for a server that is not there yet, and
// reconnects without end. The caller's options come after these and may change them.
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
	case errors.As(err, &malformed): // it shows the address, in which a password may stand
		return nil, errors.New("connect: not a server's address")
	case err != nil:
		return nil, fmt.Errorf("connect: %w", err)
	}
	return nc, nil
}
