package events

import "testing"

func TestArgumentsValues(t *testing.T) {
	for name, c := range map[string]struct{ arguments, want string }{
		"an object":                       {`{"b":"x\ny","a":"q\"r"}`, "q\"r\nx\ny"},
		"names are left out":              {`{"path":{"path":"path.go"},"n":[7,"a",{"k":"v"}],"t":true,"z":null}`, "7\na\nv\npath.go"},
		"an object in a string":           {`"{\"cmd\":\"ls\\n-la\"}"`, "ls\n-la"},
		"a string that is not valid JSON": {`"ls -la"`, "ls -la"},
		"an object that was cut":          {`"{\"cmd\":\"ls"`, `{"cmd":"ls`},
		"a string in a string":            {`"\"x\""`, "x"},
		"null":                            {`null`, ""},
		"an empty object":                 {`{}`, ""},
		"an array":                        {`["a","b"]`, "a\nb"},
		"several values in a string":      {`"1 2"`, "1\n2"},
	} {
		if got := (ToolCall{Arguments: []byte(c.arguments)}).ArgumentsValues(); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
	if got := (ToolCall{}).ArgumentsValues(); got != "" {
		t.Errorf("no arguments: %q", got)
	}
}
