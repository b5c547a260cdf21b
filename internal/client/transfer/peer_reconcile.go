package transfer

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/nips/nip77"
)

// syncMessage is how many bytes a message of ours has at most: twice that in hex.
const syncMessage = 30_000

// maxParts is how often a filter is halved by time.
const maxParts = 1000

// CanReconcile returns nil if the relay lists NIP-77, else ErrNoSync, or why that
// is not known.
func (p *Peer) CanReconcile(ctx context.Context) error {
	if p.t.Listed {
		return fmt.Errorf("%w: only the agent's list names it, and it is told no ids", ErrNoSync)
	}
	listed, err := p.Supports(ctx, 77)
	switch {
	case err != nil:
		return err
	case !listed:
		return fmt.Errorf("%w: its information document does not list it", ErrNoSync)
	}
	return nil
}

// Reconcile finds out what differs between items and what the relay shows of a
// filter (NIP-77): have are the ids that only items has, need those that only the
// relay has. Items are sorted in place. More than the relay reconciles at once is
// asked for by parts of the time. ErrNoSync: the relay does not list NIP-77, or
// does not answer within 5 seconds.
func (p *Peer) Reconcile(ctx context.Context, f nostr.Filter, items []nip77.Item) (have, need [][32]byte, err error) {
	if err := p.CanReconcile(ctx); err != nil {
		return nil, nil, err
	}
	set, err := nip77.NewSet(items)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", client.ErrInvalid, err)
	}
	err = inParts(f, p.c.Now(), func(f nostr.Filter, whole bool) error {
		part := set
		if !whole {
			if part, err = nip77.NewSet(itemsWithin(items, f)); err != nil {
				return err
			}
		}
		var h, n [][32]byte
		err := p.c.With(ctx, p.t, func(conn *client.Conn) (err error) {
			h, n, err = reconcile(ctx, conn, p.c.Options(), f, part, len(need))
			return err
		})
		have, need = append(have, h...), append(need, n...)
		return err
	})
	if err != nil {
		p.unlist(err)
		return nil, nil, err
	}
	return have, need, nil
}

