package config

import (
	"errors"
	"strings"
)

// ErrInvalid is wrapped by every error that the configuration itself causes.
var ErrInvalid = errors.New("invalid configuration")

// Problem is one error in the configuration.
type Problem struct {
	Key     string
	Origin  Origin
	Message string // what is wrong and what is allowed
}

// String formats the problem on one line: origin, key, message.
func (p Problem) String() string {
	line := p.Key + ": " + p.Message
	if p.Key == "" {
		line = p.Message
	}
	if p.Origin.Kind == FromDefault {
		return line
	}
	return p.Origin.String() + ": " + line
}

// Error lists all problems, so that one start reports them all.
type Error struct {
	Problems []Problem
}

func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return ErrInvalid.Error() + ": " + strings.Join(lines, "\n  ")
}

// Is makes every Error an ErrInvalid.
func (e *Error) Is(target error) bool { return target == ErrInvalid }

func asError(problems []Problem) error {
	if len(problems) == 0 {
		return nil
	}
	return &Error{Problems: problems}
}
