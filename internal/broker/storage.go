package broker

import (
	"context"
	"fmt"

	"github.com/nats-io/nats-server/v2/server"
)

// Storage is what streams take of the server's disk, and may, in bytes.
type Storage struct {
	Used  uint64
	Limit uint64 // 0: none that is known
}

// Left is how much may still be stored; known is false where nobody says.
func (s Storage) Left() (bytes uint64, known bool) {
	return s.Limit - min(s.Used, s.Limit), s.Limit > 0
}

// Storage asks the server: an embedded one for its own limit, an external one for the account's. What an external
// server's disk or max_file_store leaves is told to nobody but its keeper.
func (b *Broker) Storage(ctx context.Context) (Storage, error) {
	if b.server == nil {
		info, err := b.js.AccountInfo(ctx)
		if err != nil {
			return Storage{}, fmt.Errorf("ask what is stored: %w", err)
		}
		return Storage{Used: info.Store, Limit: uint64(max(info.Limits.MaxStore, 0))}, nil
	}
	info, err := b.server.srv.Jsz(&server.JSzOptions{})
	if err != nil {
		return Storage{}, fmt.Errorf("ask what is stored: %w", err)
	}
	return Storage{Used: info.Store, Limit: uint64(max(info.Config.MaxStore, 0))}, nil
}
