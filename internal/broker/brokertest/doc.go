// Package brokertest runs what tests can't get from one NATS server alone: a Cluster of
// three servers with replicated streams, one of which can be held back, and Acks, which
// loses acknowledgements. The server that is held back answers and delivers, and knows
// nothing of what the other two have stored since. The servers are real; a relay drops
// what would bring the third up to date, or tell a publisher that a message is stored.
package brokertest
