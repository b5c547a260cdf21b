package session

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/memory/localcopy"
	"engramd/internal/memory/state"
)

// settler keeps the local copy and the state in step: what no relay shows must outlast
// either file.
type settler struct {
	*known

	settling        sync.Mutex
	unsettled, full atomic.Bool // asked for since the last one began
}

// settle looks after heads of the copy that no relay shows: what the agent's key had
// deleted is dropped, the rest moves into the state as it was signed, so that it outlasts
// the copy. What relays show again is forgotten there. After a full comparison the
// requests of the agent's key are kept too: a relay that loses them may be given them
// again.
func (t *settler) settle(ctx context.Context, kept *localcopy.Copy, full bool) {
	if full {
		t.full.Store(true)
	}
	t.unsettled.Store(true)
	for t.unsettled.Load() && t.settling.TryLock() { // of several relays one does it for all
		for t.unsettled.Swap(false) {
			t.settleNow(ctx, kept)
		}
		t.settling.Unlock()
	}
}

func (t *settler) settleNow(ctx context.Context, kept *localcopy.Copy) {
	full := t.full.Swap(false)
	heads, err := t.heads(ctx)
	if err == nil && heads != nil {
		place(ctx, heads, kept)
	}
	for asked, after := false, (localcopy.Last{}); err == nil; asked = true {
		var behind, left []localcopy.Last
		if behind, err = kept.Behind(ctx, after); err == nil && (len(behind) > 0 || full && !asked) {
			left, err = t.unexplained(ctx, behind, asked)
		}
		if err != nil || heads == nil || len(behind) == 0 {
			break
		}
		after, err = behind[len(behind)-1], keep(ctx, heads, left)
	}
	if err == nil && heads != nil {
		err = cmp.Or(dropShown(ctx, heads, kept), t.fill(ctx, kept))
	}
	if err != nil && ctx.Err() == nil {
		t.s.detail("what no relay shows may be in the copy alone: %v", err)
	}
}

// fill puts into the copy what the state has as it was signed and the copy has not, and
// notes there of how many addresses nobody has the text: the file may be deleted. That is
// done once for each file, and as long as texts are lacking.
func (t *settler) fill(ctx context.Context, kept *localcopy.Copy) error {
	before, err := kept.Lacking(ctx)
	if err != nil || before == 0 {
		return err
	}
	all, err := t.All(ctx)
	if err != nil {
		return err
	}
	lasts, err := kept.Newest(ctx)
	has := map[string]string{} // ids
	for _, l := range lasts {
		has[l.D] = l.ID
	}
	var missing []client.Newest
	whole := true
	for d, at := range all {
		switch {
		case at.ID == "" || at.ID == has[d] || at.Tombstone && has[d] == "":
		case at.At > t.s.Client.Now()-young:
			whole = false
		default:
			missing = append(missing, at)
		}
	}
	if err == nil && len(missing) > 0 {
		missing, err = t.s.Memory.Unexplained(ctx, missing)
	}
	if err != nil {
		return err
	}
	lacking := 0
	for some := range slices.Chunk(missing, filledAtOnce) {
		var events []*nostr.Event
		for _, at := range some {
			if at, err = t.At(ctx, at.D); err != nil {
				return err
			} else if at.Event != nil {
				events = append(events, at.Event)
			} else {
				lacking++
			}
		}
		if _, err := kept.Put(ctx, "", events); err != nil {
			return err
		}
	}
	if lacking == before || lacking == 0 && !whole {
		return nil
	}
	return kept.SetLacking(ctx, lacking)
}

const (
	// young is how old in seconds a version must be to be missed: relays that follow
	// others take a moment.
	young = 30
	// filledAtOnce is how many events fill holds at once.
	filledAtOnce = 100
)

// unexplained drops what requests of the agent's key explain. The relays are asked for
// these once; what they said is in the state then.
func (t *settler) unexplained(ctx context.Context, behind []localcopy.Last, asked bool) (left []localcopy.Last, err error) {
	missing := make([]client.Newest, len(behind))
	for i, l := range behind {
		missing[i] = client.Newest{D: l.D, ID: l.ID, At: l.CreatedAt}
	}
	explained := map[string]bool{}
	if asked {
		explained, err = t.Acted(ctx, missing, nil, t.s.Client.Relays())
	} else if still, askErr := t.s.Memory.Unexplained(ctx, missing); askErr != nil {
		err = askErr
	} else {
		for _, m := range missing {
			explained[m.ID] = !slices.ContainsFunc(still, func(s client.Newest) bool { return s.ID == m.ID })
		}
	}
	for _, l := range behind {
		if !explained[l.ID] {
			left = append(left, l)
		}
	}
	return left, err
}

// keep keeps in the state what no relay shows.
func keep(ctx context.Context, heads *state.Heads, behind []localcopy.Last) error {
	var all []state.Head
	for _, l := range behind {
		if l.Event == nil {
			continue
		}
		text, err := json.Marshal(l.Event)
		if err != nil {
			return err
		}
		all = append(all, state.Head{D: l.D, ID: l.ID, At: l.CreatedAt, Tombstone: l.Tombstone, Expires: l.Expires, Event: text})
	}
	if len(all) == 0 {
		return nil
	}
	return heads.Keep(ctx, all...)
}

// dropShown drops from the state what relays show again.
func dropShown(ctx context.Context, heads *state.Heads, kept *localcopy.Copy) error {
	there, err := heads.Kept(ctx)
	if err != nil || !kept.OnDisk() {
		return err
	}
	var shown []string
	for _, h := range there {
		if l, ok, err := kept.At(ctx, h.D); err == nil && ok && l.ID == h.ID && l.Shown == localcopy.ShownNow && l.Event != nil {
			shown = append(shown, h.ID)
		}
	}
	return heads.Drop(ctx, shown...)
}

// has drops from the state what the copy on disk has by now.
func (t *settler) has(ctx context.Context, kept *localcopy.Copy, ids ...string) {
	heads, err := t.heads(ctx)
	if err != nil || heads == nil || !kept.OnDisk() {
		return
	}
	found, err := kept.Find(ctx, ids)
	if err != nil {
		return // it is kept twice
	}
	ids = ids[:0]
	for _, l := range found {
		ids = append(ids, l.ID)
	}
	_ = heads.Drop(ctx, ids...) // the same
}

// place finds in the copy the addresses of links that an older version did not note.
func place(ctx context.Context, heads *state.Heads, kept *localcopy.Copy) {
	for kept != nil {
		ids, err := heads.Nowhere(ctx)
		if err != nil || len(ids) == 0 {
			return
		}
		found, err := kept.Find(ctx, ids)
		if err != nil {
			return
		}
		at := map[string]localcopy.Last{}
		for _, l := range found {
			at[l.ID] = l
		}
		links := make([]state.Head, len(ids))
		for i, id := range ids {
			links[i] = state.Head{ID: id, D: at[id].D, Tombstone: at[id].Tombstone, Expires: at[id].Expires}
		}
		if heads.Place(ctx, links) != nil {
			return
		}
	}
}
