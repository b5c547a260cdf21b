package management

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"net/netip"
	"slices"
	"strconv"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
)

// Config is the configuration's part of the same rules, which no call can
// change.
type Config struct {
	Keys                []string // that may call; 64 lower-case hex digits
	Authors, BanAuthors []string // write.authors, write.ban_authors
	Kinds, BanKinds     []int    // write.kinds, write.ban_kinds
	Restricted          bool     // write.authors or write.owners is set: only listed keys may write
}

// Rules unite configuration and database, for policy, session and NIP-11.
type Rules struct {
	Authors, BanAuthors         []string
	Kinds, BanKinds             []int
	BannedEvents, AllowedEvents []string
	Blocked                     func(netip.Addr) bool // reports whether an address is in a blocked network; nil for none
	// Texts of NIP-11; "" if the configuration's apply.
	Name, Description, Icon string
}

// lists holds the entries of the database. It is immutable: a call makes a new
// one.
type lists map[store.AdminList][]store.AdminEntry

func newLists(entries []store.AdminEntry) lists {
	l := lists{}
	for _, e := range entries {
		l[e.List] = append(l[e.List], e)
	}
	return l
}

// with returns the lists after a change.
func (l lists) with(change *store.AdminEntry) lists {
	if change == nil {
		return l
	}
	next := lists{}
	for name, entries := range l {
		next[name] = entries
	}
	kept := slices.DeleteFunc(slices.Clone(l[change.List]), func(e store.AdminEntry) bool { return e.Key == change.Key })
	if change.Verdict != store.AdminNone {
		kept = append(kept, *change)
	}
	next[change.List] = kept
	return next
}

// verdict returns a list's verdict on a key.
func (l lists) verdict(list store.AdminList, key string) store.AdminVerdict {
	for _, e := range l[list] {
		if e.Key == key {
			return e.Verdict
		}
	}
	return store.AdminNone
}

// keys returns the keys that have a verdict.
func (l lists) keys(list store.AdminList, verdict store.AdminVerdict) (out []string) {
	for _, e := range l[list] {
		if e.Verdict == verdict {
			out = append(out, e.Key)
		}
	}
	return out
}

func (l lists) kinds(verdict store.AdminVerdict) (out []int) {
	for _, key := range l.keys(store.AdminKinds, verdict) {
		if kind, err := strconv.Atoi(key); err == nil {
			out = append(out, kind)
		}
	}
	return out
}

// info returns the value of a field of NIP-11, "" if the configuration's
// applies.
func (l lists) info(field string) string {
	for _, e := range l[store.AdminInfo] {
		if e.Key == field {
			return e.Text
		}
	}
	return ""
}

// rules unites configuration and database. A list of allowed keys or kinds
// exists only if the configuration has one: a first entry must not shut out
// everybody else. Bans come before lists, wherever they are.
func (l lists) rules(cfg Config) Rules {
	r := Rules{
		BanAuthors:   union(cfg.BanAuthors, l.keys(store.AdminPubkeys, store.AdminBanned)),
		BanKinds:     union(cfg.BanKinds, l.kinds(store.AdminBanned)),
		BannedEvents: l.keys(store.AdminEvents, store.AdminBanned), AllowedEvents: l.keys(store.AdminEvents, store.AdminAllowed),
		Blocked: blocker(l.keys(store.AdminNetworks, store.AdminBanned)),
		Name:    l.info("name"), Description: l.info("description"), Icon: l.info("icon"),
	}
	if cfg.Restricted {
		r.Authors = union(cfg.Authors, l.keys(store.AdminPubkeys, store.AdminAllowed))
	}
	if len(cfg.Kinds) > 0 {
		r.Kinds = union(cfg.Kinds, l.kinds(store.AdminAllowed))
	}
	return r
}

// union returns both lists without repeats, the first one's entries first.
func union[T comparable](a, b []T) []T {
	seen := make(map[T]struct{}, len(a)+len(b))
	out := make([]T, 0, len(a)+len(b))
	for _, v := range slices.Concat(a, b) {
		if _, ok := seen[v]; !ok {
			seen[v] = struct{}{}
			out = append(out, v)
		}
	}
	return out
}

// blocker compiles networks to a lookup for each length of prefix that occurs.
func blocker(networks []string) func(netip.Addr) bool {
	if len(networks) == 0 {
		return nil
	}
	set := make(map[netip.Prefix]struct{}, len(networks))
	var lengths []int
	for _, text := range networks {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			continue // nothing else was ever written there
		}
		set[p] = struct{}{}
		if !slices.Contains(lengths, p.Bits()) {
			lengths = append(lengths, p.Bits())
		}
	}
	return func(addr netip.Addr) bool {
		addr = addr.Unmap().WithZone("")
		for _, bits := range lengths {
			p, err := addr.Prefix(bits)
			if _, ok := set[p]; err == nil && ok {
				return true
			}
		}
		return false
	}
}

// Remover is what Remove needs of the store.
type Remover interface {
	Administer(ctx context.Context, change *store.AdminEntry, call store.AdminCall) error
	RemoveMatching(ctx context.Context, scope gate.Scope, filters []nostr.Filter) (store.Removal, error)
}

// Remove removes the events that filters match, and records in the audit table
// that it began and how it ended. The scope is the operator's: no call of the
// management API has one.
func Remove(ctx context.Context, s Remover, scope gate.Scope, filters *Filters) (store.Removal, error) {
	if err := filters.Named(); err != nil {
		return store.Removal{}, err
	}
	text, err := json.Marshal(filters)
	if err != nil {
		return store.Removal{}, err
	}
	params := string(text)
	// No key has called: the operator has, on the machine itself.
	line := store.AdminCall{Key: store.AdminOperator, Auth: store.AdminOperator, Method: "delete", Params: &params, Digest: sha256.Sum256(text), Outcome: "begun"}
	if err := s.Administer(ctx, nil, line); err != nil {
		return store.Removal{}, err
	}
	done, err := s.RemoveMatching(ctx, scope, filters.list)
	line.Outcome, line.Detail = "ok", strconv.FormatInt(Total(done), 10)+" removed"
	if err != nil {
		line.Outcome = "error"
	}
	// The end is recorded even if the command did not wait.
	recorded := s.Administer(context.WithoutCancel(ctx), nil, line)
	return done, errors.Join(err, recorded)
}

// Total is how many events, versions and quarantined events a removal counts.
func Total(r store.Removal) (n int64) {
	for _, counts := range []map[int]int64{r.Events, r.Versions, r.Quarantined} {
		for _, c := range counts {
			n += c
		}
	}
	return n
}
