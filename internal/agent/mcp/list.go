package mcp

import (
	"context"

	"engramd/internal/client/memory"
	recallanswer "engramd/internal/memory/recall/answer"
)

const (
	defaultEntries = 100
	maxEntries     = 1000
)

type listIn struct {
	Prefix string `json:"prefix,omitempty" jsonschema:"of slugs, as mem/people/"`
	After  string `json:"after,omitempty" jsonschema:"next of the page before"`
	Limit  int    `json:"limit,omitempty" jsonschema:"1 to 1000, default 100"`
}

type listOut struct {
	Entries    []brief `json:"entries" jsonschema:"core first, then by slug"`
	Total      int     `json:"total" jsonschema:"how many there are with that prefix, on all pages"`
	Next       string  `json:"next,omitempty" jsonschema:"give this as after for the next page; left out on the last"`
	Unreadable int     `json:"unreadable" jsonschema:"how many memories exist besides that cannot be read and whose slugs are unknown"`
	fresh
	answer
}

// list answers from the local copy if every relay has confirmed it lately, else
// it asks the relays.
func (s *readTools) list(ctx context.Context, in listIn) (listOut, error) {
	limit, err := within("limit", in.Limit, defaultEntries, maxEntries)
	if err != nil {
		return listOut{}, err
	}
	if s.m.session.Source() != nil {
		var out listOut
		confirmed := false
		err := s.m.session.Source().Read(ctx, func(v recallanswer.View) error {
			state := v.State()
			if confirmed = !state.Stale && !state.Unfinished; !confirmed {
				return nil
			}
			out = page(v, in, limit)
			out.answer, out.fresh = s.m.answerFrom(state, out.Total), freshOf(state)
			return nil
		})
		if err == nil && confirmed {
			return out, nil
		}
	}
	l, status, err := s.m.everything(ctx)
	if err != nil {
		return listOut{}, err
	}
	state := recallanswer.State{AsOf: s.m.clock(), Stale: status.Partial, Unreadable: l.Unreadable}
	out := page(listed(l), in, limit)
	out.Unreadable, out.answer, out.fresh = l.Unreadable, s.m.calls.answerOf(status), freshOf(state)
	return out, nil
}

// shelf is what a page is cut from.
type shelf interface {
	Heads() []recallanswer.Head
	Text(slug string) (string, bool)
	State() recallanswer.State
}

func page(from shelf, in listIn, limit int) listOut {
	out := listOut{Entries: []brief{}, Unreadable: from.State().Unreadable}
	for _, h := range from.Heads() {
		if recallanswer.Reserved(h.Slug) || !recallanswer.Begins(h.Slug, bare(in.Prefix)) {
			continue
		}
		out.Total++
		switch {
		case in.After != "" && h.Slug <= in.After:
		case len(out.Entries) < limit:
			text, _ := from.Text(h.Slug)
			out.Entries = append(out.Entries, brief{Slug: h.Slug, Title: title(text), Size: h.Size, UpdatedAt: stamp(h.UpdatedAt)})
		default:
			out.Next = out.Entries[limit-1].Slug
		}
	}
	return out
}

// listing is what relays sent, as a shelf.
type listing struct {
	heads []recallanswer.Head
	texts map[string]string
	state recallanswer.State
}

func listed(l memory.Listing) shelf {
	s := listing{texts: map[string]string{}, state: recallanswer.State{Unreadable: l.Unreadable}}
	for _, h := range heldOf(l) {
		s.heads = append(s.heads, h.Head)
		s.texts[h.Slug] = h.Text
	}
	return s
}

func (s listing) Heads() []recallanswer.Head      { return s.heads }
func (s listing) Text(slug string) (string, bool) { text, ok := s.texts[slug]; return text, ok }
func (s listing) State() recallanswer.State       { return s.state }
