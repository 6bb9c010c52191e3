// Package pricing computes the cost of model calls in whole micro-dollars.
//
// A Table holds prices in US dollars per million tokens as integers: one dollar per million
// tokens is one micro-dollar per token, so a call's cost is a sum of products divided by a million,
// rounded half up once per call. It uses no floating-point numbers.
//
// The built-in table (prices.yaml) is dated: every row has its first day of validity and its source.
// A user's price file has the same form and overrides every model it names.
//
// Unknown prices stay unknown: an unknown model costs nil, never 0. A price of 0 is explicit and
// means free, as for a self-hosted model.
//
// Limits: list prices only. Batch, priority and regional rates, taxes and contracts belong in the
// user's price file.
package pricing
