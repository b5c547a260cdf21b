package wiring

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/nbd-wtf/go-nostr/nip19"

	"engramd/internal/client"
	"engramd/internal/client/transfer"
	"engramd/internal/protocol/wire"
	"engramd/internal/relay"
	"engramd/internal/relay/config"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/keys/keyfile"
	"engramd/internal/relay/management"
	"engramd/internal/relay/policy"
	"engramd/internal/relay/replica"
	"engramd/internal/relay/store/sqlite"
)

// progressEach is how often a pass tells how far it is.
const progressEach = 500 * time.Millisecond

// telling calls tell with the follower's status again and again, until the
// returned function is called.
func telling(f *replica.Follower, tell func(replica.Status)) (stop func()) {
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(progressEach)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				tell(f.Status())
			case <-end:
				return
			}
		}
	}()
	return func() {
		close(end)
		<-ended
	}
}

// Bounds of what one step of following takes: ids of a reconciliation or events
// of a row of pages, and events of one page, each of which has a minute.
const (
	maxSourceEvents = 1_000_000
	sourcePage      = 500
	sourcePatience  = time.Minute
)

// Following is what every follower of a process is made with.
type Following struct {
	Store   *sqlite.Store
	Table   func() *gate.Table
	Judge   policy.Hook
	Log     *slog.Logger
	Observe func(n int, outcome, prefix string)
}

// Follower makes one.
func (f Following) Follower(number int, s replica.Spec) (*replica.Follower, error) {
	id, err := SourceKey(s.Key)
	if err != nil {
		return nil, fmt.Errorf("replica %s: key %s: %w", s.URL, s.Key, err)
	}
	filter, err := SourceFilter(s.Filter)
	if err != nil {
		return nil, fmt.Errorf("replica %s: filter: %w", s.URL, err)
	}
	dial := func() (replica.Source, error) {
		return transfer.NewPeer(id, s.URL, client.Options{Timeout: sourcePatience, Limits: client.Limits{Events: maxSourceEvents, Bytes: math.MaxInt64, Page: sourcePage}})
	}
	sum := sha256.Sum256([]byte(s.URL + "\n" + s.Filter + "\n" + id.PubKey()))
	return replica.New(replica.Options{
		Number: number, Name: hex.EncodeToString(sum[:16]), Spec: s, Filter: filter, PubKey: id.PubKey(),
		Dial: dial, Store: f.Store, Table: f.Table, Judge: f.Judge,
		Clock: time.Now, After: time.After, Jitter: rand.Float64, Log: f.Log, Observe: f.Observe,
	}), nil
}

// SourceFilter reads a filter of the configuration.
func SourceFilter(text string) (nostr.Filter, error) {
	f, err := wire.ParseFilter([]byte(cmp.Or(text, "{}")), wire.Limits{FilterValues: config.FilterValues, Filters: 1})
	if err == nil && (f.Search != "" || f.Limit != 0 || f.LimitZero) {
		err = errors.New("search and limit have no meaning here")
	}
	return f, err
}

var errSourceKey = errors.New("want one line with an nsec or 64 hex digits")

// SourceKey reads a key from a file, such as that which asks a followed relay; no path is nobody. The
// error does not repeat what the file says.
func SourceKey(path string) (id client.Identity, err error) {
	if path == "" {
		return client.Identity{}, nil
	}
	text, err := keyfile.Read(path)
	if err != nil {
		return id, err
	}
	defer clear(text)
	secret := ""
	err = keyfile.Lines(text, func(line []byte) error {
		if secret != "" {
			return errSourceKey
		}
		secret = strings.ToLower(string(line))
		if strings.HasPrefix(secret, "nsec1") {
			_, decoded, err := nip19.Decode(secret)
			key, ok := decoded.(string)
			if err != nil || !ok {
				return errSourceKey
			}
			secret = key
		}
		return nil
	})
	if err != nil {
		return id, err
	}
	if id, err = client.NewIdentity(secret); err != nil {
		return id, errSourceKey
	}
	return id, nil
}

// replicasCompile checks what only other packages know.
func replicasCompile(cfg *config.Config) error {
	for _, r := range cfg.Replica {
		if _, err := SourceFilter(r.Filter); err != nil {
			return Usage(fmt.Errorf("replica %s: filter: %w", r.URL, err))
		}
	}
	return nil
}

// CopyPolicy is what no followed relay may bring: what is malformed, banned, or
// from the future. Lists and rates are for those who write here.
func CopyPolicy(names relay.Names, o policy.Options, r management.Rules) (*policy.Policy, error) {
	return policy.New(policy.Options{
		OwnName: names.Has, Future: o.Future, Reader: relay.ReaderFrom, Import: true, MaxTags: o.MaxTags,
		BannedAuthors: r.BanAuthors, BannedKinds: r.BanKinds, BannedEvents: r.BannedEvents, AllowedEvents: r.AllowedEvents,
	})
}

// AsAuthor asks a policy as if each event's author had brought it.
func AsAuthor(p policy.Hook) policy.Hook {
	return func(ctx context.Context, ev *nostr.Event) (bool, string) { return p(relay.AsAuthor(ctx, ev), ev) }
}

// SyncOnce makes one pass, and tells meanwhile how far it is. A failure is told in
// the result, beside what came before it.
func SyncOnce(ctx context.Context, with Following, s replica.Spec, tell func(replica.Status)) (replica.Status, error) {
	f, err := with.Follower(0, s)
	if err != nil {
		return replica.Status{}, err
	}
	stop := telling(f, tell)
	got, err := f.Once(ctx)
	stop()
	if err != nil && ctx.Err() == nil {
		got.State, got.Why = replica.Failed, replica.Reason(err)
		return got, nil
	}
	return got, err
}
