package main

import (
	"bytes"
	"strconv"
	"strings"
	"testing"
)

func TestYardstickCounts(t *testing.T) {
	var out, bad bytes.Buffer
	if status := runYardstick([]string{"20ms"}, strings.NewReader(""), &out, &bad); status != 0 {
		t.Fatalf("status %d: %s", status, bad.String())
	}
	if n, err := strconv.Atoi(strings.TrimSpace(out.String())); err != nil || n < 1 {
		t.Errorf("it prints %q", out.String())
	}
	if status := runYardstick([]string{"long"}, strings.NewReader(""), &out, &bad); status != exitUsage {
		t.Errorf("status %d for a time that is none", status)
	}
}
