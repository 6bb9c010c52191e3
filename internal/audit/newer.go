package audit

import "slices"

// A newer program may have recorded a configuration with keys that this one does not know, and any of them can change
// decisions. The fold continues as far as it can read the configuration, so that chains, their order and the place of
// each record are proved; what rests on the configuration is not. This holds for the rest of a thread that was folded
// under it, since its counts, summaries and cuts come from there. Other threads of the partition are proved again once
// a configuration that this program knows is in force.

// doubtNewer is the reason that none of this is proved.
const doubtNewer = "under a configuration of a newer program"

// byConfig are the checks that depend on the configuration in force, or on state that was made under it.
var byConfig = append(slices.Clone(byState), CheckRejection, CheckCause, CheckJob, CheckEnded, CheckCost)

// folding notes that a thread is folded, if that is under such a configuration.
func (a *auditor) folding(name string) {
	if a.lane.fold.Config().Newer == nil || name == "" {
		return
	}
	a.tally.mu.Lock()
	defer a.tally.mu.Unlock()
	a.tally.newer[name] = true
}

// isNewer reports whether a thread was folded under a newer program's configuration.
func (t *tally) isNewer(name string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.newer[name]
}

// underNewer reports whether such a configuration keeps a check of a thread from being proved.
func (t *tally) underNewer(name, check string) bool {
	return slices.Contains(byConfig, check) && t.isNewer(name)
}
