package thread

import (
	"slices"

	"precis/events"
)

// Job is the row of a summary that is started and has not ended: work that outlasts its event.
type Job struct {
	Started events.Started `json:"started"` // the record that announced it
	// AsOf is the newest message at the time of the decision, Unresolved the policy requested but not configured.
	AsOf       string `json:"as_of"`
	Ordinals   uint64 `json:"ordinals"` // Header.Ordinals then: after a rewind the newest message is an earlier one
	Unresolved string `json:"unresolved,omitzero"`
	// Attempts counts the paid calls on record; a call's number is never reused.
	Attempts int `json:"attempts"`
	// Calls are the calls of the run under way, in the form to record if the process ends now. The last one has no answer yet.
	Calls []events.UsageRecord `json:"calls,omitzero"`
	// Superseded: the answer will not be used, for example because a source has changed.
	Superseded bool `json:"superseded"`
}

// ID of the summary that the job is to make.
func (j *Job) ID() string { return j.Started.SummaryID }

// Job returns a job; nil if it is not loaded.
func (s *State) Job(id string) *Job {
	for _, j := range s.Jobs {
		if j.ID() == id {
			return j
		}
	}
	return nil
}

// Start folds a summary.started into the state. Its slot must be loaded: the job takes the version, so that no later decision
// reuses it.
func (s *State) Start(job *Job) {
	s.link(job.Started.Head)
	slot := s.Slot(job.Started.Slot)
	slot.Version = max(slot.Version, job.Started.Version)
	if held := s.Summary(slot.Holder); held != nil && held.Renew {
		s.waits(held, false) // the job recomputes it
		s.putSummary(held)
	}
	s.putSlot(slot)
	s.Jobs = append(s.Jobs, job)
	s.Header.Jobs++
	s.PutJob(job)
}

// Failed folds a summary.failed into the state. The job and its slot must be loaded.
func (s *State) Failed(rec *events.Failed) {
	s.link(rec.Head)
	if j := s.Job(rec.SummaryID); j != nil {
		s.unmade(j, rec.Code == events.FailedSuperseded)
	}
	s.endJob(rec.SummaryID)
}

// unmade handles a job that made nothing: what served until then stops serving. If the job was superseded, it waits again
// instead: the next job may be started for another reason.
func (s *State) unmade(j *Job, superseded bool) {
	if !superseded {
		s.Retire(j.Started.Slot)
		return
	}
	if held := s.Summary(s.Slot(j.Started.Slot).Holder); held != nil && held.Status == Stale && held.Serves {
		s.waits(held, true)
		s.putSummary(held)
	}
}

// endJob removes a job if it is loaded.
func (s *State) endJob(id string) {
	i := slices.IndexFunc(s.Jobs, func(j *Job) bool { return j.ID() == id })
	if i < 0 {
		return
	}
	s.Changes.JobEnds = append(s.Changes.JobEnds, id)
	s.Changes.JobPuts = slices.DeleteFunc(s.Changes.JobPuts, func(j *Job) bool { return j.ID() == id })
	s.Jobs = slices.Delete(s.Jobs, i, i+1)
	s.Header.Jobs--
}

// PutJob marks a job as changed.
func (s *State) PutJob(job *Job) {
	if !slices.Contains(s.Changes.JobPuts, job) {
		s.Changes.JobPuts = append(s.Changes.JobPuts, job)
	}
}

// supersede marks the jobs that the message is a source of: their output would no longer be true.
func (s *State) supersede(message string) {
	for _, j := range s.Jobs {
		if !j.Superseded && slices.Contains(j.Started.SourceMessageIDs, message) {
			j.Superseded = true
			s.PutJob(j)
		}
	}
}
