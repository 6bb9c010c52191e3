package rest_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"

	"precis/internal/rest"
	"precis/schemas"
)

// An independent validator accepts the document as OpenAPI 3.1.
func TestDocumentIsOpenAPI(t *testing.T) {
	text, err := schemas.OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := libopenapi.NewDocument(text)
	if err != nil {
		t.Fatal(err)
	}
	v, errs := validator.NewValidator(doc)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	if valid, problems := v.ValidateDocument(); !valid {
		for _, p := range problems {
			t.Errorf("%s: %s", p.Message, p.Reason)
			for _, e := range p.SchemaValidationErrors {
				t.Errorf("  %s: %s", e.KeywordLocation, e.Reason)
			}
		}
	}
	if doc.GetSpecInfo().VersionNumeric < 3.1 {
		t.Errorf("it is OpenAPI %s", doc.GetVersion())
	}
}

// So do two more, of another language.
func TestValidatorsTakeTheDocument(t *testing.T) {
	const validators = "../../.ci/validators"
	if _, err := os.Stat(validators + "/node_modules"); err != nil {
		t.Skip("the validators are not installed: npm ci --prefix .ci/validators")
	}
	text, err := schemas.OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "openapi.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(within(t), "node", validators+"/openapi.mjs", file).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
}

// The document has the server's routes, with their parameters, and no others.
func TestDocumentHasTheRoutes(t *testing.T) {
	want := map[string][]string{}
	for _, r := range rest.Routes() {
		want[r.Method+" "+r.Path] = slices.Sorted(slices.Values(r.Query))
	}
	got := map[string][]string{}
	for path, item := range at(document(), "paths").(map[string]any) {
		for method, operation := range item.(map[string]any) {
			query := []string{}
			inPath := 0
			list, _ := at(operation, "parameters").([]any)
			for _, p := range list {
				if ref, ok := at(p, "$ref").(string); ok {
					p = at(document(), strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
				}
				switch at(p, "in") {
				case "query":
					query = append(query, at(p, "name").(string))
				case "path":
					inPath++
				}
			}
			if inPath != strings.Count(path, "{") {
				t.Errorf("%s describes %d of its parameters", path, inPath)
			}
			got[strings.ToUpper(method)+" "+path] = slices.Sorted(slices.Values(query))
		}
	}
	if !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("the document has %v,\nthe server %v", got, want)
	}
}
