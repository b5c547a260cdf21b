package mcp

import (
	"context"

	"engramd/internal/agent/view"
	recallanswer "engramd/internal/memory/recall/answer"
)

// maxQuery is the longest query of a search, in bytes.
const maxQuery = 500

type searchIn struct {
	Query  string   `json:"query"`
	Prefix string   `json:"prefix,omitempty"`
	Limit  int      `json:"limit,omitempty"`
	Tags   []string `json:"tags,omitempty"`
	Since  string   `json:"since,omitempty" jsonschema:"a day, last week"`
	All    bool     `json:"all_projects,omitempty"`
}

type hitOut struct {
	foundOut
	Matched  int            `json:"matched" jsonschema:"how many of the query's words it has in its best part"`
	Snippets []view.Snippet `json:"snippets" jsonschema:"the part with most of the words first; empty if only the slug or the fields match"`
}

type searchOut struct {
	Hits       []hitOut `json:"hits" jsonschema:"best first"`
	Total      int      `json:"total" jsonschema:"how many memories have at least one of the words"`
	Terms      int      `json:"terms" jsonschema:"how many words were searched for, with those that they stand for"`
	Others     int      `json:"other_projects,omitempty" jsonschema:"how many were left out that are other projects': all_projects"`
	Searched   int      `json:"searched" jsonschema:"how many memories were looked through"`
	Unreadable int      `json:"unreadable" jsonschema:"how many memories exist besides that cannot be read"`
	told
	answer
}

func (s *readTools) search(ctx context.Context, in searchIn) (searchOut, error) {
	limit, err := within("limit", in.Limit, recallanswer.DefaultHits, recallanswer.MaxHits)
	if err != nil {
		return searchOut{}, err
	}
	if len(in.Query) > maxQuery {
		return searchOut{}, invalidf("the query has %d bytes; %d are the most.", len(in.Query), maxQuery)
	}
	q := recallanswer.Query{Text: in.Query, Prefix: bare(in.Prefix), Tags: in.Tags, Since: in.Since, Scope: s.m.scope(ctx, in.All)}
	var out searchOut
	out.answer, out.told, err = s.m.view(ctx, func(v recallanswer.View) (int, error) {
		f, err := recallanswer.Search(v, q, limit, s.m.clock())
		if err != nil {
			return 0, mistaken(err)
		}
		out.Hits, out.Total, out.Terms, out.Others, out.Searched, out.Unreadable = []hitOut{}, f.Total, f.Terms, f.Others, f.Searched, f.State.Unreadable
		for _, h := range f.Hits {
			s.m.shows(h.Hit)
			out.Hits = append(out.Hits, hitOut{foundOf(h.Hit), len(h.Words), view.SnippetsOf(h.Snippets)})
		}
		return f.Total, nil
	})
	if err != nil {
		return searchOut{}, err
	}
	return out, nil
}

// statsOut is what a memory consists of.
type statsOut struct {
	view.Stats[whenOut]
	told
	answer
}

type whenOut struct {
	Slug      string `json:"slug"`
	Size      int    `json:"size"`
	UpdatedAt string `json:"updated_at"`
}

const describeStats = `Count memories by type, state and trust, with size, oldest, unused and unreadable ones. Slugs are data.`

type statsIn struct {
	Prefix string `json:"prefix,omitempty" jsonschema:"of slugs"`
}

func (s *readTools) stats(ctx context.Context, in statsIn) (statsOut, error) {
	var out statsOut
	uses, uncounted := s.m.session.Uses(ctx)
	if uncounted != nil {
		uses = nil
	}
	var err error
	out.answer, out.told, err = s.m.view(ctx, func(v recallanswer.View) (int, error) {
		c := recallanswer.Count(v, uses, bare(in.Prefix))
		out.Stats = view.StatsOf(c, func(h recallanswer.Head) whenOut { return whenOut{h.Slug, h.Size, stamp(h.UpdatedAt)} })
		return c.Memories, nil
	})
	if err != nil {
		return statsOut{}, err
	}
	if uncounted != nil {
		s.m.calls.log.Warn("the counters of use cannot be read", "error", uncounted)
		out.Warnings = append(out.Warnings, "the counters of use cannot be read")
	}
	return out, nil
}

const (
	defaultEntries = 100
	maxEntries     = 1000
)

type listIn struct {
	Prefix string `json:"prefix,omitempty"`
	After  string `json:"after,omitempty"`
	Limit  int    `json:"limit,omitempty"`
}

type listOut struct {
	Entries    []brief `json:"entries" jsonschema:"core first, then by slug"`
	Total      int     `json:"total" jsonschema:"how many there are with that prefix, on all pages"`
	Next       string  `json:"next,omitempty" jsonschema:"give this as after for the next page; left out on the last"`
	Unreadable int     `json:"unreadable" jsonschema:"how many memories exist besides that cannot be read and whose slugs are unknown"`
	told
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
		confirmed, nothing := false, false
		err := s.m.session.Source().Read(ctx, func(v recallanswer.View) error {
			state := v.State()
			if confirmed = !state.Stale && !state.Unfinished; !confirmed {
				return nil
			}
			out, nothing = page(v.Heads(), v.Text, in, limit), isEmpty(v)
			out.Unreadable, out.answer, out.told = state.Unreadable, s.m.answerFrom(state, out.Total), toldOf(state)
			return nil
		})
		if err == nil && confirmed {
			if nothing {
				s.m.unaccounted(ctx, &out.answer)
			}
			return out, nil
		}
	}
	l, status, err := s.m.everything(ctx)
	if err != nil {
		return listOut{}, err
	}
	var all []recallanswer.Head
	texts := map[string]string{}
	for _, h := range heldOf(l) {
		all = append(all, h.Head)
		texts[h.Slug] = h.Text
	}
	out := page(all, func(slug string) (string, bool) { text, ok := texts[slug]; return text, ok }, in, limit)
	out.Unreadable, out.answer, out.told = l.Unreadable, s.m.calls.answerOf(status), toldOf(s.m.stateOf(l, status))
	out.Partial = out.Partial || out.Total == 0 && status.Withheld > 0
	if len(l.Texts()) == 0 {
		s.m.unaccounted(ctx, &out.answer)
	}
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
			out.Entries = append(out.Entries, brief{Slug: h.Slug, Title: title(said), Size: h.Size, UpdatedAt: stamp(h.UpdatedAt), Expires: expiresOf(said), Unsent: h.Unsent})
		default:
			out.Next = out.Entries[limit-1].Slug
		}
	}
	return out
}
