package snapshots

import (
	"context"
	"errors"
	"fmt"
	"time"

	"engramd/internal/relay/notify"
	"engramd/internal/relay/store"
	"engramd/internal/snapshot"
	"engramd/internal/snapshot/bundle"
)

// RestoreRequest asks for a repair or a rollback.
type RestoreRequest struct {
	Which
	Mode snapshot.Mode // snapshot.Repair or snapshot.Rollback
	// NoPre leaves out the snapshot of the state before.
	NoPre bool
	// AllowUnsigned takes a bundle that nobody who is trusted signed, AllowEmpty
	// rolls back to one without memory.
	AllowUnsigned, AllowEmpty bool
	// Managed is Record.Managed of that snapshot. Then it is made also where
	// there is nothing to keep, and what is in the bundle makes no difference to
	// the answer.
	Managed string
}

// Restored reports what a restore did.
type Restored struct {
	ID     string        `json:"id"`
	Tenant string        `json:"tenant"`
	Agent  string        `json:"agent"`
	Mode   snapshot.Mode `json:"mode"`
	// PreSnapshot is the id of the bundle of the state before, if one was made,
	// and PrePath its file, which is in the folder of the process that does the
	// work.
	PreSnapshot string `json:"pre_snapshot,omitempty"`
	PrePath     string `json:"pre_snapshot_path,omitempty"`
	// Quarantine is the name under which a rollback put what it took away; empty
	// if it took nothing.
	Quarantine string `json:"quarantine,omitempty"`

	store.Restored
	// Skipped counts events that this relay refuses from everybody, by reason: a
	// request to vanish that is addressed to other relays, for example.
	Skipped map[string]int64 `json:"skipped,omitempty"`
}

// Restore verifies a bundle as a whole, keeps the state before in a bundle of
// its own, stages the events and switches them in: readers see the old state or
// the new one. Nothing is changed unless the error is nil; running it again has
// the same result. The error is bundle.ErrInvalid with the checks at fault,
// bundle.ErrUntrusted, ErrNotAllowed, ErrPartial or ErrEmpty for a rollback.
func (s *Service) Restore(ctx context.Context, q RestoreRequest) (out Restored, err error) {
	began := s.clock()
	defer func() { s.counted(string(q.Mode), began, err) }()
	if err := s.allowed(q.Mode); err != nil {
		return out, err
	}
	err = s.locked(ctx, q.Tenant, q.Agent, func(l *snapshot.Lock) error {
		b, err := s.open(ctx, q.Which)
		if err != nil {
			return err
		}
		if err := errors.Join(unfit(b, q)...); err != nil {
			return err
		}
		out, err = s.restore(ctx, l, b, q)
		return err
	})
	if err != nil {
		return Restored{}, err
	}
	s.tell(out)
	return out, nil
}

// tell reports a restore to the log and the broker.
func (s *Service) tell(out Restored) {
	s.log.Info("snapshot restored", "mode", string(out.Mode), "stored", out.Stored+out.Replaced, "present", out.Present, "quarantined", out.Quarantined)
	s.events.Restored(notify.Restored{Agent: out.Agent, Tenant: out.Tenant, ID: out.ID, Mode: string(out.Mode), PreSnapshot: out.PreSnapshot,
		Written: int(out.Stored + out.Replaced), Quarantined: int(out.Quarantined)})
}

// allowed reports whether the configuration allows a mode.
func (s *Service) allowed(m snapshot.Mode) error {
	switch {
	case m != snapshot.Repair && m != snapshot.Rollback:
		return fmt.Errorf("mode %.40q: the operator repairs or rolls back", m)
	case m == snapshot.Rollback && !s.settings.Load().RestoreAllow:
		if s.process != "" {
			return fmt.Errorf("%w: %s", ErrNotAllowed, s.process)
		}
		return ErrNotAllowed
	}
	return nil
}

// unfit returns why a bundle that verifies does not fit a request.
func unfit(b *bundle.Bundle, q RestoreRequest) (why []error) {
	if !b.Report.Trusted && !q.AllowUnsigned {
		why = append(why, fmt.Errorf("signature: %s: %w: its time, its tenant and that it is complete are nobody's word; --trust KEY trusts a signer, --allow-unsigned goes without",
			b.Report.Check(bundle.CheckSignature).Reason, bundle.ErrUntrusted))
	}
	if q.Mode != snapshot.Rollback {
		return why
	}
	if !b.Manifest.Whole() {
		why = append(why, ErrPartial)
	}
	if b.Manifest.Empty() && !q.AllowEmpty && q.Managed == "" {
		why = append(why, ErrEmpty)
	}
	return why
}

// Refusals returns all reasons for which Restore would refuse; none if it would
// not.
func (s *Service) Refusals(ctx context.Context, q RestoreRequest) (why []error) {
	if err := s.allowed(q.Mode); err != nil {
		why = append(why, err)
	}
	b, err := s.open(ctx, q.Which)
	if err != nil {
		return append(why, err)
	}
	return append(why, unfit(b, q)...)
}

