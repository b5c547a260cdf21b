package mcp

import (
	"context"

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
			out = page(v.Heads(), v.Text, in, limit)
			out.Unreadable, out.answer, out.fresh = state.Unreadable, s.m.answerFrom(state, out.Total), freshOf(state)
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
	var all []recallanswer.Head
	texts := map[string]string{}
	for _, h := range heldOf(l) {
		all = append(all, h.Head)
		texts[h.Slug] = h.Text
	}
	out := page(all, func(slug string) (string, bool) { text, ok := texts[slug]; return text, ok }, in, limit)
	out.Unreadable, out.answer, out.fresh = l.Unreadable, s.m.calls.answerOf(status), freshOf(state)
	return out, nil
}

// page cuts a page from heads, of which text has the texts.
func page(heads []recallanswer.Head, text func(slug string) (string, bool), in listIn, limit int) listOut {
	out := listOut{Entries: []brief{}}
	for _, h := range heads {
		if recallanswer.Reserved(h.Slug) || !recallanswer.Begins(h.Slug, bare(in.Prefix)) {
			continue
		}
		out.Total++
		switch {
		case in.After != "" && h.Slug <= in.After:
		case len(out.Entries) < limit:
			said, _ := text(h.Slug)
			out.Entries = append(out.Entries, brief{Slug: h.Slug, Title: title(said), Size: h.Size, UpdatedAt: stamp(h.UpdatedAt)})
		default:
			out.Next = out.Entries[limit-1].Slug
		}
	}
	return out
}
