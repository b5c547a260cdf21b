package session

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/memory/localcopy"
	"engramd/internal/memory/state"
	"engramd/internal/protocol/writerlog"
)

// settler keeps the local copy and the state in step: what no relay shows must outlast
// either file.
type settler struct {
	*known

	settling        sync.Mutex
	unsettled, full atomic.Bool // asked for since the last one began
	// unknown is why the copy may lack what the state knows; nil: it does not.
	unknown atomic.Pointer[error]
}

// lacks is why the copy may lack what this machine's state knows; nil if it does not.
func (t *settler) lacks() error {
	if err := t.unknown.Load(); err != nil {
		return *err
	}
	return nil
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
	fillErr := err
	if err == nil {
		err = t.move(ctx, heads, kept, full)
	}
	if fillErr == nil && (heads != nil || !kept.OnDisk()) {
		fillErr = t.fill(ctx, kept)
	}
	if err = cmp.Or(err, fillErr); err == nil && heads != nil {
		err = dropShown(ctx, heads, kept)
	}
	if t.unknown.Store(nil); fillErr != nil {
		t.unknown.Store(&fillErr)
	}
	if err != nil && ctx.Err() == nil {
		t.s.detail("what no relay shows may be in the copy alone: %v", err)
	}
}

// move moves into the state, nil for none, the heads that no relay shows and that no
// request of the agent's key explains. It goes on where it was cut off before. What
// requests explain leaves the copy.
func (t *settler) move(ctx context.Context, heads *state.Heads, kept *localcopy.Copy, full bool) error {
	behind, err := kept.Behind(ctx)
	differ, differErr := localcopy.Differing(ctx, kept)
	if err = cmp.Or(err, differErr); err != nil || len(behind)+len(differ) == 0 && !full {
		return err
	}
	var missing []client.Newest
	for _, l := range slices.Concat(behind, differ) {
		missing = append(missing, client.Newest{D: l.D, ID: l.ID, At: l.CreatedAt})
	}
	left := map[string]bool{} // ids
	for _, m := range t.s.Memory.Unexplained(ctx, missing) {
		left[m.ID] = true
	}
	if err := t.ended(ctx, kept, slices.DeleteFunc(differ, func(l localcopy.Last) bool { return left[l.ID] })); err != nil || heads == nil {
		return err
	}
	there, err := heads.Kept(ctx)
	if err != nil {
		return err
	}
	for _, h := range there {
		left[h.ID] = false
	}
	behind = slices.DeleteFunc(behind, func(l localcopy.Last) bool { return !left[l.ID] })
	slices.SortFunc(behind, func(a, b localcopy.Last) int { return cmp.Compare(a.CreatedAt, b.CreatedAt) })
	for some := range slices.Chunk(behind, readAtOnce) {
		ds := make([]string, len(some))
		for i, l := range some {
			ds[i] = l.D
		}
		lasts, err := kept.Those(ctx, ds)
		if err == nil {
			err = keep(ctx, heads, slices.Collect(maps.Values(lasts)))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ended drops from the copy what a request of the agent's key ended, and no relay that
// answers shows: one that does not answer was last seen to have it.
func (t *settler) ended(ctx context.Context, kept *localcopy.Copy, all []localcopy.Last) error {
	all = all[:min(len(all), filledAtOnce)]
	if len(all) == 0 {
		return nil
	}
	ids := make([]string, len(all))
	for i, l := range all {
		ids[i] = l.ID
	}
	found, _, err := t.s.Memory.Lookup(ctx, ids)
	if err != nil {
		return nil // nobody answers
	}
	ids = slices.DeleteFunc(ids, func(id string) bool { return len(found[id]) > 0 })
	var raw [][32]byte
	for _, id := range ids {
		if h, ok := writerlog.ParseID(id); ok {
			raw = append(raw, h)
		}
	}
	for _, url := range t.s.Client.Relays() {
		if _, err := kept.Lost(ctx, url, raw); err != nil {
			return err
		}
	}
	_, err = kept.Drop(ctx, ids...)
	return err
}

// fill puts into the copy what the state has as it was signed and the copy has not, and
// notes there of how many addresses nobody has the text: the file may be deleted. That is
// done once for each file, and as long as texts are lacking.
func (t *settler) fill(ctx context.Context, kept *localcopy.Copy) error {
	before, err := kept.Lacking(ctx)
	if err != nil || before == 0 {
		return err
	}
	missing, whole, err := t.absent(ctx, kept)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		missing = t.s.Memory.Unexplained(ctx, missing)
	}
	lacking := 0
	for some := range slices.Chunk(missing, filledAtOnce) {
		all, err := t.Those(ctx, addresses(some))
		if err != nil {
			return err
		}
		var events []*nostr.Event
		for _, at := range all {
			if at.Event != nil {
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

// absent returns what the state has newer than the copy. What is young, or dated ahead, is
// asked for once more; whole says that all of it could be told.
func (t *settler) absent(ctx context.Context, kept *localcopy.Copy) (missing []client.Newest, whole bool, err error) {
	all, err := t.All(ctx)
	lasts, lastsErr := kept.Newest(ctx)
	if err = cmp.Or(err, lastsErr); err != nil {
		return nil, false, err
	}
	has := map[string]string{} // ids
	for _, l := range lasts {
		has[l.D] = l.ID
	}
	fresh := map[string]bool{} // ids
	for d, at := range all {
		if at.ID == "" || at.ID == has[d] || at.Tombstone && has[d] == "" {
			continue
		}
		if missing = append(missing, at); at.At > t.s.Client.Now()-young {
			fresh[at.ID] = true
		}
	}
	if len(fresh) == 0 {
		return missing, true, nil
	}
	var found map[string][]string
	told := false
	if len(fresh) <= filledAtOnce {
		found, told, _ = t.s.Memory.Lookup(ctx, slices.Collect(maps.Keys(fresh)))
	}
	missing = slices.DeleteFunc(missing, func(m client.Newest) bool {
		return fresh[m.ID] && (!told || len(found[m.ID]) > 0)
	})
	return missing, told && len(found) == 0, nil
}

const (
	// young is how old in seconds a version must be to be missed: relays that follow
	// others take a moment.
	young = 30
	// filledAtOnce is how many events fill holds at once.
	filledAtOnce = 100
)

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
	if err != nil || len(there) == 0 || !kept.OnDisk() {
		return err
	}
	lasts, err := kept.Newest(ctx)
	if err != nil {
		return err
	}
	now := map[string]bool{} // ids
	for _, l := range lasts {
		now[l.ID] = l.Shown == localcopy.ShownNow
	}
	there = slices.DeleteFunc(there, func(h state.Head) bool { return !now[h.ID] })
	for some := range slices.Chunk(there, readAtOnce) {
		ds := make([]string, len(some))
		for i, h := range some {
			ds[i] = h.D
		}
		whole, err := kept.Those(ctx, ds)
		if err != nil {
			return err
		}
		var shown []string
		for _, h := range some {
			if l := whole[h.D]; l.ID == h.ID && l.Shown == localcopy.ShownNow && l.Event != nil {
				shown = append(shown, h.ID)
			}
		}
		if err := heads.Drop(ctx, shown...); err != nil {
			return err
		}
	}
	return nil
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
