package bundle

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"engramd/internal/protocol/wire"
	"engramd/nips/nipae"
)

// ErrSource means that a Source gave what no bundle of the agent may hold.
var ErrSource = errors.New("not memory of the agent")

// Options says what Write makes.
type Options struct {
	Tenant string // DefaultTenant if empty
	Agent  string // public key, hex
	Label  string
	// CreatedAt is the time to give the bundle, AsOf the instant that the
	// Source shows (CreatedAt if zero), HistorySince from when on its history is
	// complete (zero: not known). All are cut to whole seconds. Events that are
	// dated later than Latest(AsOf) have no place in it.
	CreatedAt, AsOf, HistorySince time.Time
	CreatedBy                     string // ByCLI, …
	Consistency                   string // Transaction, …
	Software                      string
	Schema                        int64
	// Parent makes an incremental bundle: what it has is left out.
	Parent     *Bundle
	Recipients Recipients // none: not encrypted
	Sign       Signer     // nil: no manifest.sig
	Keys       Keys       // nil: whether engrams decrypt is not checked
	Limits     Limits
	// SomeEngrams makes a source without an engram ErrEmpty.
	SomeEngrams bool
	// Before, if not nil, is shown what was written and verified before it gets
	// its name; its error ends it.
	Before func(*Written) error
}

// Written is what Write made.
type Written struct {
	ID, Path  string
	Encrypted bool
	Size      int64
	SHA256    string // of the file, hex
	Manifest  *Manifest
	// Report is on what was written, read again before encryption.
	Report *Report
}

// Write makes a bundle of what the source gives and puts it into dir, which
// must exist, as FileName(id), with the .sha256 file beside it: written to a
// staging folder in dir, verified on its way, synced, renamed. A failure leaves
// nothing behind.
//
// The error is ErrSource if the source gives anything but memory of the agent,
// ErrInvalid if what was written does not verify (a head that its own history
// supersedes, say), fs.ErrExist if dir has a bundle of that id.
func Write(ctx context.Context, dir string, src Source, o Options) (*Written, error) {
	w, err := newWriter(dir, o)
	if err != nil {
		return nil, err
	}
	defer w.close()
	if err := w.collect(ctx, src); err != nil {
		return nil, err
	}
	manifestJSON, err := w.seal()
	if err != nil {
		return nil, err
	}
	out := &Written{
		ID:        ManifestID(w.manifest.CreatedAt, manifestJSON),
		Encrypted: !o.Recipients.Empty(),
		Manifest:  w.manifest,
	}
	out.Path = filepath.Join(dir, FileName(out.ID, out.Encrypted))
	if _, there := In(dir, out.ID); there {
		return nil, fmt.Errorf("snapshot %s: %w", out.ID, fs.ErrExist)
	}
	if err := w.pack(ctx, out, manifestJSON); err != nil {
		return nil, err
	}
	if o.Before != nil {
		if err := o.Before(out); err != nil {
			return nil, err
		}
	}
	return out, w.publish(dir, out)
}

// writer is a bundle in the making.
type writer struct {
	o        Options
	staging  *Staging
	manifest *Manifest
	state    *State
	owners   map[string]bool
	sorters  [classes]*sorter
	gone     [][32]byte
}

func newWriter(dir string, o Options) (*writer, error) {
	if o.Tenant == "" {
		o.Tenant = DefaultTenant
	}
	if o.AsOf.IsZero() {
		o.AsOf = o.CreatedAt
	}
	o.Limits = o.Limits.withDefaults()
	m := &Manifest{
		Format: Format, Tenant: o.Tenant, Agent: o.Agent, Label: o.Label,
		CreatedAt: seconds(o.CreatedAt), AsOf: seconds(o.AsOf), HistorySince: seconds(o.HistorySince),
		CreatedBy: o.CreatedBy, Consistency: o.Consistency, Software: o.Software, Schema: o.Schema,
		Owners: []string{}, Recipients: o.Recipients.Names(),
	}
	for _, err := range []error{CheckTenant(m.Tenant), CheckAgent(m.Agent), CheckLabel(m.Label), m.checkOrigin()} {
		if err != nil {
			return nil, err
		}
	}
	w := &writer{o: o, manifest: m, owners: map[string]bool{}, state: newState()}
	if p := o.Parent; p != nil {
		if p.Manifest.Tenant != m.Tenant || p.Manifest.Agent != m.Agent {
			return nil, fmt.Errorf("parent %s is of tenant %s and agent %s: %w", p.ID, p.Manifest.Tenant, p.Manifest.Agent, ErrSource)
		}
		m.Parent, w.state = p.ID, p.state.child()
	}
	staging, err := NewStaging(dir)
	if err != nil {
		return nil, err
	}
	w.staging = staging
	for c := range w.sorters {
		w.sorters[c] = &sorter{spool: staging.Path(Class(c).Path())}
	}
	return w, nil
}