// unlist has a relay that does not do what it lists not asked again.
func (p *Peer) unlist(err error) {
	if !errors.Is(err, ErrNoSync) {
		return
	}
	// A relay that failed, or has no memory for it just now, may do it again.
	if refusal, ok := errors.AsType[*client.RefusalError](err); ok && (refusal.Prefix() == "error" || refusal.Prefix() == "closed") {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.nips = slices.DeleteFunc(p.nips, func(nip int) bool { return nip == 77 })
}

// reconcile is Reconcile in one session, after so many ids were named in others.
func reconcile(ctx context.Context, conn *client.Conn, o client.Options, f nostr.Filter, set *nip77.Set, named int) (have, need [][32]byte, err error) {
	i := nip77.NewInitiator(set, syncMessage)
	n, answer, err := open(ctx, conn, f, i.Open(), named, o)
	if err != nil {
		return nil, nil, err
	}
	defer n.close()
	for {
		msg, h, m, err := i.Next(answer)
		if err == nil {
			n.rules.tell(len(m), len(h)+len(m))
			err = n.rules.spend(len(answer))
		}
		switch {
		case errors.Is(err, nip77.ErrVersion):
			return nil, nil, fmt.Errorf("%w: %w", ErrNoSync, err)
		case err != nil:
			return nil, nil, misbehaved(err)
		}
		have, need = append(have, h...), append(need, m...)
		if msg == nil {
			return have, need, nil
		}
		if answer, err = n.exchange(ctx, msg); err != nil {
			return nil, nil, err
		}
	}
}

// misbehaved makes a wrong message the relay's fault.
func misbehaved(err error) error {
	if errors.Is(err, client.ErrMisbehaved) {
		return err
	}
	return fmt.Errorf("%w: %w", client.ErrMisbehaved, err)
}

// Between finds out what differs between what this relay and another show of a
// filter, without anybody having to know it all: the answers of one are passed to
// the other. A failure is a *PeerError that names whose it is, unless the two come
// to no end with one another: either may be why.
func (p *Peer) Between(ctx context.Context, other *Peer, f nostr.Filter) (mine, theirs [][32]byte, err error) {
	for _, side := range []*Peer{p, other} {
		if err := side.CanReconcile(ctx); err != nil {
			return nil, nil, &PeerError{side, err}
		}
	}
	err = inParts(f, p.c.Now(), func(f nostr.Filter, _ bool) error {
		var m, t [][32]byte
		err := p.c.With(ctx, p.t, func(here *client.Conn) error {
			return other.blamed(other.c.With(ctx, other.t, func(there *client.Conn) (err error) {
				m, t, err = between(ctx, f, [2]*Peer{p, other}, [2]*client.Conn{here, there}, [2]int{len(mine), len(theirs)})
				return err
			}))
		})
		mine, theirs = append(mine, m...), append(theirs, t...)
		return p.blamed(err)
	})
	if failed, ok := errors.AsType[*PeerError](err); ok {
		failed.Peer.unlist(err)
	}
	if err != nil {
		return nil, nil, err
	}
	return mine, theirs, nil
}

// between is Between in one session with each, after so many ids were named in
// others.
func between(ctx context.Context, f nostr.Filter, peers [2]*Peer, conns [2]*client.Conn, named [2]int) (mine, theirs [][32]byte, err error) {
	b := nip77.NewBetween()
	var sessions [2]*negotiation
	var only [2][][32]byte
	for msg, now := b.Open(), 0; msg != nil; now = 1 - now {
		var answer []byte
		if sessions[now] == nil {
			if sessions[now], answer, err = open(ctx, conns[now], f, msg, named[now], peers[now].c.Options()); err == nil {
				defer sessions[now].close()
			}
		} else {
			answer, err = sessions[now].exchange(ctx, msg)
		}
		if err != nil {
			return nil, nil, &PeerError{peers[now], err}
		}
		var own, others [][32]byte
		msg, own, others, err = b.Next(answer)
		if err == nil {
			err = tell(sessions, now, len(own), len(others), len(answer))
		}
		if errors.Is(err, errEndless) {
			return nil, nil, fmt.Errorf("%w: %s and %s with one another", errEndless, peers[0].t.URL, peers[1].t.URL)
		}
		if err != nil {
			return nil, nil, &PeerError{peers[now], misbehaved(err)}
		}
		only[now], only[1-now] = append(only[now], own...), append(only[1-now], others...)
	}
	return only[0], only[1], nil
}

// tell counts an answer of one side, and what became known of both by it.
func tell(sessions [2]*negotiation, now, own, others, size int) error {
	if s := sessions[1-now]; s != nil {
		s.rules.tell(others, own+others)
	}
	sessions[now].rules.tell(own, own+others)
	return sessions[now].rules.spend(size)
}

// PeerError is what failed at one of several relays.
type PeerError struct {
	Peer *Peer
	Err  error
}

func (e *PeerError) Error() string { return e.Peer.t.URL + ": " + e.Err.Error() }

// Unwrap gives errors.Is the cause.
func (e *PeerError) Unwrap() error { return e.Err }

// blamed makes an error this relay's that is nobody's yet.
func (p *Peer) blamed(err error) error {
	var named *PeerError
	if err == nil || errors.As(err, &named) || errors.Is(err, errEndless) {
		return err
	}
	return &PeerError{p, err}
}

// inParts calls do with a filter, and with halves of its time where there are too
// many at once. ErrNoSync: there are too many in one second, or it takes too many
// parts.
func inParts(f nostr.Filter, now int64, do func(f nostr.Filter, whole bool) error) error {
	parts := 0
	var rec func(f nostr.Filter, lo, hi nostr.Timestamp, whole bool) error
	rec = func(f nostr.Filter, lo, hi nostr.Timestamp, whole bool) error {
		err := do(f, whole)
		if !errors.Is(err, errTooMany) {
			return err
		}
		if parts++; lo >= hi || parts > maxParts {
			if failed, ok := errors.AsType[*PeerError](err); ok {
				return &PeerError{failed.Peer, fmt.Errorf("%w: %w", ErrNoSync, failed.Err)}
			}
			return fmt.Errorf("%w: %w", ErrNoSync, err)
		}
		middle := lo + (hi-lo)/2
		early, late := f, f
		early.Until, late.Since = &middle, new(middle+1)
		if err := rec(early, lo, middle, false); err != nil {
			return err
		}
		return rec(late, middle+1, hi, false)
	}
	lo, hi := nostr.Timestamp(0), nostr.Timestamp(now)
	if f.Since != nil {
		lo = *f.Since
	}
	if f.Until != nil {
		hi = *f.Until
	}
	return rec(f, lo, hi, true)
}

// itemsWithin are the items of the time of a filter.
func itemsWithin(items []nip77.Item, f nostr.Filter) []nip77.Item {
	var out []nip77.Item
	for _, it := range items {
		if (f.Since == nil || it.CreatedAt >= int64(*f.Since)) && (f.Until == nil || it.CreatedAt <= int64(*f.Until)) {
			out = append(out, it)
		}
	}
	return out
}
