package contracts

import (
	"context"
	"encoding/hex"
	"slices"
	"strings"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay/fairness"
	"engramd/internal/relay/store"
	"engramd/nips/niptemp"
)

// threads shows what is said about a contract: entries, moves and their order.
type threads struct {
	register  *register
	store     Store
	agents    *directory
	pub       *publisher
	sealer    Sealer
	relayKeys RelayKeys
	turns     *fairness.Turns // for parsing, which is work of a processor
}

// reading does what find does, for calls that show entries: it refuses a
// request in another agent's name, and includes private entries if they can be
// opened.
func (th *threads) reading(ctx context.Context, c Caller, id, requester string) (*view, store.Thread, error) {
	if err := c.claimed("requester_agent_id", requester); err != nil {
		return nil, store.Thread{}, err
	}
	v, err := th.register.find(ctx, c, id)
	if err == nil && (v.role == operator || v.role == decider) && !v.named && v.status() != niptemp.Disputed {
		err = errNotFound("contract") // operator and decider read a thread while it is disputed
	}
	if err != nil {
		return nil, store.Thread{}, err
	}
	return v, v.thread(th.sealer.Ready() == nil), nil
}

// Entries lists what the caller may see, in the order of arrival.
func (th *threads) Entries(ctx context.Context, c Caller, id string, q EntryQuery) (EntryPage, error) {
	limit, offset, err := page(q.Limit, q.Offset)
	if err != nil {
		return EntryPage{}, err
	}
	if err := checkType(q.Type); err != nil {
		return EntryPage{}, err
	}
	if q.Visibility != "" && !q.Visibility.Valid() {
		return EntryPage{}, Wrong("visibility", "must be shared, poster_only or worker_only")
	}
	v, t, err := th.reading(ctx, c, id, q.RequesterAgentID)
	if err != nil {
		return EntryPage{}, err
	}
	out := EntryPage{ContractID: v.Contract, Entries: []Entry{}, Limit: limit, Offset: offset}
	t.Type = q.Type
	some, err := th.narrow(ctx, v, &t, q)
	if err != nil || !some {
		return out, err
	}
	rows, total, err := th.store.ThreadPage(ctx, t, limit, offset, pageBytes)
	if err != nil {
		return EntryPage{}, err
	}
	out.Total = total
	if out.Entries, err = th.shown(ctx, v, rows, q.Events); err != nil {
		return EntryPage{}, err
	}
	return out, th.refusals(ctx, v, rows, out.Entries)
}

// shown returns rows as the API shows them, with their events if they are
// wanted.
func (th *threads) shown(ctx context.Context, v *view, rows []store.ThreadEntry, events bool) ([]Entry, error) {
	out, known := make([]Entry, 0, len(rows)), th.agents.names()
	size, err := th.sizeOf(ctx, rows, known)
	if err != nil {
		return nil, err
	}
	if err := th.unlock(ctx, v, rows); err != nil {
		return nil, err
	}
	err = turn(ctx, th.turns, size, func() error {
		for i := range rows {
			e, err := th.entry(ctx, v, &rows[i], known)
			if err != nil {
				return err
			}
			if events && rows[i].Form != store.EntryPrivate {
				e.Event = rows[i].Data
			}
			v.unread(&e, &rows[i])
			out = append(out, e)
		}
		return nil
	})
	if err == nil {
		err = th.withdrawals(ctx, v, rows, out)
	}
	return out, err
}

func checkType(name string) error {
	if name != "" && !slices.Contains(niptemp.EntryTypes(), name) {
		return Wrong("type", "must be one of %s", strings.Join(niptemp.EntryTypes(), ", "))
	}
	return nil
}

// narrow narrows a thread to the author and visibility of a query, and reports
// whether the caller may see any such entry.
func (th *threads) narrow(ctx context.Context, v *view, t *store.Thread, q EntryQuery) (some bool, err error) {
	if q.Author != "" {
		if t.Author, err = th.agents.pubkeyOf(ctx, q.Author); err != nil || t.Author == "" {
			return false, err
		}
	}
	if q.Visibility == "" {
		return true, nil
	}
	private := q.Visibility != Shared
	t.Private = &private
	if !private {
		return true, nil
	}
	if q.Visibility == PosterOnly && v.role != poster || q.Visibility == WorkerOnly && v.role != worker {
		return false, nil
	}
	return true, th.sealer.Ready()
}

