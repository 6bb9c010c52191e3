package config_test

import (
	"slices"
	"testing"

	"precis/internal/config"
)

// What is kept has the values and origins of the configuration in force, and is named with its whole key.
func TestKeeping(t *testing.T) {
	now, file := config.Default(), config.Default()
	file.Origins = config.Origins{"ui.contents": {Kind: config.FromFile, Name: "f", Line: 3}, "limits": {Kind: config.FromFile, Name: "f", Line: 5}}
	file.UI.Contents, file.API.Listen, file.NATS.InboxPrefixes, file.NATS.Password = !now.UI.Contents, "127.0.0.1:1", []string{"_OTHER"}, "changed"
	file.Limits.EventBytes = 4711
	kept, differ := file.Keeping(now, []string{"nats", "api", "ui"})
	if want := []string{"nats.inbox_prefixes", "api.listen", "ui.contents"}; !slices.Equal(differ, want) {
		t.Errorf("%q differ, want %q", differ, want)
	}
	if kept.UI != now.UI || kept.API != now.API || kept.NATS.Password != "" || kept.Limits.EventBytes != 4711 {
		t.Errorf("kept %+v", kept)
	}
	if o := kept.Origins.Of("ui.contents"); o.Kind != config.FromDefault {
		t.Errorf("ui.contents is from %s", o)
	}
	if o := kept.Origins.Of("limits.event_bytes"); o.Line != 5 || file.Origins.Of("ui.contents").Line != 3 {
		t.Errorf("limits are from %s, and the file's origins %v", o, file.Origins)
	}
	file = config.Default()
	file.NATS.Password = "changed"
	if _, differ := file.Keeping(now, []string{"nats"}); !slices.Equal(differ, []string{"nats"}) {
		t.Errorf("%q differ where a variable does", differ)
	}
}
