package config

import "fmt"

// OriginKind is a layer of the configuration, weakest first.
type OriginKind int

// The layers, in ascending precedence.
const (
	FromDefault OriginKind = iota
	FromFile
	FromEnv
	FromFlag
)

// Origin is where a value came from.
type Origin struct {
	Kind OriginKind
	Name string // the file, the variable or the flag
	Line int    // in the file, 1-based
}

// String formats the origin: "default", "precis.yaml:12", "env PRECIS_DATA_DIR", "flag --data".
func (o Origin) String() string {
	switch o.Kind {
	case FromFile:
		return fmt.Sprintf("%s:%d", o.Name, o.Line)
	case FromEnv:
		return "env " + o.Name
	case FromFlag:
		return "flag " + o.Name
	default:
		return "default"
	}
}

// Origins holds the origin of every value that is not its default, by key.
type Origins map[string]Origin

// Of returns the origin of a key, or of its nearest ancestor that was set as a whole.
func (o Origins) Of(key string) Origin {
	for key != "" {
		if origin, ok := o[key]; ok {
			return origin
		}
		key = parentKey(key)
	}
	return Origin{}
}

// parentKey removes the last member or index from a key.
func parentKey(key string) string {
	for i := len(key) - 1; i > 0; i-- {
		if key[i] == '.' || key[i] == '[' {
			return key[:i]
		}
	}
	return ""
}
