package operate

import (
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/nats-io/nats.go"

	"precis/cmd/processor/console"
	"precis/cmd/processor/remote"
	"precis/internal/backup"
	"precis/internal/natsurl"
)

// Place is where a backup is.
type Place struct {
	Where  string       `arg:"" name:"place" help:"Directory of the backup, or object store on a NATS server: nats://HOST:PORT/BUCKET."`
	Access remote.Login `embed:"" prefix:"place-" envprefix:"PLACE_"`
}

// open returns the place, and what closes its connection.
func (p Place) open(a *console.App) (backup.Place, func(), error) {
	scheme, _, is := strings.Cut(p.Where, "://")
	if !is || !slices.Contains([]string{"nats", "tls", "ws", "wss"}, scheme) {
		return backup.Dir(kong.ExpandPath(p.Where)), func() {}, nil
	}
	shown := natsurl.Redacted(p.Where)
	u, err := url.Parse(p.Where)
	if err != nil || u.Hostname() == "" {
		return nil, nil, console.Usage("%q is not an object store; write nats://HOST:PORT/BUCKET", shown)
	}
	bucket := strings.Trim(u.Path, "/")
	if bucket == "" || strings.ContainsAny(bucket, "/ .*>") || u.RawQuery != "" || u.Fragment != "" {
		return nil, nil, console.Usage("%q does not name an object store; write nats://HOST:PORT/BUCKET", shown)
	}
	u.Path = ""
	s, err := remote.Flags{NATS: u.String(), Login: p.Access}.Connect(a, nats.NoReconnect())
	switch {
	case errors.Is(err, nats.ErrNoServers):
		return nil, nil, console.Unreachable("connect to %s: no server there (%w)", shown, nats.ErrNoServers)
	case errors.Is(err, nats.ErrAuthorization):
		return nil, nil, console.Unreachable("connect to %s: the server refuses this user; give --place-creds, --place-user or --place-token (%w)", shown, nats.ErrAuthorization)
	case err != nil:
		return nil, nil, err
	}
	return &backup.Bucket{JetStream: s.JS, Name: bucket, Shown: shown}, s.Close, nil
}
