package main

import (
	"os"
	"testing"
)

// The clients' types are those of the schemas.
func TestTypesAreCurrent(t *testing.T) {
	list, err := files()
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range list {
		if got, err := os.ReadFile("../../" + path); err != nil || string(got) != want {
			t.Errorf("%s is not what the schemas say (%v): go run ./clients/gentypes", path, err)
		}
	}
}
