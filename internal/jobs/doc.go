// Package jobs does the work that outlasts its event: it reads the sources of a started summary and runs it through the
// ladder of models. It runs outside any batch, off the ordered path, and changes no state; the result goes back to the
// partition, which commits it only if it is not stale.
package jobs
