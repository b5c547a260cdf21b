// Package follow keeps a local copy of a memory current with the relays of its
// pair: a command catches up once (Follower.CatchUp), a server goes on (Follower.Run).
//
// # Passes
//
// One relay is brought up to date by a pass, which ends confirmed only if what
// the copy has from that relay is what the relay shows. A relay that reconciles
// sets (NIP-77) is compared in full each time, in one message if nothing differs.
// Of any other what was written since the last pass is asked for, and it is
// counted (NIP-45); it is read in full if the numbers differ, once a day, and
// when somebody says so, because a count sees neither a swap nor all of a
// relay's going back. A relay that says one thing when it reconciles and shows
// another when it is asked is read in full.
//
// What a relay listed once is held to be gone from it only if it neither lists
// it nor gives it by its id.
//
// # Invariants
//
//   - An event counts only if it is signed and of the pair: the source sees to
//     that, with its limits on bytes and events.
//   - What one relay does costs another nothing: each has its own goroutine, time
//     and marks.
//   - A relay that failed, lied or was cut short is not confirmed, so that the
//     copy's freshness says stale.
//   - A relay that is not asked any more is forgotten only when it is certain
//     that it is not, and after nobody has confirmed it for an hour: another
//     process may ask it.
package follow