// Entry returns one entry. To others than its author, a private entry does not
// exist.
func (th *threads) Entry(ctx context.Context, c Caller, id, entryID string) (Entry, error) {
	v, t, err := th.reading(ctx, c, id, "")
	if err != nil {
		return Entry{}, err
	}
	row, err := th.store.ThreadEntry(ctx, t, entryID)
	if err != nil {
		return Entry{}, err
	}
	if row == nil {
		return Entry{}, errNotFound("entry")
	}
	rows := []store.ThreadEntry{*row}
	one, err := th.shown(ctx, v, rows, true)
	if err != nil {
		return Entry{}, err
	}
	err = th.refusals(ctx, v, rows, one)
	return one[0], err
}

// Summary counts what the caller may see.
func (th *threads) Summary(ctx context.Context, c Caller, id string) (Summary, error) {
	v, t, err := th.reading(ctx, c, id, "")
	if err != nil {
		return Summary{}, err
	}
	groups, err := th.store.ThreadGroups(ctx, t)
	if err != nil {
		return Summary{}, err
	}
	out := Summary{ContractID: v.Contract, ByType: map[string]int{}, ByAuthor: map[string]int{}, ByVisibility: map[string]int{}}
	known := th.agents.names()
	for _, g := range groups {
		out.TotalEntries += g.Count
		out.ByType[g.Type] += g.Count
		out.ByAuthor[known.of(ctx, g.Author)] += g.Count
		out.ByVisibility[string(v.visibility(g.Form, g.Author))] += g.Count
		out.NostrPublished += g.Published
		first, last := unix(g.First), unix(g.Last)
		if out.DateRange == nil {
			out.DateRange = &DateRange{first, last}
			continue
		}
		if first.Before(out.DateRange.Earliest) {
			out.DateRange.Earliest = first
		}
		if last.After(out.DateRange.Latest) {
			out.DateRange.Latest = last
		}
	}
	if err := th.addMoves(ctx, v, known, &out); err != nil {
		return Summary{}, err
	}
	return out, known.fail
}

// visibility returns the visibility of an entry of this form.
func (v *view) visibility(f store.EntryForm, author string) Visibility {
	switch {
	case f != store.EntryPrivate:
		return Shared
	case author == v.Poster:
		return PosterOnly
	}
	return WorkerOnly
}

// entry returns a row as the API shows it, without its event.
func (th *threads) entry(ctx context.Context, v *view, row *store.ThreadEntry, known *names) (Entry, error) {
	e := Entry{
		EntryID: row.Entry, ContractID: v.Contract, AuthorAgentID: known.of(ctx, row.Author), AuthorNpub: npub(row.Author),
		Type: row.Type, Visibility: v.visibility(row.Form, row.Author), CreatedAt: unix(row.CreatedAt), ReceivedAt: unix(row.ArrivedAt),
	}
	if known.fail != nil {
		return Entry{}, known.fail
	}
	var err error
	if e.Content, e.Attachments, e.Opened, err = th.text(v, row); err != nil {
		return Entry{}, err
	}
	if e.Attachments == nil {
		e.Attachments = []string{}
	}
	e.Encrypted = row.Form == store.EntrySealed
	if v.whole() {
		e.N, e.K = new(row.N), row.K
	}
	if row.Published {
		e.NostrEventID = new(hex.EncodeToString(row.ID))
	}
	return e, nil
}

// text returns what a row says, and whether it was sealed and has been opened.
func (th *threads) text(v *view, row *store.ThreadEntry) (content string, attachments []string, opened bool, err error) {
	if row.Form == store.EntryPrivate {
		p, err := th.unseal(v.Contract, row)
		return p.Content, p.Attachments, false, err
	}
	ev, err := wire.ParseEvent(row.Data)
	if err != nil {
		return "", nil, false, err
	}
	if row.Form == store.EntrySealed {
		if content, attachments, opened = v.unsealed(row, ev); opened {
			return content, attachments, true, nil
		}
	}
	said, err := niptemp.ReadEntry(ev)
	if err != nil {
		// It was stored before today's rules, and is shown as it is.
		return ev.Content, nil, false, nil
	}
	return said.Content, said.Attachments, false, nil
}
