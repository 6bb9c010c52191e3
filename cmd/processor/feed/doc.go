// Package feed has the commands that publish: event files, and the sessions that agents keep on this machine.
package feed
