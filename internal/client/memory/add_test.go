package memory

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"engramd/internal/client"
	"engramd/internal/client/clienttest"
	"engramd/nips/nipae"
)

func newTexts(n int) (all []NewText) {
	for i := range n {
		all = append(all, NewText{Slug: nipae.Slug(fmt.Sprintf("mem/journal/2026/11/22/0602-%08x", i)), Text: fmt.Sprint("note ", i)})
	}
	return all
}

// TestAddsInFlightTogether: all texts are sent after one question, before the
// first OK arrives.
func TestAddsInFlightTogether(t *testing.T) {
	const many = 20
	var questions, connections atomic.Int32
	url := clienttest.Start(t, &clienttest.Fake{Serve: func(c *clienttest.Conn) {
		connections.Add(1)
		var ids []string
		for {
			f, ok := c.Read()
			if !ok {
				return
			}
			switch f.Label {
			case "REQ":
				questions.Add(1)
				c.Sendf(`["EOSE",%q]`, f.SubID)
			case "EVENT":
				if ids = append(ids, f.Event.ID); len(ids) == many {
					for _, id := range ids {
						c.Sendf(`["OK",%q,true,""]`, id)
					}
				}
			}
		}
	}})
	m := agentOf(t, "agent", "owner", []string{url}, nil)
	added, err := m.Add(t.Context(), newTexts(many))
	if err != nil || len(added) != many {
		t.Fatalf("%d added, %v", len(added), err)
	}
	for i, a := range added {
		if a.Err != nil || a.Entry.Text != fmt.Sprint("note ", i) || client.Accepted(a.Status.Published) != 1 || a.Status.Partial {
			t.Errorf("text %d: %+v", i, a)
		}
	}
	if questions.Load() != 1 || connections.Load() != 1 {
		t.Errorf("%d questions on %d connections", questions.Load(), connections.Load())
	}
}

func TestAddWhereSomethingIs(t *testing.T) {
	m := agentOf(t, "agent", "owner", []string{clienttest.StartHoard(t, &clienttest.Hoard{})}, nil)
	first := newTexts(2)
	added, err := m.Add(t.Context(), first[:1])
	if err != nil || added[0].Err != nil {
		t.Fatal(err, added[0].Err)
	}
	again := []NewText{{Slug: first[0].Slug, Text: "another"}, first[1], first[1], {Slug: "mem/x"}}
	if added, err = m.Add(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	for i, want := range []error{client.ErrConflict, nil, client.ErrConflict, client.ErrEmpty} {
		if !errors.Is(added[i].Err, want) || want == nil && added[i].Err != nil {
			t.Errorf("text %d: %v, not %v", i, added[i].Err, want)
		}
	}
	if e, _, err := m.Get(t.Context(), first[0].Slug); e.Text != first[0].Text || err != nil {
		t.Errorf("there is %q, %v", e.Text, err)
	}
	if _, err := m.Add(t.Context(), newTexts(MaxAdded+1)); !errors.Is(err, client.ErrTooLarge) {
		t.Errorf("too many: %v", err)
	}
}