func (s *Service) restore(ctx context.Context, l *snapshot.Lock, b *bundle.Bundle, q RestoreRequest) (Restored, error) {
	out := Restored{ID: b.ID, Tenant: q.Tenant, Agent: q.Agent, Mode: q.Mode}
	b.Release()
	freeMemory()
	o := store.RestoreOptions{Mode: store.Repair, Agent: q.Agent, AsOf: b.Manifest.AsOf.Unix()}
	if q.Mode == snapshot.Rollback {
		o.Mode, o.Name = store.Rollback, quarantineName(s.clock(), "from-"+b.ID)
	}
	if !q.NoPre {
		pre, err := s.before(ctx, l, b, q)
		if err != nil {
			return out, fmt.Errorf("the snapshot of the state before: %w", err)
		}
		out.PreSnapshot, out.PrePath = pre.ID, pre.Path
		freeMemory()
	}
	done, err := s.switchIn(ctx, o, func(r store.Restoration) (err error) {
		out.Skipped, err = s.stage(ctx, r, b)
		return err
	})
	if err != nil {
		return out, err
	}
	if out.Restored = done; out.Quarantined > 0 {
		out.Quarantine = o.Name
	}
	return out, nil
}

// switchIn stages events and switches them in.
func (s *Service) switchIn(ctx context.Context, o store.RestoreOptions, stage func(store.Restoration) error) (done store.Restored, err error) {
	r, err := s.store.BeginRestore(o)
	if err != nil {
		return done, err
	}
	if err = stage(r); err == nil {
		done, err = r.Switch(ctx)
	}
	if err != nil {
		// Staged events are dropped even if nobody waits any more.
		if dropped := r.Drop(context.WithoutCancel(ctx)); dropped != nil {
			s.log.Warn("what was staged for a restore stays until the next start", "err", dropped)
		}
	}
	return done, err
}

// quarantineName names what a rollback to a bundle, or a replacement, takes
// away.
func quarantineName(now time.Time, of string) string {
	return now.UTC().Format("20060102T150405.000Z") + "-" + of
}

// before keeps the state before a restore of b, if there is any, and if
// anything is to be repaired. It is encrypted as the settings say, else for
// those who can read b.
func (s *Service) before(ctx context.Context, l *snapshot.Lock, b *bundle.Bundle, q RestoreRequest) (Created, error) {
	recipients := s.settings.Load().Recipients
	if recipients.Empty() {
		var err error
		if recipients, err = bundle.ParseRecipients(b.Manifest.Recipients); err != nil {
			return Created{}, err
		}
	}
	unlike := ""
	if q.Mode == snapshot.Repair && q.Managed == "" {
		unlike = b.Manifest.HeadsRoot
	}
	pre, err := s.create(ctx, l, CreateRequest{
		Tenant: q.Tenant, Agent: q.Agent, Label: "auto:pre-restore-" + b.ID, By: bundle.ByAutoPreRestore, Recipients: &recipients,
		Managed: q.Managed, AllowEmpty: q.Managed != "",
	}, unlike)
	if errors.Is(err, errUnchanged) || errors.Is(err, bundle.ErrEmpty) {
		return Created{}, nil
	}
	return pre, err
}

// stage hands the bundle's events to the store, without what the relay refuses
// from everybody, which it counts by reason.
func (s *Service) stage(ctx context.Context, r store.Restoration, b *bundle.Bundle) (map[string]int64, error) {
	skipped := map[string]int64{}
	for _, class := range bundle.Classes() {
		err := b.Events(ctx, class, func(json []byte) error {
			ev, err := bundle.ParseEvent(json)
			if err != nil {
				return err
			}
			if reject, why := s.rules(ctx, ev); reject {
				skipped[why]++
				return nil
			}
			return r.Add(ctx, store.Part(class), ev)
		})
		if err != nil {
			return nil, err
		}
	}
	return skipped, nil
}

// Plan says what a restore would do.
type Plan struct {
	ID      string            `json:"id"`
	Tenant  string            `json:"tenant"`
	Agent   string            `json:"agent"`
	Mode    snapshot.Mode     `json:"mode"`
	DryRun  bool              `json:"dry_run"` // true
	Actions []snapshot.Action `json:"plan"`
	Refused []string          `json:"refused,omitempty"` // why Restore would not do it
}

// Plan verifies a bundle as Restore does and says what Restore would do to the
// agent's memory as it is, by address, with the keys of the request by slug and
// line by line. It needs no lock and changes nothing. Refusals says why Restore
// would refuse.
func (s *Service) Plan(ctx context.Context, q RestoreRequest) (Plan, error) {
	b, err := s.open(ctx, q.Which)
	if err != nil {
		return Plan{}, err
	}
	then, err := snapshot.ReadHeads(ctx, b, q.Agent, q.Keys)
	if err != nil {
		return Plan{}, err
	}
	p := Plan{ID: b.ID, Tenant: q.Tenant, Agent: q.Agent, Mode: q.Mode, DryRun: true}
	err = s.capture(ctx, q.Agent, time.Time{}, func(v store.View) error {
		src := &source{view: v, latest: bundle.Latest(s.clock()).Unix()}
		now, err := snapshot.ReadHeads(ctx, src, q.Agent, q.Keys)
		if err != nil {
			return err
		}
		if p.Actions, err = snapshot.Plan(q.Mode, then, now); err != nil || q.Keys == nil {
			return err
		}
		changes := snapshot.Changes(p.Actions)
		if err := snapshot.AddLines(ctx, changes, src, b, q.Agent, q.Keys); err != nil {
			return err
		}
		snapshot.AddPlanLines(p.Actions, changes)
		return nil
	})
	if p.Actions == nil {
		p.Actions = []snapshot.Action{}
	}
	return p, err
}
