// Package brokertest runs what tests can't get from one NATS server alone: a Cluster of
// three servers with replicated streams, one of which can be held back. It answers and
// delivers, and knows nothing of what the other two have stored since. The servers are
// real; a relay between them drops what would bring the third up to date.
package brokertest
