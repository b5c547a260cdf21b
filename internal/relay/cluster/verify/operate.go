package verify

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/nips/kind"
)

// Try looks whether every node takes what the workload writes, and shows what another
// has taken.
func (w *World) Try() error {
	var last *Write
	for node := range w.Nodes() {
		c := w.Conn(node)
		defer c.Close()
		wrote := w.Note(c)
		if wrote.Outcome == Refused {
			return fmt.Errorf("%s refuses what is written: %s\nwrite.kinds must allow the kinds 1, 5, 62, 30023 and 30091, if it is set; where write.authors or write.owners is set, list keys of your own in write.authors, and give their files with --key-file", w.URL(node), wrote.Message)
		} else if wrote.Outcome == Unknown {
			return fmt.Errorf("%s: %s", w.URL(node), wrote.Message)
		}
		last = cmp.Or(last, wrote)
		filter := nostr.Filter{IDs: []string{last.Event.ID}}
		found, err := c.Query(filter)
		if errors.Is(err, client.ErrAuth) && !w.reader.HasKey() { // from now on connections prove a key
			w.reader = w.Key(0)
			c = w.Conn(node)
			defer c.Close()
			found, err = c.Query(filter)
		}
		switch {
		case errors.Is(err, client.ErrAuth):
			return fmt.Errorf("%s is read only by who proves a key, and does not take the proof: %w\npublic_url must list this URL", w.URL(node), err)
		case err != nil:
			return fmt.Errorf("%s: %w", w.URL(node), err)
		case !found[last.Event.ID]:
			return fmt.Errorf("%s does not show what %s has acknowledged: they are not nodes of one cluster, or its cluster.reads is not \"latest\"", w.URL(node), w.URL(last.Node))
		}
		last = wrote
	}
	return nil
}

// Clean asks every node to remove what was written: by requests to vanish of the keys
// that are the workload's own, by deletions of others. It says what is still shown.
func (w *World) Clean() (left string, err error) {
	if !slices.ContainsFunc(w.All(), func(o *Write) bool { return o.Outcome != Refused }) {
		return "", nil
	}
	requests, kinds, seen := w.removal(), map[int]int{}, map[string]bool{}
	for node := range w.Nodes() {
		c := w.Conn(node)
		defer c.Close()
		if i := slices.IndexFunc(requests, func(ev *nostr.Event) bool { return w.Publish(c, ev).Outcome != Stored }); i >= 0 {
			all := w.All()
			err = errors.Join(err, fmt.Errorf("%s does not remove what was written: %s", w.URL(node), all[len(all)-1].Message))
			continue
		}
		there, failed := w.shown(node, w.All())
		err = errors.Join(err, failed)
		for _, one := range w.All() {
			if id := one.Event.ID; there[id] && !seen[id] {
				seen[id] = true
				kinds[one.Event.Kind]++
			}
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		left += fmt.Sprintf(", %d of kind %d", kinds[kind], kind)
	}
	return strings.TrimPrefix(left, ", "), err
}

func (w *World) removal() (requests []*nostr.Event) {
	w.keys.Range(func(pub, key any) bool {
		k := key.(client.Identity)
		if len(w.Given) == 0 {
			requests = append(requests, w.Sign(k, kind.Vanish, time.Now().Unix(), "", nostr.Tag{"relay", "ALL_RELAYS"}))
			return true
		}
		wrote := slices.DeleteFunc(w.All(), func(o *Write) bool { return o.Event.PubKey != pub || o.Event.Kind == nostr.KindDeletion })
		for piece := range slices.Chunk(wrote, 200) {
			var tags nostr.Tags
			for _, one := range piece {
				tags = append(tags, nostr.Tag{"e", one.Event.ID})
			}
			requests = append(requests, w.Sign(k, nostr.KindDeletion, time.Now().Unix(), "", tags...))
		}
		return true
	})
	return requests
}
