package broker

import (
	"context"
	"fmt"

	"github.com/nats-io/nats-server/v2/server"
)

// Storage is the disk space that the server's streams use and may use, in bytes.
type Storage struct {
	Used  uint64
	Limit uint64 // 0: unknown
}

// Left is the remaining space; known is false if the limit is unknown.
func (s Storage) Left() (bytes uint64, known bool) {
	return s.Limit - min(s.Used, s.Limit), s.Limit > 0
}

// Storage returns the space used and allowed: by an embedded server as a whole, or by the account on an external one. An
// external server does not report its free disk space or max_file_store to clients.
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
