package relaytest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/nbd-wtf/go-nostr"
)

// Vector is one signed event of the published NIP-AE vectors, with what is
// encrypted in it.
type Vector struct {
	Slug, Body string
	Event      *nostr.Event
}

// Vectors reads testdata/vectors/nip-ae.json. The author is Agent, the owner is
// Owner.
func Vectors() ([]Vector, error) {
	root, err := Root()
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(root, "testdata", "vectors", "nip-ae.json"))
	if err != nil {
		return nil, fmt.Errorf("vectors: %w", err)
	}
	var file struct {
		Events []struct {
			Body, Slug, D, Content, ID, Sig string
			CreatedAt                       int64 `json:"created_at"`
		}
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("vectors: %w", err)
	}
	var out []Vector
	for _, v := range file.Events {
		ev := &nostr.Event{
			ID: v.ID, PubKey: Agent().Pub, CreatedAt: nostr.Timestamp(v.CreatedAt), Kind: KindEngram,
			Tags: nostr.Tags{{"d", v.D}, {"p", Owner().Pub}}, Content: v.Content, Sig: v.Sig,
		}
		if ev.GetID() != v.ID {
			return nil, fmt.Errorf("vectors: the event of %s has another id", v.Slug)
		}
		out = append(out, Vector{Slug: v.Slug, Body: v.Body, Event: ev})
	}
	return out, nil
}
