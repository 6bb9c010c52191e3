// Package operate has the commands of operators: they run a processor or a gateway, and show or change what it runs with.
package operate
