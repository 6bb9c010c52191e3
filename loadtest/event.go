package main

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/nats-io/nats.go"
)

// Event types, which also begin the subjects.
const (
	typeMessage = "thread.message"
	typeResult  = "tool.result"
	typeEdit    = "message.edited"
)

// form is one of the three ways to put an event into a NATS message.
type form int

const (
	bare form = iota
	binary
	structured
)

// event is one event, published once or deliberately again.
type event struct {
	typ    string
	thread string
	id     string // the CloudEvents id, if the form has one
	form   form
	data   any
	// The effects of its first publish, for latencies; nil for most events and for duplicates.
	makes, retires *output
}

// message returns the event as a NATS message.
func (e event) message() (*nats.Msg, error) {
	data, err := json.Marshal(e.data, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", e.typ, err)
	}
	m := nats.NewMsg(e.typ + "." + token(e.thread))
	m.Data = data
	switch e.form {
	case binary:
		for name, value := range map[string]string{
			"ce-id": e.id, "ce-source": source, "ce-specversion": "1.0", "ce-type": e.typ,
			"ce-subject": e.thread, "ce-datacontenttype": "application/json",
		} {
			m.Header[name] = []string{percentEncode(value)}
		}
	case structured:
		m.Header["Content-Type"] = []string{"application/cloudevents+json"}
		m.Data, err = json.Marshal(map[string]any{
			"id": e.id, "source": source, "specversion": "1.0", "type": e.typ,
			"subject": e.thread, "datacontenttype": "application/json", "data": jsontext.Value(data),
		}, json.Deterministic(true))
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", e.typ, err)
		}
	}
	return m, nil
}

// source is the CloudEvents source of all published events.
const source = "urn:precis:loadtest"

// percentEncode encodes a header value according to the CloudEvents protocol bindings: space, quote,
// percent and everything outside printable ASCII as %HH, byte by byte.
func percentEncode(value string) string {
	var b strings.Builder
	for i := range len(value) {
		if c := value[i]; c <= ' ' || c >= 0x7F || c == '"' || c == '%' {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}
