package audit

import "precis/state"

// Places holds each thread of a partition, as it is, to the summary that its prompts have.
func Places(part *state.Partition) ([]Finding, error) {
	a := &auditor{lane: &lane{part: part}, tally: newTally(Filter{})}
	err := a.places()
	return a.tally.findings, err
}
