package events

import "fmt"

// RejectError says why an event was rejected. Decode returns it as a concrete pointer type: compare it with nil
// before converting it to error, since an error that holds a nil *RejectError is not nil.
type RejectError struct {
	Code    string // one of the Code constants
	Message string // for people; never contains the event's content
	Field   string // a member's path, a header's name or "subject"; empty for the event as a whole
}

func (e *RejectError) Error() string {
	if e.Field == "" {
		return fmt.Sprintf("%s: %s", e.Code, e.Message)
	}
	return fmt.Sprintf("%s: %s: %s", e.Code, e.Field, e.Message)
}

func reject(code, field, format string, args ...any) *RejectError {
	return &RejectError{Code: code, Field: field, Message: fmt.Sprintf(format, args...)}
}

func schemaError(field, format string, args ...any) *RejectError {
	return reject(CodeSchema, field, format, args...)
}
