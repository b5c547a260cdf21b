// Package apply is what an event does to the database: heads and history, deletion,
// vanishing, copies of other relays, and what housekeeping removes of all that. It
// tells those who keep tables beside events (Participants), and knows none of them.
package apply
