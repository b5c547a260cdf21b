// Package orders names what commands ask of the running relay over its control
// socket, and the arguments of each.
package orders

import "engramd/internal/relay/management"

const (
	Configure    = "cluster configure"
	Raise        = "cluster raise"
	Delete       = "delete"
	RotateMaster = "master-key rotate"
	OutboxDrop   = "outbox drop"
	Rotate       = "relay-key rotate"
	Revoke       = "relay-key revoke"
	Status       = "status"
	Sync         = "sync"
	Restore      = "restore"
	MayRestore   = "may-restore" // why it would not
	Release      = "release"
	Drop         = "drop"
)

// ClusterArgs are those of Configure and Raise.
type ClusterArgs struct {
	Text   string `json:"text,omitempty"`
	Number uint64 `json:"number,omitempty"`
}

// DeleteArgs are those of Delete.
type DeleteArgs struct {
	Filters *management.Filters `json:"filters,omitempty"`
}

// DropArgs are those of OutboxDrop.
type DropArgs struct {
	Relay string `json:"name,omitempty"`
}

// Dropped is the result of OutboxDrop.
type Dropped struct {
	Events int64 `json:"events"`
}

// KeyArgs are those of Rotate and Revoke.
type KeyArgs struct {
	Key    string `json:"name,omitempty"`   // of Revoke
	Revoke bool   `json:"revoke,omitempty"` // of Rotate
}

// StatusArgs are those of Status.
type StatusArgs struct {
	Top int `json:"top,omitempty"` // how much of each list
}

// SyncArgs are those of Sync: the place of a key, and never a key.
type SyncArgs struct {
	URL     string `json:"url"`
	KeyFile string `json:"key_file,omitempty"`
	Filter  string `json:"filter,omitempty"`
}
