package thread

import (
	"crypto/sha256"
	"fmt"

	"precis/events"
)

// deletedDigest is the content digest of a deleted message; no content has it.
var deletedDigest = sha256.Sum256([]byte("precis: deleted"))

func rejected(in Input, why *events.RejectError) Result {
	return Result{Outcome: Rejected, Rejections: []Rejection{{Seq: in.Seq, Reason: why, Raw: in.Raw}}}
}

func conflict(id string) *events.RejectError {
	return &events.RejectError{
		Code: events.CodeMessageConflict, Field: "message_id",
		Message: fmt.Sprintf("message %q was published before with other content; publish a message.edited to change it", id),
	}
}

func begun() *events.RejectError {
	return &events.RejectError{
		Code: events.CodeSchema, Message: "a thread.forked must be its thread's first event: an earlier one was accepted",
	}
}

func unknown(id string) *events.RejectError {
	return &events.RejectError{
		Code: events.CodeUnknownMessage, Field: "message_id",
		Message: fmt.Sprintf("no message %q came within limits.pending_edit_events later events of the thread", id),
	}
}
