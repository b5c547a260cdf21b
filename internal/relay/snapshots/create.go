package snapshots

import (
	"context"
	"errors"
	"fmt"
	"time"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/notify"
	"engramd/internal/relay/store"
	"engramd/internal/snapshot"
	"engramd/internal/snapshot/bundle"
)

// CreateRequest asks for a bundle of an agent's memory.
type CreateRequest struct {
	Tenant, Agent string
	Label         string
	By            string // bundle.ByCLI, …
	// At is the instant to rebuild, by what had arrived; zero is now.
	At time.Time
	// CreatedAt is the time to give the bundle; zero is now. With At it makes
	// bundles of the same memory equal.
	CreatedAt time.Time
	// AllowEmpty makes a bundle also of no memory, which else is bundle.ErrEmpty.
	AllowEmpty bool
	// Recipients encrypt the bundle; nil stands for those of the settings, none in
	// it for no encryption.
	Recipients *bundle.Recipients
	// Parent is the id of the bundle that an incremental one adds to.
	Parent     string
	Identities bundle.Identities // open the parent
	Sign       bundle.Signer     // nil: the relay's identity, if there is one
	Keys       bundle.Keys       // nil: whether engrams decrypt is not checked
	Pin        bool
	Managed    string // Record.Managed of the bundle
}

// Created is a bundle that was made.
type Created struct {
	snapshot.Info
	Path string `json:"path"`
	// LeftOut counts stored events that no bundle can hold: they do not have the
	// shape of their kind, or are newer than a head that is no head.
	LeftOut int `json:"left_out,omitempty"`
}

// errUnchanged means that a bundle would hold the same heads as the last one.
var errUnchanged = errors.New("nothing changed")

// Create makes a bundle: of one read transaction, verified as it is written.
// Errors are those of bundle.Write; store.ErrNotCovered and ErrFuture about At,
// bundle.ErrEmpty.
func (s *Service) Create(ctx context.Context, q CreateRequest) (out Created, err error) {
	began := s.clock()
	defer func() { s.counted("create", began, err) }()
	err = s.locked(ctx, q.Tenant, q.Agent, func(l *snapshot.Lock) error {
		out, err = s.create(ctx, l, q, "")
		return err
	})
	return out, err
}

// create makes a bundle with the lock held, unless its heads have the root
// given: then it is errUnchanged.
func (s *Service) create(ctx context.Context, l *snapshot.Lock, q CreateRequest, unlike string) (Created, error) {
	o, err := s.bundleOptions(ctx, q)
	if err != nil {
		return Created{}, err
	}
	var out Created
	err = s.capture(ctx, q.Agent, q.At, func(v store.View) error {
		if o.AsOf.IsZero() {
			o.AsOf = s.clock()
		}
		src := &source{view: v, latest: bundle.Latest(o.AsOf).Unix()}
		if unlike != "" {
			root, err := src.root(ctx)
			if err != nil {
				return err
			}
			if root == unlike {
				return errUnchanged
			}
		}
		o.HistorySince = historySince(v.HistorySince(), o.AsOf)
		var info snapshot.Info
		var err error
		if o.CreatedAt.IsZero() {
			info, err = l.CreateAt(ctx, src, o, s.clock())
		} else {
			info, _, err = l.Create(ctx, src, o)
		}
		out = Created{Info: info, Path: info.Path, LeftOut: src.left()}
		return err
	})
	if err != nil {
		return Created{}, err
	}
	if q.Managed != "" {
		if err := l.Manage(out.ID, q.Managed); err != nil {
			return out, err
		}
		out.Managed = q.Managed
	}
	if q.Pin {
		if err := l.Pin(out.ID, true); err != nil {
			return out, err
		}
		out.Pinned = true
	}
	s.events.Created(notify.Created{
		Agent: out.Agent, Tenant: out.Tenant, ID: out.ID, Label: out.Label, CreatedBy: out.CreatedBy, Parent: out.Parent,
		Events: int(out.Events), Size: out.Size, SHA256: out.SHA256, Encrypted: out.Encrypted, Verified: out.Verified(),
	})
	return out, nil
}

// historySince returns what a manifest says: the beginning of the next day, so
// that it is the same for some time where history is kept for so many days, but
// no time to come.
func historySince(since int64, asOf time.Time) time.Time {
	if since <= 0 {
		return time.Time{}
	}
	const day = 24 * 60 * 60
	return time.Unix(min((since+day-1)/day*day, max(since, asOf.Unix())), 0)
}

// capture shows fn an agent's memory, at an instant unless it is zero.
func (s *Service) capture(ctx context.Context, agent string, at time.Time, fn func(store.View) error) error {
	q := store.CaptureQuery{Agent: agent}
	if !at.IsZero() {
		if at.After(s.clock()) {
			return fmt.Errorf("%s: %w", at.UTC().Format(time.RFC3339), ErrFuture)
		}
		q.At = new(at.Unix())
	}
	return s.store.Capture(ctx, gate.Operator(), q, fn)
}

func (s *Service) bundleOptions(ctx context.Context, q CreateRequest) (o bundle.Options, err error) {
	o = bundle.Options{
		Label: q.Label, CreatedBy: q.By, CreatedAt: q.CreatedAt, AsOf: q.At,
		Consistency: bundle.Transaction, Software: s.software, Sign: q.Sign, Keys: q.Keys,
		Recipients: s.settings.Load().Recipients, SomeEngrams: !q.AllowEmpty,
	}
	if o.Sign == nil {
		o.Sign = s.sign
	}
	if q.Recipients != nil {
		o.Recipients = *q.Recipients
	}
	if o.Schema, err = s.store.SchemaVersion(ctx); err != nil {
		return o, err
	}
	if q.Parent != "" {
		open := Which{Tenant: q.Tenant, Agent: q.Agent, ID: q.Parent, Identities: q.Identities, Keys: q.Keys}
		if o.Parent, err = s.open(ctx, open); err != nil {
			return o, fmt.Errorf("parent: %w", err)
		}
	}
	return o, nil
}
