// Package e2e holds the tests that run the built engramd binary from outside:
// power, crashes, hostile clients, a full disk, conformance, the session over
// real sockets, and the faults of khatru that must not come back. The child,
// the client and the events are in relaytest.
package e2e
