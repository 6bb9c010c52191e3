package main

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/nats-io/nats.go"
)

// Types of events, which are also the heads of their subjects.
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

// event is what is published once, or again on purpose.
type event struct {
	typ    string
	thread string
	id     string // the CloudEvents id, where the form has one
	form   form
	data   any
	// What the first send of it brings about, for latencies; nil for most and for duplicates.
	makes, retires *output
}

// message is the event as NATS carries it.
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

// source is the CloudEvents source of everything we publish.
const source = "urn:precis:loadtest"

// percentEncode makes a header's value as the CloudEvents protocol bindings ask: space, quote,
// percent and all that is not printable ASCII as %HH, byte by byte.
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
