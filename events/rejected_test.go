package events_test

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/go-json-experiment/json"

	"precis/events"
)

func TestRejectedKeepsEveryByte(t *testing.T) {
	for name, raw := range map[string]events.Raw{
		"plain":           {Subject: "tool.result.t", Body: []byte("{")},
		"empty":           {Subject: "tool.result.t", Body: []byte{}},
		"headers":         {Subject: "0.tool.result.t", Header: map[string][]string{"X-A": {"1", "1", ""}, "x-a": {"2"}}, Body: []byte("\xff\x00")},
		"subject bytes":   {Subject: "tool.result.\xff", Body: []byte("{}")},
		"header bytes":    {Subject: "tool.result.t", Header: map[string][]string{"a": {"\xff", "b"}, "c": {"d"}}, Body: []byte("{}")},
		"two names alike": {Subject: "tool.result.t", Header: map[string][]string{"a\xff": {"1"}, "a\xfe": {"2"}}, Body: []byte("{}")},
	} {
		data, err := json.Marshal(events.NewRejected(raw, 9, &events.RejectError{Code: "schema", Message: "m", Field: "\xff"}, 100))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var back events.Rejected
		if err := json.Unmarshal(data, &back); err != nil {
			t.Fatal(err)
		}
		got, err := back.Raw()
		if err != nil || got.Subject != raw.Subject || string(got.Body) != string(raw.Body) ||
			!maps.EqualFunc(got.Header, raw.Header, slices.Equal) {
			t.Errorf("%s came back as %+v, %v", name, got, err)
		}
	}
}

func TestRejectedBodyThatDoesNotFit(t *testing.T) {
	raw := events.Raw{Subject: "tool.result.t", Body: []byte("hello")}
	r := events.NewRejected(raw, 1, &events.RejectError{Code: events.CodeTooLarge, Message: "m"}, 4)
	const sum = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
	if r.BodyBase64 != nil || r.BodySHA256 == nil || *r.BodySHA256 != sum || r.Field != nil {
		t.Errorf("%+v", r)
	}
	if _, err := r.Raw(); !errors.Is(err, events.ErrBodyGone) {
		t.Errorf("its body: %v", err)
	}
}

func TestData(t *testing.T) {
	structured := map[string][]string{"Content-Type": {"application/cloudevents+json"}}
	for _, c := range []struct {
		header     map[string][]string
		body, want string
	}{
		{nil, `{"a": 1.0}`, `{"a": 1.0}`},
		{map[string][]string{"ce-id": {"x"}}, `{}`, `{}`},
		{structured, `{"id":"1","data":{"a": 1.0}}`, `{"a": 1.0}`},
		{structured, `{"data_base64":"e30="}`, `{}`},
		{structured, `{"data":`, ""},
		{structured, `{}`, ""},
	} {
		got, rej := events.Data(events.Raw{Subject: "tool.result.t", Header: c.header, Body: []byte(c.body)})
		if string(got) != c.want || (rej == nil) != (c.want != "") {
			t.Errorf("%s: %s, %v", c.body, got, rej)
		}
	}
}
