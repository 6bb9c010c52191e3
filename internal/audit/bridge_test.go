package audit

import "precis/state"

// Places holds each thread of a partition, as it is, to the summary that its prompts have.
func Places(part *state.Partition) ([]Finding, error) {
	a := &auditor{lane: &lane{part: part}, replay: &replay{tally: newTally(Filter{}, &retained{})}}
	err := a.places()
	return a.tally.report().Findings, err
}
