// Package nipae is NIP-AE, agent engrams (kind 30174), as pure functions: no
// I/O, no clock, no state; randomness comes from the caller.
//
// An engram is one record of an agent's memory: signed by the agent, naming
// its owner in the one p tag, with a blinded address in the one d tag and a
// NIP-44 v2 payload as content. Agent and owner, the pair, share one
// [ConversationKey]: both read, only the agent writes.
//
// A relay judges what can be judged without a key: [CheckEnvelope],
// [CheckPayload] and the comparison of relay URLs ([CanonicalRelayURL]).
//
// With the key, a reader goes from a [Slug] to its address
// ([ConversationKey.Address]), asks its relays, and hands everything that they
// returned to [SelectHead], or to [SelectHeads] for the whole memory. Both
// verify, decrypt and parse with [Open] and drop what is not valid, so that an
// invalid event never wins over a valid one, and both tell "nothing there"
// from "something there that cannot be read": the latter must never be taken
// for absence, because a writer would replace it.
//
// A writer makes a [Body] (or edits one that it read: members it does not know
// are kept), dates it with [NextCreatedAt] and signs it with [Seal].
// [References] and [Reach] follow the [[slug]] links between records.
//
// Errors carry a reason for a person and no NIP-01 prefix, and never a secret
// key, a slug or a text.
package nipae
