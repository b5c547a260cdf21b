// Package niptemp is NIP-TEMP, the memory of an escrow contract, as pure
// functions: entries (kind 30090), contract states (kind 30091) and the state
// machine that says who may write what and when. Contract ids may commit to
// their poster (NewID), and states that came in any order lead to one (Fold).
// It has no I/O, no clock and no state.
//
// Refusals are *nip01.Refusal errors, which carry the NIP-01 prefix they are to
// be answered with: "invalid" for events that are wrong in themselves or
// against the contract's state, "blocked" for entries that come too late or too
// early.
package niptemp
