package audit

import "slices"

// A configuration on record may be of a newer program, with keys that this one does not know, and any of them can change
// what is decided. The log is folded on, as far as the configuration can be read, so that chains, their order and the
// place of each record are proved; what rests on the configuration is not. That holds for the rest of a thread that was
// folded under it: its counts, summaries and cuts come from there. Other threads of the partition are proved again when a
// configuration that this program knows is in force.

// doubtNewer is why nothing of that is proved.
const doubtNewer = "under a configuration of a newer program"

// byConfig are the checks that hold something against the configuration in force, or against a state that was made under
// it.
var byConfig = append(slices.Clone(byState), CheckRejection, CheckCause, CheckJob, CheckEnded, CheckCost)

// folding notes which thread is folded under such a configuration.
func (a *auditor) folding(name string) {
	if a.lane.fold.Config().Newer == nil || name == "" {
		return
	}
	a.tally.mu.Lock()
	defer a.tally.mu.Unlock()
	a.tally.newer[name] = true
}

// isNewer says that a thread was folded under a configuration of a newer program.
func (t *tally) isNewer(name string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.newer[name]
}

// underNewer says that such a configuration keeps a check of a thread from being proved.
func (t *tally) underNewer(name, check string) bool {
	return slices.Contains(byConfig, check) && t.isNewer(name)
}
