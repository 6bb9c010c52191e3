package valid

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// object is a JSON object's members.
type object map[string]jsontext.Value

func (o object) text(name string) string {
	var s string
	_ = json.Unmarshal(o[name], &s)
	return s
}

func (o object) isText(name string) bool { return o[name].Kind() == '"' }

func (o object) of(name string) object {
	var v object
	_ = json.Unmarshal(o[name], &v)
	return v
}

func (o object) list(name string) (list []object, err error) {
	err = json.Unmarshal(o[name], &list)
	return list, err
}

// only reports a member that is not among some names.
func (o object) only(names ...string) error {
	for _, name := range slices.Sorted(maps.Keys(o)) {
		if !slices.Contains(names, name) {
			return fmt.Errorf("member %q", name)
		}
	}
	return nil
}

// members are those that a type of part may have.
type members map[string][]string

// check reports a member that a part of a known type does not have; others are not looked at.
func (m members) check(o object, typ string) error {
	if names := m[typ]; names != nil {
		return o.only(names...)
	}
	return nil
}

// base64Data holds inline data against its encoding.
func base64Data(data string) error {
	if data == "" {
		return fmt.Errorf("no data")
	}
	_, err := base64.StdEncoding.DecodeString(data)
	return err
}

// dataURL holds a URL, or the data in it.
func dataURL(url string) error {
	data, ok := strings.CutPrefix(url, "data:")
	if !ok {
		if !strings.Contains(url, "://") {
			return fmt.Errorf("URL %q", url)
		}
		return nil
	}
	_, data, ok = strings.Cut(data, ";base64,")
	if !ok {
		return fmt.Errorf("a data URL that is not base64")
	}
	return base64Data(data)
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }
