// Package localcopy keeps on this machine what the relays were last seen to have of
// a pair's memory, so that lists, searches and recall need not ask and decrypt
// everything each time.
//
// A Copy is one encrypted file for each pair, shared by any number of processes
// of one user, or lies in memory only. Whoever follows the relays writes it: Put
// what a relay has, Lost what it has no more, SetMark how far that was seen. It holds
// each event that some relay has, as it was signed, and the head of each address is
// chosen from them by the rule of package nipae. Readers see one state of all that
// (Copy.Read), with the index of package recall for it.
//
// A head that no relay has any more stays (Behind), until a newer one comes, its time
// is over, or an act of the agent's key explains it (Drop): a relay that lost its disk,
// or lies, takes nothing from this machine. Whoever follows moves such heads into the
// agent's state (package state), so that the file may be deleted.
//
// Of what has expired (NIP-40) the newest row of an address stays, without its text, so
// that an older version of a relay that was away is no memory again. Where the clock was
// ahead, the event is asked for again, and its text comes back.
//
// # What it says
//
// It never says that something is not there: it says what was seen, and Freshness
// says when. Reads of one memory, and writes, ask the relays, and are told by the copy
// where those show less.
//
// # What is believed
//
// Put checks each signature once and then keeps what the event says. Every row
// that is read later lies under an HMAC, and a text under its hash: a file that
// was changed outside of this package yields ErrDamaged inside and a new, empty
// copy outside, never another text. An older state of the file is an older
// state of the copy, which following mends.
package localcopy
