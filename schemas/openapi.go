package schemas

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
)

// HTTP is the OpenAPI document of the HTTP API, whose schemas are those of the other files.
const HTTP = "openapi.json"

// components is where a document has its schemas.
const components = "#/components/schemas/"

// OpenAPI returns the OpenAPI document with every schema that it refers to, so that it stands alone.
func OpenAPI() ([]byte, error) {
	doc, err := parsed(HTTP)
	if err != nil {
		return nil, err
	}
	b := &bundle{files: map[string]map[string]any{}, schemas: doc["components"].(map[string]any)["schemas"].(map[string]any)}
	if err := b.adapt(doc, HTTP); err != nil {
		return nil, err
	}
	return json.Marshal(doc, json.Deterministic(true))
}

func parsed(name string) (doc map[string]any, err error) {
	text, err := Files.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(text, &doc)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return doc, nil
}

// bundle moves schemas of files into one document.
type bundle struct {
	files   map[string]map[string]any
	schemas map[string]any
}

// adapt has the references of a node, which is from a file, lead into the document.
func (b *bundle) adapt(node any, file string) error {
	switch n := node.(type) {
	case map[string]any:
		delete(n, "$schema")
		if to, ok := n["$ref"].(string); ok {
			name, err := b.take(to, file)
			if err != nil {
				return err
			}
			n["$ref"] = name
		}
		for _, child := range n {
			if err := b.adapt(child, file); err != nil {
				return err
			}
		}
	case []any:
		for _, child := range n {
			if err := b.adapt(child, file); err != nil {
				return err
			}
		}
	}
	return nil
}

// take returns where in the document the target of a reference is, and brings it there.
func (b *bundle) take(to, from string) (string, error) {
	file, pointer, _ := strings.Cut(to, "#")
	if file == "" && (from == HTTP || strings.HasPrefix(pointer, "/components/")) {
		return to, nil
	}
	if file == "" {
		file = from
	}
	name := strings.TrimPrefix(pointer, "/$defs/")
	if pointer == "" {
		name = strings.TrimSuffix(file, ".json")
	}
	if _, done := b.schemas[name]; done {
		return components + name, nil
	}
	if b.files[file] == nil {
		doc, err := parsed(file)
		if err != nil {
			return "", err
		}
		b.files[file] = doc
	}
	var target any = b.files[file]
	if pointer != "" {
		defs, _ := b.files[file]["$defs"].(map[string]any)
		target = defs[name]
	}
	if target == nil {
		return "", fmt.Errorf("%s of %s leads nowhere", to, from)
	}
	b.schemas[name] = target
	return components + name, b.adapt(target, file)
}
