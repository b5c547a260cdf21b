package events

// archive is what is here of events, heads, regular ones and history, with all
// that belongs to each: tags, the numbers of keys, what it counts for its
// author, its words in the full-text index, its place in a thread. It stores and
// takes away; what asks for that is not its business.
type archive struct {
	tx
	fullText
	usage
	numbers
	seq     int64 // last one given out
	known   known
	stage   stage
	chores  chores
	others  Participants
	current *Pending // being applied
}

// known is what the writer knows of tables without asking them: false means
// surely empty. They are empty on most relays most of the time, and are asked
// for every event otherwise.
type known struct {
	history, deletedIDs, deletedAddresses, vanished, quarantine, floors bool
}
