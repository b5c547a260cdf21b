package snapshot

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"engramd/internal/snapshot/bundle"
	"engramd/nips/nipae"
)

var (
	// ErrNoRecord means that a bundle has no such record.
	ErrNoRecord = errors.New("the snapshot has no such record")
	// ErrAmbiguous means that several records answer to a name.
	ErrAmbiguous = errors.New("several records begin with it")
)

// minName is the length of the shortest part of a d tag or an id that names a
// record.
const minName = 8

// Sorted returns the heads by slug where there is one, core first, then by
// address.
func (h Heads) Sorted() []Head {
	return slices.SortedFunc(maps.Values(h), func(a, b Head) int {
		return cmp.Or(compareSlugs(a.Slug, b.Slug), compareAddress(a.address(), b.address()))
	})
}

// Named returns the head with a slug, or whose d tag or id is, or begins with,
// so many digits. The error is ErrNoRecord or ErrAmbiguous.
func (h Heads) Named(name string) (Head, error) {
	slug, err := nipae.NormalizeSlug(name)
	var found []Head
	for _, head := range h.Sorted() {
		if err == nil && head.Readable() && head.Slug == slug {
			return head, nil
		}
		if len(name) >= minName && (strings.HasPrefix(head.D, name) || strings.HasPrefix(head.ID, name)) {
			found = append(found, head)
		}
	}
	switch len(found) {
	case 0:
		return Head{}, fmt.Errorf("%.100q: %w", name, ErrNoRecord)
	case 1:
		return found[0], nil
	}
	return Head{}, fmt.Errorf("%.100q: %w", name, ErrAmbiguous)
}

// Shown is one record of a bundle.
type Shown struct {
	Head
	Time  time.Time `json:"time"`
	Text  *string   `json:"text,omitempty"` // of an engram that the keys read
	Event Event     `json:"event"`
}

// Event is an event as the bundle has it, in JSON.
type Event []byte

// MarshalJSON returns the event.
func (e Event) MarshalJSON() ([]byte, error) { return e, nil }

// Show returns a head's event and, as far as the keys read it, its text.
func Show(ctx context.Context, src bundle.Source, agent string, keys bundle.Keys, h Head) (Shown, error) {
	out := Shown{Head: h, Time: time.Unix(h.CreatedAt, 0).UTC()}
	for _, class := range []bundle.Class{bundle.Heads, bundle.Relays, bundle.Contracts} {
		err := src.Events(ctx, class, func(b []byte) error {
			ev, err := parse(b)
			if err != nil || ev.ID != h.ID {
				return err
			}
			out.Event = bytes.Clone(b)
			if e, ok := open(ev, agent, keys); ok {
				if text, live := e.Body.Text(); live {
					text = strings.Clone(text)
					out.Text = &text
				}
			}
			return nil
		})
		if err != nil {
			return out, err
		}
	}
	if out.Event == nil {
		return out, fmt.Errorf("event %s: %w", h.ID, bundle.ErrChanged)
	}
	return out, nil
}

// WriteHeads lists heads for a person: slug or address, time, id, and what was
// removed.
func WriteHeads(w io.Writer, heads []Head) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, h := range heads {
		removed := ""
		if h.Tombstone {
			removed = "  removed"
		}
		fmt.Fprintf(t, "%s\t%s\t%.16s%s\n", nameOf(h.Slug, h.Kind, h.D), time.Unix(h.CreatedAt, 0).UTC().Format(time.RFC3339), h.ID, removed)
	}
	return t.Flush()
}
