package feed

import (
	"reflect"
	"slices"
	"strings"
	"testing"

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
