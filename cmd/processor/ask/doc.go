// Package ask has the commands that ask a running processor, or follow what it and the agents publish.
package ask
