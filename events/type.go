package events

// Incoming reports whether agents publish events of this type.
func (t Type) Incoming() bool {
	switch t {
	case ThreadMessage, ToolResult, MessageEdited:
		return true
	}
	return false
}

// Known reports whether t is one of this package's types.
func (t Type) Known() bool {
	switch t {
	case SummaryStarted, SummaryCreated, SummaryInvalidated, SummaryFailed, UsageRecorded, ConfigApplied, EventRejected:
		return true
	}
	return t.Incoming()
}
