package thread

import (
	"slices"

	"precis/events"
)

// Job is the row of a summary that is started and has not ended: work that outlasts its event.
type Job struct {
	Started events.Started `json:"started"` // the record that announced it
	// AsOf is the newest message when it was decided, and Unresolved the policy that was asked for and
	// nobody knows.
	AsOf       string `json:"as_of"`
	Unresolved string `json:"unresolved,omitzero"`
	// Attempts counts the paid calls that are on record; a call's number is never used twice.
	Attempts int `json:"attempts"`
	// Calls are those of the run that is under way, as they are to be recorded if the process ends now. The last one has
	// no answer yet.
	Calls []events.UsageRecord `json:"calls,omitzero"`
	// Superseded says that a source has changed since: the answer will not be used.
	Superseded bool `json:"superseded"`
}

// ID of the summary that the job is to make.
func (j *Job) ID() string { return j.Started.SummaryID }

// Job returns a loaded job; nil where it was not loaded.
func (s *State) Job(id string) *Job {
	for _, j := range s.Jobs {
		if j.ID() == id {
			return j
		}
	}
	return nil
}

// Start folds a summary.started into the state. Its slot must be loaded: the version is taken, so that
// no later decision has the same one.
func (s *State) Start(job *Job) {
	s.link(job.Started.Head)
	slot := s.Slot(job.Started.Slot)
	slot.Version = max(slot.Version, job.Started.Version)
	if held := s.Summary(slot.Holder); held != nil && held.Renew {
		s.waits(held, false) // it is being made again
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

// unmade has what served until a job was done serve no longer, since nothing comes of it. Where the job was
// superseded, what serves waits again: the next job may be another's to start.
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

// endJob removes a job, where there is one.
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

// supersede marks the jobs that the message is a source of: what they make is no longer true.
func (s *State) supersede(message string) {
	for _, j := range s.Jobs {
		if !j.Superseded && slices.Contains(j.Started.SourceMessageIDs, message) {
			j.Superseded = true
			s.PutJob(j)
		}
	}
}
