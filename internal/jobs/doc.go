// Package jobs does the work that outlasts its event: it reads what a started summary is made from, and
// takes it down the ladder of models. It runs outside any batch, off the ordered path, and changes
// nothing; what comes out goes back to the partition, which commits it only if it still fits.
package jobs
