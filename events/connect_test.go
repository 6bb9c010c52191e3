package events_test

import (
	"strings"
	"testing"

	"precis/events"
)

// Errors end up in logs, which must not contain passwords.
func TestConnectErrorsKeepPasswords(t *testing.T) {
	for _, address := range []string{"nats://ann:s3cret@[h", "nats://ann:s3cret %zz@h"} {
		nc, err := events.Connect(address)
		if err == nil {
			nc.Close()
			t.Errorf("%s is an address", address)
			continue
		}
		if strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%v", err)
		}
	}
}
