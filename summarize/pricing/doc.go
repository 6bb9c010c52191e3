// Package pricing says what a model call cost, in whole micro-dollars.
//
// A Table holds prices in US dollars per million tokens, kept as integers: one dollar per million
// tokens is one micro-dollar per token, so a call's cost is a sum of products divided by a million,
// rounded half up once per call. No floating point number takes part.
//
// The built-in table (prices.yaml) is dated: every row says from when it holds and where it was read.
// A file of own prices in the same form goes on top, and wins for every model it names.
//
// What is not known is not priced: an unknown model costs nil, never 0. A price of 0 is written out and
// means free, as for a model on one's own machine.
//
// Limits: list prices only. Batch, priority and regional rates, taxes and contracts are for the file of
// own prices.
package pricing
