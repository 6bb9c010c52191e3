// Package savings computes from the log what summaries saved, and what they cost: what `processor savings` prints, for other programs. It is no
// request of the service, since it folds EVENTS and SUMMARIES from the start, in the calling program: some 100,000 events a second, and a store in a
// temporary directory that is removed again. With Options.Thread it reads that thread alone.
//
// Compute publishes nothing and makes no calls to models; the processor may be running. Package internal/savings says what is compared, and its limits.
package savings
