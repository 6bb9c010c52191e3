// Package page reads a line of an accessibility tree, as browsers' drivers print it: role, name, state and id of an element.
package page
