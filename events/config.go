package events

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
)

// ConfigVersion is the version of the configurations that this program records (Config.ConfigVersion). A new key
// anywhere in the record raises it, and so does a new value or another meaning of a key: a program that takes what it
// does not know for absent decides something else than the one that wrote it.
const ConfigVersion = 4

// ErrNewerConfig: a configuration on record has something that this program does not know.
var ErrNewerConfig = errors.New("configuration on record of a newer program")

// Version is the record's version; records from before it was noted have 1.
func (c *Config) Version() int {
	if c.ConfigVersion == 0 {
		return 1
	}
	return c.ConfigVersion
}

// KnownConfig fails with ErrNewerConfig where the data of a config.applied has a version, or a member beside those of
// Config, that this program does not know. What is inside policies, limits and providers it does not look at.
func KnownConfig(data []byte) error {
	var version struct { // by itself: a newer record may have other types
		N int `json:"config_version"`
	}
	if err := json.Unmarshal(data, &version); err == nil && version.N > ConfigVersion {
		return fmt.Errorf("%w: config_version %d, this program reads up to %d", ErrNewerConfig, version.N, ConfigVersion)
	}
	err := json.Unmarshal(data, new(Config), json.RejectUnknownMembers(true))
	if at, ok := errors.AsType[*json.SemanticError](err); ok && errors.Is(err, json.ErrUnknownName) {
		return fmt.Errorf("%w: this program does not know its key %s", ErrNewerConfig, at.JSONPointer)
	}
	return err
}
