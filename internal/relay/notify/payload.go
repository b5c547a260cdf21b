package notify

import (
	"strconv"
	"strings"

	"github.com/nbd-wtf/go-nostr"

	"engramd/nips/kind"
	"engramd/nips/nipae"
)

// Kinds of messages: the last word of a snapshot's subject, and "kind" in each
// payload.
const (
	kindCreated  = "created"
	kindRestored = "restored"
	kindDeleted  = "deleted"
	kindGC       = "gc"
	kindMutated  = "mutated"
)

// head stands first in every payload.
type head struct {
	Version int    `json:"v"` // 1; a member that is added does not change it
	Kind    string `json:"kind"`
	Time    int64  `json:"time"` // Unix seconds
}

// Created is a bundle that was written.
type Created struct {
	head
	Agent     string `json:"agent"` // pubkey, 64 hex digits
	Tenant    string `json:"tenant"`
	ID        string `json:"id"`
	Label     string `json:"label,omitempty"`
	CreatedBy string `json:"created_by"` // cli, agent, admin, auto-pre-restore, scheduled
	Parent    string `json:"parent,omitempty"`
	Events    int    `json:"events"`
	Size      int64  `json:"size"`   // of the file, bytes
	SHA256    string `json:"sha256"` // of the file
	Encrypted bool   `json:"encrypted"`
	Verified  bool   `json:"verified"`
}

// Restored is a bundle that was put back into the relay.
type Restored struct {
	head
	Agent       string `json:"agent"`
	Tenant      string `json:"tenant"`
	ID          string `json:"id"`
	Mode        string `json:"mode"`                   // repair, rollback, replace
	PreSnapshot string `json:"pre_snapshot,omitempty"` // id of the bundle made before
	Written     int    `json:"written"`                // events put into the relay
	Quarantined int    `json:"quarantined"`            // events taken out
}

// Deleted is a bundle that was deleted by a command, not by retention.
type Deleted struct {
	head
	Agent  string `json:"agent"`
	Tenant string `json:"tenant"`
	ID     string `json:"id"`
}

// GC is one sweep of retention, over all agents.
type GC struct {
	head
	Deleted int `json:"bundles_deleted"`
	Staging int `json:"staging_removed"` // what dead processes had left
	Agents  int `json:"agents_visited"`
	Errors  int `json:"errors"`
}

// mutated is a write to an agent's memory.
type mutated struct {
	head
	Agent     string `json:"agent"`
	EventKind int    `json:"event_kind"` // 30174, 5 or 62
	Size      int    `json:"size"`       // of the event's content, bytes
}

// message is what waits in the queue.
type message struct {
	kind, subject string
	body          any
}

var engramText = strconv.Itoa(nipae.Kind)

// ChangesMemory reports whether an event changes its author's memory: an
// engram, a request to vanish, or a deletion request that names engrams.
func ChangesMemory(ev *nostr.Event) bool {
	switch ev.Kind {
	case nipae.Kind, kind.Vanish:
		return true
	case nostr.KindDeletion:
		for _, tag := range ev.Tags {
			if len(tag) > 1 && (tag[0] == "k" && tag[1] == engramText || tag[0] == "a" && strings.HasPrefix(tag[1], engramText+":")) {
				return true
			}
		}
	}
	return false
}
