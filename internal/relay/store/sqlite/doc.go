// Package sqlite is the store on SQLite: Open puts together the packages below
// it, each of which has its own part of the database.
//
//	engine      connections, the one writer, readers, migrations, backup; it knows no event
//	events      what an event does, and how a filter is answered
//	contracts   threads, states and decisions of contract memory
//	identities  agents' names and tokens, the relay's own keys
//	outbox      what waits for further relays, and what they refused
//	admin       lists and audit of the management API, calls that were used
//	column      how values lie in columns
//
// contracts, identities, outbox and admin are participants: they are told what
// becomes of events by hooks, in the transaction of the event, and execute the
// commands that are about them (events.Participants). They know nothing of events
// but what they ask in an interface of their own, and nothing of each other.
package sqlite
