// Package export writes a thread in the form of a provider or an agent: originals at their current revisions, whole, without what policies
// and summaries put in their places. Contents are written by summarize/prompt, records of an agent by internal/sessions.
//
// What a form has no place for is named in the [Report], never dropped in silence.
package export
