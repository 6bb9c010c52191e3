// Package integrations has no code of its own: its tests hold the pages to the program. What they show is run, as it stands there.
package integrations
