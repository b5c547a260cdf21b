package rig

// The messages of 40-relay-behaviour, EVENT, word by word.
const (
	Duplicate = "duplicate: already have this event"
	Stale     = "duplicate: a newer version is stored"
	Deleted   = "blocked: deleted by its author"
)
