package rig

// The messages of OK as clients know them, word by word.
const (
	Duplicate = "duplicate: already have this event"
	Stale     = "duplicate: a newer version is stored"
	Deleted   = "blocked: deleted by its author"
)
