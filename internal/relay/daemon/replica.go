package daemon

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
	"engramd/internal/protocol/wire"
	"engramd/internal/relay"
	"engramd/internal/relay/config"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/keys/keyfile"
	"engramd/internal/relay/management"
	"engramd/internal/relay/metrics"
	"engramd/internal/relay/policy"
	"engramd/internal/relay/replica"
)

// This file connects the relays that this one follows.

// Bounds of what one step of following takes: ids of a reconciliation or events
// of a row of pages, and events of one page, each of which has a minute.
const (
	maxSourceEvents = 1_000_000
	sourcePage      = 500
	sourcePatience  = time.Minute
)

// following is what every follower of a process is made with.
type following struct {
	store   *database
	table   func() *gate.Table
	judge   policy.Hook
	log     *slog.Logger
	metrics *metrics.Metrics
}

// follower makes one.
func (f following) follower(number int, s replica.Spec) (*replica.Follower, error) {
	id, err := sourceKey(s.Key)
	if err != nil {
		return nil, fmt.Errorf("replica %s: key %s: %w", s.URL, s.Key, err)
	}
	filter, err := sourceFilter(s.Filter)
	if err != nil {
		return nil, fmt.Errorf("replica %s: filter: %w", s.URL, err)
	}
	dial := func() (replica.Source, error) {
		return client.NewPeer(id, s.URL, client.Options{Timeout: sourcePatience, Limits: client.Limits{Events: maxSourceEvents, Bytes: math.MaxInt64, Page: sourcePage}})
	}
	sum := sha256.Sum256([]byte(s.URL + "\n" + s.Filter + "\n" + id.PubKey()))
	return replica.New(replica.Options{
		Number: number, Name: hex.EncodeToString(sum[:16]), Spec: s, Filter: filter, PubKey: id.PubKey(),
		Dial: dial, Store: f.store, Table: f.table, Judge: f.judge,
		Clock: time.Now, After: time.After, Jitter: rand.Float64, Log: f.log, Observe: f.metrics,
	}), nil
}

// sourceFilter reads a filter of the configuration.
func sourceFilter(text string) (nostr.Filter, error) {
	f, err := wire.ParseFilter([]byte(cmp.Or(text, "{}")), wire.Limits{FilterValues: 2000, Filters: 1})
	if err == nil && (f.Search != "" || f.Limit != 0 || f.LimitZero) {
		err = errors.New("search and limit have no meaning here")
	}
	return f, err
}

var errSourceKey = errors.New("want one line with an nsec or 64 hex digits")

// sourceKey reads the key that asks a followed relay; no path is nobody. The
// error does not repeat what the file says.
func sourceKey(path string) (id client.Identity, err error) {
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

// replicaSpecs are the relays to follow.
func replicaSpecs(cfg *config.Config) []replica.Spec {
	specs := make([]replica.Spec, len(cfg.Replica))
	for i, r := range cfg.Replica {
		specs[i] = replica.Spec(r)
	}
	return specs
}

// replicasCompile checks what only other packages know.
func replicasCompile(cfg *config.Config) error {
	for _, r := range cfg.Replica {
		if _, err := sourceFilter(r.Filter); err != nil {
			return usage(fmt.Errorf("replica %s: filter: %w", r.URL, err))
		}
	}
	return nil
}

// copyPolicy is what no followed relay may bring: what is malformed, banned, or
// from the future. Lists and rates are for those who write here.
func copyPolicy(names relay.Names, o policy.Options, r management.Rules) (*policy.Policy, error) {
	return policy.New(policy.Options{
		RelayNames: names, Future: o.Future, Reader: relay.ReaderFrom, Import: true, MaxTags: o.MaxTags,
		BannedAuthors: r.BanAuthors, BannedKinds: r.BanKinds, BannedEvents: r.BannedEvents, AllowedEvents: r.AllowedEvents,
	})
}

// asAuthor asks a policy as if each event's author had brought it.
func asAuthor(p policy.Hook) policy.Hook {
	return func(ctx context.Context, ev *nostr.Event) (bool, string) { return p(relay.AsAuthor(ctx, ev), ev) }
}

// following are the parts of the running daemon.
func (c *process) following() following {
	return following{store: c.store, table: c.relay.Table, judge: asAuthor(c.copies.RejectEvent), log: c.log, metrics: c.metrics}
}

// openReplicas begins to follow, while this node leads.
func (c *process) openReplicas() error {
	c.replicas = replica.NewSet(c.following().follower)
	if !c.leading.alone() {
		c.replicas.Hold()
		c.stopFollowing = begin(context.Background(), func(ctx context.Context) { c.leading.while(ctx, c.replicas.Follow) })
	}
	start, err := c.replicas.Prepare(replicaSpecs(c.cfg))
	if err != nil {
		return usage(err)
	}
	c.metrics.WatchReplicas(func() (lag []metrics.ReplicaLag) {
		for _, s := range c.replicas.Status() {
			l := metrics.ReplicaLag{Lag: s.Lag, Live: s.State == replica.Following}
			if !s.Success.IsZero() {
				l.LastSuccess = float64(s.Success.Unix())
			}
			lag = append(lag, l)
		}
		return lag
	})
	start()
	return nil
}
