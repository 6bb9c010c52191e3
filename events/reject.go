package events

import "fmt"

// RejectError says why an event can't be accepted. Decode returns it as a pointer of its own type: compare
// it with nil before handing it on as an error, since a nil *RejectError in an error is not nil.
type RejectError struct {
	Code    string // one of the Code constants
	Message string // for people; never holds the event's content
	Field   string // where: a member's path, a header's name or "subject"; empty for the event as a whole
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
