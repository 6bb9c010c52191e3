// Package records reads JSON for people: records as a table of the fields that tell them apart, an object in one line of its
// scalars, and the outline of any JSON, also of one that is cut off. Without leaves members out of JSON, byte for byte otherwise.
package records
