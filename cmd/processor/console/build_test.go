package console

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

// An image is built without a repository: its version is what the build is given. The linker says nothing of a name that is not there.
func TestReleaseOfAnImage(t *testing.T) {
	if got := Version(); got == "" {
		t.Error("no version without a release")
	}
	release = "v9.8.7"
	defer func() { release = "" }()
	if got := Version(); got != release {
		t.Errorf("the version is %q", got)
	}
	text, err := os.ReadFile("../../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	if flag := "-X " + reflect.TypeFor[App]().PkgPath() + ".release=$VERSION"; !strings.Contains(string(text), flag) {
		t.Errorf("the Dockerfile has no %s", flag)
	}
}
