// Package policy decides who may write what: pure write decisions as hooks in
// khatru's RejectEvent signature, func(ctx, *nostr.Event) (reject, message).
// They come after shape, id and signature have been checked and before the
// store; the first that rejects gives the answer.
//
// A Policy is compiled from Options and never changes, so a reload swaps one
// for another. State that lasts between events (token buckets, checked
// attestations) lives beside it, bounded, and is handed on by Reload.
//
// Messages carry a NIP-01 prefix and name rules and kinds, never a pubkey, an
// id, a d tag or content.
package policy
