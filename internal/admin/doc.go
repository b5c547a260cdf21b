// Package admin is the relay's management API (NIP-86): who may not write,
// which events are banned, what the relay calls itself, and its snapshots.
//
// It takes calls whose signature (NIP-98) somebody else has checked, from keys
// that the configuration names. A call's change is written to the database
// together with its line in the audit table, and only then takes effect, for
// the next event and the next connection. Lists of the configuration and of the
// database are united: nothing that is called here takes away what the
// configuration says.
//
// Every answer is made of what managing keys have entered and of the
// configuration. Nothing here reads events.
package admin
