package feed

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"precis/cmd/processor/remote"
	"precis/internal/sessions"
)

// The formats that --format offers are those that can be read.
func TestPublishOffersEveryFormat(t *testing.T) {
	field, _ := reflect.TypeFor[Publish]().FieldByName("Format")
	offered := strings.Split(field.Tag.Get("enum"), ",")
	if want := append([]string{sessions.FormatEvents, sessions.FormatAuto}, sessions.Formats()...); !slices.Equal(slices.Sorted(slices.Values(offered)), slices.Sorted(slices.Values(want))) {
		t.Errorf("offers %q, want %q", offered, want)
	}
}

// The command that shows a thread works when it is copied, or is not there.
func TestSeeThread(t *testing.T) {
	const threads = "processor threads"
	login := func(l remote.Login) remote.Flags { return remote.Flags{Login: l} }
	for _, c := range []struct {
		id    string
		flags remote.Flags
		env   map[string]string
		want  string
	}{
		{"a", remote.Flags{}, nil, "processor thread a"},
		{"it's b", remote.Flags{}, nil, `processor thread 'it'\''s b'`},
		{"-x", remote.Flags{}, nil, "processor thread -- '-x'"},
		{"--json", remote.Flags{NATS: "nats://h"}, nil, "processor thread --nats nats://h -- '--json'"},
		{"a\nb", remote.Flags{}, nil, threads},
		{"a\x1b[2J", remote.Flags{}, nil, threads},
		{"a\u202eb", remote.Flags{}, nil, threads},
		{"a\xff", remote.Flags{}, nil, threads},
		{"a", remote.Flags{NATS: "nats://h:4222"}, map[string]string{"NATS_URL": "nats://h:4222"}, "processor thread a"},
		{"a", remote.Flags{NATS: "nats://h:4222"}, map[string]string{"NATS_URL": "nats://other"}, "processor thread --nats nats://h:4222 a"},
		{"a", remote.Flags{NATS: ""}, map[string]string{"NATS_URL": "nats://other"}, threads},
		{"a", remote.Flags{NATS: "nats://u:p@h"}, nil, threads},
		{"a", remote.Flags{NATS: "nats://u:p@h"}, map[string]string{"NATS_URL": "nats://u:p@h"}, "processor thread a"},
		{"a", login(remote.Login{Creds: "my creds"}), nil, "processor thread --creds 'my creds' a"},
		{"a", login(remote.Login{TLSCA: "ca", TLSCert: "c", TLSKey: "k"}), map[string]string{"NATS_CA": "ca"}, "processor thread --tlscert c --tlskey k a"},
		{"a", login(remote.Login{User: "u", Password: "p"}), map[string]string{"NATS_PASSWORD": "p"}, "processor thread --user u a"},
		{"a", login(remote.Login{User: "u", Password: "p"}), nil, threads},
		{"a", login(remote.Login{User: "-u"}), nil, threads},
		{"a", login(remote.Login{Token: "t"}), nil, threads},
	} {
		if got := seeThread(c.id, c.flags, func(name string) string { return c.env[name] }); got != c.want {
			t.Errorf("%q with %+v and %v: %s, want %s", c.id, c.flags, c.env, got, c.want)
		}
	}
}

// What is counted stays in its order.
func TestFoldedKeepsItsList(t *testing.T) {
	list := []unmapped{{Unmapped: sessions.Unmapped{Kind: "a", Count: 1}}, {Unmapped: sessions.Unmapped{Kind: "b", Count: 2}}}
	if got := folded(list); got != "2 × b, 1 × a" || list[0].Kind != "a" {
		t.Errorf("%s of %v", got, list)
	}
}
