// Package load measures a Nostr relay by its URL: what it acknowledges, finds
// and delivers in how much time, and, where the process is on this machine,
// with how much CPU and memory.
//
// A relay that answers wrongly has no speed. Every workload checks what it
// receives (ids, counts, order, an OK for each id), and a wrong answer, a
// refusal, an early close and silence are errors and not figures.
//
// The measuring side shares the machine with the relay as a rule, so it is
// made cheap: events are signed and encoded ahead of time and kept on disk,
// frames are read into one buffer for each connection and never copied, and
// nothing is allocated or started for an event. How much CPU it took all the
// same is part of each result.
//
// The package knows the wire only.
package load
