// Package fairness says to whom work is charged and whose turn it is.
//
// Whatever clients compete for (readers of the database, HTTP slots, bytes of
// live filters, rates) is divided by share first, then by connection, and only
// then by who came first. A share belongs to a proved key that the relay has
// known for a day, else to an address: an IPv4 address, or an IPv6 /48, within
// which its /64s divide it.
//
// The package knows neither store nor sockets: who knows which keys tells
// Shares, and who has places to give asks Turns.
//
// Work that may be interrupted takes places from Turns (turns.go), in
// start-time fair queueing; computing, which is done a hundred thousand times a
// second and waits for nothing, from Permits (permits.go); work that is not
// interrupted from slots.go, and bytes for a moment from room.go, both of which
// leave a newcomer some. Memory that connections hold for long is divided by a
// Budget: when a bound is reached, whoever has most gives way (budget.go, claim.go).
// guesses.go counts what a share names and is shown nothing of.
package fairness
