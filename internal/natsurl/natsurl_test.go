package natsurl_test

import (
	"testing"

	"precis/internal/natsurl"
)

func TestRedacted(t *testing.T) {
	for _, c := range []struct{ list, want string }{
		{"", ""},
		{"nats://127.0.0.1:4222", "nats://127.0.0.1:4222"},
		{"localhost", "localhost"},
		{"nats://ann:s3cret@host:4222", "nats://ann:xxxxx@host:4222"},
		{"ann:s3cret@host", "ann:xxxxx@host"},
		{"nats://s3cret@host", "nats://xxxxx@host"},
		{"nats://ann:s3c@ret@host", "nats://ann:xxxxx@host"},
		{"nats://ann:s3 cret%zz@host:x", "nats://ann:xxxxx@host:x"},
		{"nats://ann:s3cret@a:1, tls://b:2,c:t0ken@c", "nats://ann:xxxxx@a:1, tls://b:2,c:xxxxx@c"},
		{"ws://host/path@x", "ws://host/path@x"},
	} {
		if got := natsurl.Redacted(c.list); got != c.want {
			t.Errorf("Redacted(%q) = %q, want %q", c.list, got, c.want)
		}
	}
}
