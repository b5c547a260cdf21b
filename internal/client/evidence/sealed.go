package evidence

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/nbd-wtf/go-nostr"
)

// SealedFile lists the entries of a contract that were sealed between its
// parties, and that the exporter, who is none, was told of and not shown.
type SealedFile struct {
	ContractID string   `json:"contract_id"`
	Entries    []Sealed `json:"entries"`
}

// Sealed is one of them, by the word of the relay that keeps the contract.
type Sealed struct {
	N       int64  `json:"n,omitempty"` // its number in the order of arrival
	EntryID string `json:"entry_id"`
	Author  string `json:"author,omitempty"` // pubkey in hex
	Type    string `json:"type"`
	Bytes   int64  `json:"bytes"` // of the payload
	SHA256  string `json:"sha256"`
}

// sealed reads the list of sealed entries that are not here.
func (c *checking) sealed() {
	if len(c.files.Sealed) == 0 {
		return
	}
	k, said := Check{Name: "sealed entries"}, SealedFile{}
	switch {
	case json.Unmarshal(c.files.Sealed, &said) != nil:
		k.fail("%s is no list of sealed entries", SealedList)
	case said.ContractID != c.r.Contract:
		k.fail("%s is of another contract", SealedList)
	}
	if k.Outcome == Failed {
		c.done(k, "none is known")
		return
	}
	for _, e := range said.Entries[:min(len(said.Entries), maxEvents)] {
		c.unseen[e.SHA256] = e
		if e.N > 0 {
			c.ordered[e.N] = ""
		}
	}
	c.note("sealed entries", "%d sealed entries are not here; a relay's word says how long their payloads are, and what their hashes are", len(c.unseen))
}

// listed reports whether the event of a sealed entry, which somebody has
// disclosed, is one that is listed and not here: that which has its number in
// the order, if there is one.
func (c *checking) listed(ev *nostr.Event) bool {
	sum := sha256.Sum256([]byte(ev.Content))
	s, ok := c.unseen[hex.EncodeToString(sum[:])]
	id := c.ordered[s.N]
	return ok && s.Bytes == int64(len(ev.Content)) && (s.Author == "" || s.Author == ev.PubKey) && ev.Tags.GetD() == c.r.Contract && (id == "" || id == ev.ID)
}
