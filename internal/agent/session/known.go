package session

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/memory/localcopy"
	"engramd/internal/memory/state"
	"engramd/internal/memory/state/sealedfile"
	"engramd/internal/protocol/wire"
	"engramd/nips/kind"
	"engramd/nips/nipae"
)

// known is what this machine knows of the pair's memory beside what relays show: the
// state's newest events, and the heads of the local copy.
type known struct {
	s *Session

	settling        sync.Mutex
	unsettled, full atomic.Bool // see settle

	mu    sync.Mutex
	state *state.State    // what it opened; nil while it has not, or uses another's
	copy  *localcopy.Copy // the same
}

// knownOf returns what is known of a pair: only of the session's own.
func (s *Session) knownOf(_ *client.Client, agent, owner string) client.Known {
	if m := s.Memory; m == nil || m.Agent() != agent || m.Owner() != owner || m.Reversed() {
		return nil
	}
	return s.known
}

// close ends the use of what was opened.
func (k *known) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.state != nil {
		_ = k.state.Close()
	}
	if k.copy != nil {
		_ = k.copy.Leave()
	}
	k.state, k.copy = nil, nil
}

// heads is the state's part; nil where no state is kept, or one of a later version.
func (k *known) heads(ctx context.Context) (*state.Heads, error) {
	if k.s.live != nil && k.s.live.state != nil {
		return &k.s.live.state.Heads, nil
	}
	if !k.s.Keeps() {
		return nil, nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.state == nil {
		if !pairOf(k.s.Memory.Memory).Kept(k.s.o.State) {
			return nil, nil
		}
		opened, err := k.s.OpenState(ctx, k.s.o.Note)
		if errors.Is(err, sealedfile.ErrNewer) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		k.state = opened
		k.place(ctx, &opened.Heads, k.onDisk(ctx))
	}
	return &k.state.Heads, nil
}

// kept is the local copy; nil where there is none.
func (k *known) kept(ctx context.Context) *localcopy.Copy {
	if l := k.s.Copies.open.Load(); l != nil {
		return l.Copy
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.onDisk(ctx)
}

// onDisk opens the copy on disk; the caller holds mu.
func (k *known) onDisk(ctx context.Context) *localcopy.Copy {
	if k.copy == nil {
		opened, err := k.s.Copies.OnDisk(ctx)
		if err != nil {
			k.s.detail("what the local copy has is not known: %v", err)
		}
		k.copy = opened
	}
	return k.copy
}

// place finds in the copy the addresses of links that an older version did not note.
func (k *known) place(ctx context.Context, heads *state.Heads, kept *localcopy.Copy) {
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

// At implements client.Known.
func (k *known) At(ctx context.Context, d string) (client.Newest, error) {
	var at state.Address
	heads, err := k.heads(ctx)
	if err != nil {
		return client.Newest{}, err
	}
	if heads != nil {
		if at, err = heads.At(ctx, d); err != nil {
			return client.Newest{}, err
		}
	}
	var last localcopy.Last
	if kept := k.kept(ctx); kept != nil {
		var err error
		if last, _, err = kept.At(ctx, d); err != nil {
			k.s.detail("what the local copy has is not known: %v", err)
		}
	}
	return k.newest(at, last), nil
}

// All implements client.Known. Events stand there only where the state has them.
func (k *known) All(ctx context.Context) (map[string]client.Newest, error) {
	all := map[string]state.Address{}
	heads, err := k.heads(ctx)
	if err != nil {
		return nil, err
	}
	if heads != nil {
		if all, err = heads.All(ctx); err != nil {
			return nil, err
		}
	}
	out := make(map[string]client.Newest, len(all))
	if kept := k.kept(ctx); kept != nil {
		lasts, err := kept.Newest(ctx)
		if err != nil {
			k.s.detail("what the local copy has is not known: %v", err)
		}
		for _, l := range lasts {
			out[l.D] = k.newest(all[l.D], l)
			delete(all, l.D)
		}
	}
	for d, at := range all {
		out[d] = k.newest(at, localcopy.Last{})
	}
	return out, nil
}

// newest is what is known of an address, by the state and by the copy.
func (k *known) newest(at state.Address, last localcopy.Last) client.Newest {
	h := at.Head
	n := client.Newest{D: h.D, ID: h.ID, At: h.At, Tombstone: h.Tombstone, Open: at.Open}
	expires := h.Expires
	if last.ID != "" && (h.ID == "" || last.CreatedAt > h.At || last.CreatedAt == h.At && last.ID <= h.ID) {
		n = client.Newest{D: last.D, ID: last.ID, At: last.CreatedAt, Tombstone: last.Tombstone, Event: last.Event, Open: at.Open}
		expires = last.Expires
		at.Head = state.Head{ID: last.ID, At: last.CreatedAt, Event: h.Event}
	}
	if n.Event == nil && len(h.Event) > 0 && h.ID == n.ID {
		if ev, err := wire.ParseEvent(h.Event); err == nil && wire.Verify(ev) == nil {
			n.Event = ev
		}
	}
	switch why := at.Lost(); {
	case why == state.Accepted, why == state.Deleted, expires > 0 && expires <= k.s.Client.Now():
		return client.Newest{Open: at.Open}
	case why == state.Removed:
		for _, l := range at.Losses {
			if l.Why == state.Removed && l.At >= n.At {
				n.Removed = l.Relay
			}
		}
	}
	return n
}

// Acted implements client.Known.
func (k *known) Acted(ctx context.Context, missing []client.Newest, acts []*nostr.Event, relays []string) (map[string]bool, error) {
	heads, err := k.heads(ctx)
	if err != nil {
		return nil, err
	}
	if heads != nil {
		texts := map[string][]byte{}
		for _, ev := range acts {
			if text, err := json.Marshal(ev); err == nil {
				texts[ev.ID] = text
			}
		}
		if err := heads.AddActs(ctx, texts); err != nil {
			return nil, err
		}
		kept, err := heads.Acts(ctx)
		if err != nil {
			return nil, err
		}
		for _, text := range kept {
			if ev, err := wire.ParseEvent(text); err == nil {
				acts = append(acts, ev)
			}
		}
	}
	explained := map[string]bool{}
	for _, m := range missing {
		if !slices.ContainsFunc(acts, func(act *nostr.Event) bool { return k.ends(act, m, relays) }) {
			continue
		}
		explained[m.ID] = true
		if k.s.o.Client.Named {
			continue // others may have it, where a request to vanish does not name them
		}
		if err := k.gone(ctx, heads, m); err != nil {
			return nil, err
		}
	}
	return explained, nil
}

// gone forgets a version that the agent's key had deleted.
func (k *known) gone(ctx context.Context, heads *state.Heads, m client.Newest) error {
	if heads != nil {
		if err := heads.Lose(ctx, m.D, state.Loss{At: m.At, Why: state.Deleted}); err != nil {
			return err
		}
	}
	if kept := k.kept(ctx); kept != nil {
		if _, err := kept.Drop(ctx, m.ID); err != nil {
			return fmt.Errorf("the local copy: %w", err)
		}
	}
	return nil
}

// ends reports whether a request of the agent's key ends a version: it names its id or
// its address (NIP-09), or all relays that are asked (NIP-62).
func (k *known) ends(act *nostr.Event, m client.Newest, relays []string) bool {
	if act.PubKey != k.s.Memory.Agent() {
		return false
	}
	covers := int64(act.CreatedAt) >= m.At
	if act.Kind == kind.Vanish {
		return covers && len(relays) > 0 && !slices.ContainsFunc(relays, func(url string) bool { return !vanishesAt(act, url) })
	}
	address := strconv.Itoa(nipae.Kind) + ":" + act.PubKey + ":" + m.D
	return act.Kind == nostr.KindDeletion && slices.ContainsFunc(act.Tags, func(tag nostr.Tag) bool {
		return len(tag) > 1 && (tag[0] == "e" && tag[1] == m.ID || tag[0] == "a" && tag[1] == address && covers)
	})
}

// vanishesAt reports whether a request to vanish names a relay (NIP-62).
func vanishesAt(act *nostr.Event, url string) bool {
	return slices.ContainsFunc(act.Tags, func(tag nostr.Tag) bool {
		return len(tag) > 1 && tag[0] == "relay" && (tag[1] == "ALL_RELAYS" || canonicalURL(tag[1]) == canonicalURL(url))
	})
}

func canonicalURL(url string) string {
	if c, err := nipae.CanonicalRelayURL(url); err == nil {
		return c
	}
	return url
}

// Removed implements client.Known.
func (k *known) Removed(ctx context.Context, at client.Newest, relay string) error {
	heads, err := k.heads(ctx)
	if heads != nil {
		return heads.Lose(ctx, at.D, state.Loss{Relay: relay, At: at.At, Why: state.Removed})
	}
	return err
}

// settle looks after heads of the copy that no relay shows: what the agent's key had
// deleted is dropped, the rest moves into the state as it was signed, so that it outlasts
// the copy. What relays show again is forgotten there. After a full comparison the
// requests of the agent's key are kept too: a relay that loses them may be given them
// again.
func (k *known) settle(ctx context.Context, kept *localcopy.Copy, full bool) {
	if full {
		k.full.Store(true)
	}
	k.unsettled.Store(true)
	for k.unsettled.Load() && k.settling.TryLock() { // of several relays one does it for all
		for k.unsettled.Swap(false) {
			k.settleNow(ctx, kept)
		}
		k.settling.Unlock()
	}
}

func (k *known) settleNow(ctx context.Context, kept *localcopy.Copy) {
	full := k.full.Swap(false)
	heads, err := k.heads(ctx)
	if err == nil && heads != nil {
		k.place(ctx, heads, kept)
	}
	for asked, after := false, (localcopy.Last{}); err == nil; asked = true {
		var behind, left []localcopy.Last
		if behind, err = kept.Behind(ctx, after); err == nil && (len(behind) > 0 || full && !asked) {
			left, err = k.unexplained(ctx, behind, asked)
		}
		if err != nil || heads == nil || len(behind) == 0 {
			break
		}
		after, err = behind[len(behind)-1], keep(ctx, heads, left)
	}
	if err == nil && heads != nil {
		err = cmp.Or(dropShown(ctx, heads, kept), k.fill(ctx, kept))
	}
	if err != nil && ctx.Err() == nil {
		k.s.detail("what no relay shows may be in the copy alone: %v", err)
	}
}

// fill puts into the copy what the state has as it was signed and the copy has not, and
// notes there of how many addresses nobody has the text: the file may be deleted. That is
// done once for each file, and as long as texts are lacking.
func (k *known) fill(ctx context.Context, kept *localcopy.Copy) error {
	before, err := kept.Lacking(ctx)
	if err != nil || before == 0 {
		return err
	}
	all, err := k.All(ctx)
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
		case at.At > k.s.Client.Now()-young:
			whole = false
		default:
			missing = append(missing, at)
		}
	}
	if err == nil && len(missing) > 0 {
		missing, err = k.s.Memory.Unexplained(ctx, missing)
	}
	if err != nil {
		return err
	}
	lacking := 0
	for some := range slices.Chunk(missing, filledAtOnce) {
		var events []*nostr.Event
		for _, at := range some {
			if at, err = k.At(ctx, at.D); err != nil {
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
func (k *known) unexplained(ctx context.Context, behind []localcopy.Last, asked bool) (left []localcopy.Last, err error) {
	missing := make([]client.Newest, len(behind))
	for i, l := range behind {
		missing[i] = client.Newest{D: l.D, ID: l.ID, At: l.CreatedAt}
	}
	explained := map[string]bool{}
	if asked {
		explained, err = k.Acted(ctx, missing, nil, k.s.Client.Relays())
	} else if still, askErr := k.s.Memory.Unexplained(ctx, missing); askErr != nil {
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
func (k *known) has(ctx context.Context, kept *localcopy.Copy, ids ...string) {
	heads, err := k.heads(ctx)
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
