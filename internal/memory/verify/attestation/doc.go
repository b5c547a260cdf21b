// Package attestation is what an agent signs of its log: that at some time a
// writer's log had so many numbers and this root, and that these were the heads of
// its memory. Whoever keeps it can prove later that the log of then is the
// beginning of the log of today (RFC 6962, 2.1.2), or is not. It is pure: who
// calls it signs, publishes and asks relays.
package attestation
