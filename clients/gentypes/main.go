package main

import (
	"fmt"
	"os"
)

// files are what is written, from the root of the repository.
func files() (map[string]string, error) {
	list, err := load()
	if err != nil {
		return nil, err
	}
	return map[string]string{
		"clients/python/src/precis/types.py": python(list),
		"clients/typescript/src/types.ts":    typescript(list),
	}, nil
}

func main() {
	if err := write(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1) //nolint:forbidigo // the way a main ends
	}
}

func write() error {
	list, err := files()
	if err != nil {
		return err
	}
	for path, text := range list {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil { //nolint:gosec // a source file, which everybody reads
			return err
		}
	}
	return nil
}
