// Package brokertest runs what tests can't get from one NATS server alone: a Cluster of
// three servers with replicated streams, one of which can be held back, Faults, which
// loses acknowledgements, and Lag, behind which a log lags. The server that is held back
// answers and delivers, and knows nothing of what the other two have stored since. The
// servers are real; a relay drops what would bring the third up to date, or tell a
// publisher that a message is stored.
//
// A Lag's relay is between clients and a single server, and makes deliveries look as if
// they came from followers that lag. That of Faults loses acknowledgements, cuts connections, and
// holds back what a client sends. It takes no time to start, so that each of many
// seeded tests can have one; the Cluster shows what real followers do.
package brokertest