func seconds(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return time.Unix(t.Unix(), 0).UTC()
}

func (w *writer) close() {
	for _, s := range w.sorters {
		s.close()
	}
	w.staging.Close()
}

// collect takes all events in, heads before history: what a parent had as head
// and is superseded now needs not be listed again.
func (w *writer) collect(ctx context.Context, src Source) error {
	for _, class := range []Class{Heads, Relays, Contracts, History, Deletions} {
		err := src.Events(ctx, class, func(b []byte) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return w.take(class, b)
		})
		if err != nil {
			return fmt.Errorf("read %s: %w", class, err)
		}
		if err := w.sorters[class].finish(); err != nil {
			return err
		}
	}
	w.gone = w.state.unseen()
	if w.o.Parent != nil {
		for _, id := range w.gone {
			if err := w.state.remove(id); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *writer) take(class Class, b []byte) error {
	r, err := parseRecord(b)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSource, err)
	}
	if err := r.belongs(class, w.manifest.Agent); err != nil {
		return fmt.Errorf("%w: %w", ErrSource, err)
	}
	if owner := r.owner(); r.ev.Kind == nipae.Kind && !w.owners[owner] {
		if len(w.owners) == maxOwners {
			return fmt.Errorf("more than %d owners: %w", maxOwners, ErrLimit)
		}
		w.owners[strings.Clone(owner)] = true // not with the event it is a part of
	}
	added, err := w.state.take(r, class)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSource, err)
	}
	if w.state.Len() > w.o.Limits.Events {
		return fmt.Errorf("more than %d events: %w", w.o.Limits.Events, ErrLimit)
	}
	if !added {
		return nil
	}
	line := wire.AppendEvent(make([]byte, 0, len(b)), r.ev)
	if len(line) > w.o.Limits.Line {
		return fmt.Errorf("event %s is larger than %d bytes: %w", r.ev.ID, w.o.Limits.Line, ErrLimit)
	}
	return w.sorters[class].add(r.appendKey(nil), line)
}

// lines calls fn with the lines of an artifact in order.
func (w *writer) lines(kind string, fn func(line []byte) error) error {
	if kind == gone {
		for _, id := range w.gone {
			if err := fn(goneLine(id)); err != nil {
				return err
			}
		}
		return nil
	}
	return w.sorters[slices.Index(classNames[:], kind)].each(fn)
}

// goneLine returns a line of gone.jsonl.
func goneLine(id [32]byte) []byte { return fmt.Appendf(nil, `{"id":"%x"}`, id) }

// parseGone reads what goneLine wrote.
func parseGone(line []byte) (id [32]byte, ok bool) {
	const before, after = `{"id":"`, `"}`
	if len(line) != len(before)+64+len(after) {
		return id, false
	}
	if _, err := hex.Decode(id[:], line[len(before):len(line)-len(after)]); err != nil {
		return id, false
	}
	return id, bytes.Equal(line, goneLine(id))
}

// seal fills in what the manifest says of the events.
func (w *writer) seal() ([]byte, error) {
	m := w.manifest
	m.Owners = append(m.Owners, slices.Sorted(maps.Keys(w.owners))...)
	for _, kind := range artifactKinds(m.Incremental()) {
		a := Artifact{Path: kind + ".jsonl", Kind: kind}
		h := sha256.New()
		err := w.lines(kind, func(line []byte) error {
			h.Write(line)
			h.Write([]byte{'\n'})
			a.Count++
			a.Size += int64(len(line)) + 1
			return nil
		})
		if err != nil {
			return nil, err
		}
		a.SHA256 = hex.EncodeToString(h.Sum(nil))
		m.Artifacts = append(m.Artifacts, a)
	}
	root := w.state.root()
	m.HeadsRoot = hex.EncodeToString(root[:])
	m.Kind = m.KindOf(m.Empty())
	if m.Kind == KindEmpty && w.o.SomeEngrams {
		return nil, ErrEmpty
	}
	w.state = nil // the check of what is written makes its own
	m.BundleSHA256 = m.Seal()
	return m.Encode()
}
