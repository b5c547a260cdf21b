package policy

import (
	"context"

	"github.com/nbd-wtf/go-nostr"

	"engramd/nips/niptemp"
)

// What a key may do without an event is decided where it asks, also where
// several nodes hold the same memory.

// Banned returns why a key may write no event, whatever it is; "" for one that
// may.
func (l *Live) Banned(_ context.Context, key string) string {
	switch p := l.current.Load(); {
	case p == nil:
		return notReady
	case has(p.bannedAuthors, key):
		return bannedAuthor
	}
	return ""
}

// Unlisted returns why the lists of writers do not let a key write, with what
// vouches for it beside events; "" for one that may. It is for what no event
// says.
func (l *Live) Unlisted(ctx context.Context, key string) string {
	p := l.current.Load()
	if p == nil {
		return notReady
	}
	_, why := p.rejectAuthor(ctx, &nostr.Event{Kind: niptemp.KindEntry, PubKey: key})
	return why
}
