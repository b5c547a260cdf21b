// Package client is engramd's other side of the wire: what engramctl, the MCP
// server and tests use to keep an agent's memory (NIP-AE) on relays.
//
// A Client asks every relay in parallel, each over one websocket that answers
// AUTH challenges (NIP-42), and unites what they say. Nothing a relay says is
// believed: every event is verified and matched against the question, frames,
// bytes, events and time are bounded per relay, and what one relay does never
// spoils or delays what another one answers.
//
// The packages below use a Client: memory is the memory of a pair, contract the
// memory of contracts, and transfer moves events between relays.
//
// # Failure
//
// "Nothing there" is an answer that only all relays together can give. If one
// of them failed, the error is ErrPartial and not ErrNotFound; if they returned
// something and nothing of it can be read, it is ErrUnreadable. A result that
// was found is returned with a Status that says which relays failed. A write is
// sent once: a conflict is reported and never retried.
//
// # Time
//
// Every exported operation ends within Options.Timeout, or the deadline of its
// context if that is earlier, whatever the relays do.
//
// # Secrets
//
// The secret key leaves an Identity only into signatures and conversation keys.
// It is in no error, log line, trace or formatted value.
package client
