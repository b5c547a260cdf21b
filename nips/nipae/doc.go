// Package nipae is NIP-AE, agent engrams (kind 30174), as pure functions: no
// I/O, no clock, no randomness, no state.
//
// An engram is one record of an agent's memory: signed by the agent, naming
// its owner in the one p tag, with a blinded address in the one d tag and a
// NIP-44 v2 payload as content. This file set holds what can be judged without
// a key, which is what a relay judges: the envelope, the shape of the payload,
// and the comparison of relay URLs.
//
// Errors carry a reason for a person and no NIP-01 prefix.
package nipae
