package schemas

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"
)

// Files holds the schemas, the AsyncAPI document and the examples under the names they have here.
//
// Version is that of the schemas and of asyncapi.yaml, after semver.org: the minor part rises with a new subject or member, the major
// part with a change that clients have to follow.
const Version = "1.1.0"

//go:embed *.json asyncapi.yaml examples/*.json
var Files embed.FS

// Shared is the file with the definitions that the schemas refer to.
const Shared = "defs.json"

// Service is the file with the definitions of the requests of the service and their replies.
const Service = "service.json"

// Types returns the event types that have a schema, sorted.
func Types() []string {
	var types []string
	for _, name := range names("*.json") {
		if name != Shared && name != Service && name != HTTP {
			types = append(types, strings.TrimSuffix(name, ".json"))
		}
	}
	return types
}

// Schema returns the JSON Schema of an event type's data. It refers to Shared by a relative reference.
func Schema(eventType string) ([]byte, error) {
	b, err := Files.ReadFile(eventType + ".json")
	if err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	return b, nil
}

// Examples returns the paths in Files of an event type's examples, sorted.
func Examples(eventType string) []string {
	var paths []string
	for _, path := range names("examples/*.json") {
		if strings.HasPrefix(path, "examples/"+eventType+".") {
			paths = append(paths, path)
		}
	}
	return paths
}

// names lists what is embedded; the patterns are constants of this file.
func names(pattern string) []string {
	matches, err := fs.Glob(Files, pattern)
	if err != nil {
		panic(err)
	}
	return matches
}
