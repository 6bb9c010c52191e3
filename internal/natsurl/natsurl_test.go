package natsurl_test

import (
	"strings"
	"testing"

	"precis/internal/natsurl"
)

func TestWrong(t *testing.T) {
	for _, c := range []struct{ list, wrong string }{
		{"nats://127.0.0.1:4222", ""}, {"localhost", ""}, {"host:4222, tls://b,ws://c,wss://d:1", ""}, {"s3cret@host", ""},
		{"", ""}, {" , ", ""}, {"nats://a:4222,", ""}, {",a, ,b", ""}, {"nats://", "nats://"}, {"http://host", "http://host"}, {"nats://a,nats://[b", "nats://[b"}, {"nats://ann:p/w@host", "nats://ann:p/w@host"},
	} {
		if got, wrong := natsurl.Wrong(c.list); got != c.wrong || wrong != (c.wrong != "" || strings.Trim(c.list, " ,") == "") {
			t.Errorf("Wrong(%q) = %q, %v, want %q", c.list, got, wrong, c.wrong)
		}
	}
}

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
