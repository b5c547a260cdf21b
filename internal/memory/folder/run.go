package folder

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/nips/nipae"
)

// Memory is what is written to. Base is the hash of the text that is replaced,
// memory.BaseNone for none.
type Memory interface {
	Set(ctx context.Context, slug nipae.Slug, text, base string) (client.Entry, error)
	Remove(ctx context.Context, slug nipae.Slug, base string) error
}

const (
	workers  = 8   // writes to the memory at once
	together = 512 // steps between two savings of the state
)

// Run does what was planned.
type Run struct {
	Tree   *Tree
	State  *State
	Memory Memory
	// Echo has a file changed where the memory took its text otherwise: what it says of
	// its expiry is a claim.
	Echo bool
	// Did is told what became of each step, one at a time; nil tells nobody.
	Did func(Step)
	// before is called before each thing that lasts; a test ends the run there.
	before func(what string) error

	mu    sync.Mutex // of State, Did and dirty
	dirty bool       // State is not kept yet
}

// Do does the steps and keeps the state. What cannot be done is said in the step,
// and the rest goes on; the error ends the run.
func (r *Run) Do(ctx context.Context, steps []Step) error {
	r.Tree.tidy()
	r.dirty = len(r.State.Files) == 0 // that there was a first run is kept, too
	for from := 0; from < len(steps); from += together {
		batch := steps[from:min(from+together, len(steps))]
		if err := r.announce(batch); err != nil {
			return err
		}
		err := r.batch(ctx, batch)
		if r.dirty {
			err = errors.Join(err, r.save())
		}
		if err != nil {
			return err
		}
	}
	if r.dirty {
		return r.save()
	}
	return nil
}

func (r *Run) save() error {
	if err := r.point("save"); err != nil {
		return err
	}
	r.dirty = false
	return r.Tree.SaveState(r.State)
}

func (r *Run) point(what string) error {
	if r.before == nil {
		return nil
	}
	return r.before(what)
}

// announce notes what a batch will write, before it does.
func (r *Run) announce(batch []Step) error {
	writes := false
	for i := range batch {
		s := &batch[i]
		e := s.entry
		e.Slug, e.ToFolder, e.ToMemory = s.Slug, "", ""
		switch s.What {
		case ToFolder:
			e.ToFolder = s.unit.Hash
		case ToMemory:
			e.ToMemory = s.file.Hash
		default:
			continue
		}
		writes = true
		r.put(s, e)
	}
	if !writes {
		return nil
	}
	return r.save()
}

// put notes an entry under the step's path, where the file may have been renamed
// to.
func (r *Run) put(s *Step, e Entry) {
	r.dirty = true
	if s.was != s.Path {
		delete(r.State.Files, s.was)
	}
	r.State.Files[s.Path] = e
}

func (r *Run) batch(ctx context.Context, batch []Step) error {
	var running sync.WaitGroup
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan *Step)
	for range min(workers, len(batch)) {
		running.Go(func() {
			for s := range next {
				if err := r.step(ctx, s); err != nil {
					cancel(err)
				}
			}
		})
	}
	for i := range batch {
		if ctx.Err() != nil {
			break
		}
		next <- &batch[i]
	}
	close(next)
	running.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// step does one step. The error is for the whole run.
func (r *Run) step(ctx context.Context, s *Step) error {
	if ctx.Err() != nil {
		return nil // said once
	}
	e, err := r.do(ctx, s)
	if errors.Is(err, errEnd) || ctx.Err() != nil {
		return errors.Join(err, context.Cause(ctx))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case errors.Is(err, ErrChanged):
		s.What, s.Why = Left, err.Error()
	case err != nil:
		s.What, s.Why = Refused, err.Error()
	case s.What == RemoveFile || s.What == RemoveMemory || s.What == Forget:
		delete(r.State.Files, s.was)
		r.dirty = true
	case s.What != Left && e != s.entry:
		r.put(s, e)
	}
	if err != nil {
		r.back(s)
	}
	if r.Did != nil {
		r.Did(*s)
	}
	return nil
}

// back takes an announcement back that came to nothing. That of a write to the
// memory stays: a relay may have taken it though no answer came.
func (r *Run) back(s *Step) {
	if r.State.Files[s.Path].ToMemory != "" {
		return
	}
	r.dirty = true
	delete(r.State.Files, s.Path)
	if s.was != "" {
		r.State.Files[s.was] = s.entry
	}
}

// errEnd is a fault that ends a run, as if the process had been killed.
var errEnd = errors.New("ended")

// do does a step, and returns what is known of the file then.
func (r *Run) do(ctx context.Context, s *Step) (Entry, error) {
	e := s.entry
	same := func(hash, id string) Entry { return Entry{Slug: s.Slug, Hash: hash, ID: id} }
	switch s.What {
	case Left, Forget, Refused:
		return e, nil
	case Same:
		return same(s.unit.Hash, s.unit.ID), nil
	}
	if err := r.point(string(s.What) + " " + string(s.Slug)); err != nil {
		return e, err
	}
	switch s.What {
	case ToFolder:
		expect := s.file
		if expect == nil {
			expect = &File{}
		}
		return same(s.unit.Hash, s.unit.ID), r.Tree.replace(s.Path, []byte(s.unit.Text), expect)
	case RemoveFile:
		return e, r.Tree.remove(*s.file)
	case RemoveMemory:
		if !r.Tree.absent(s.Path) {
			return e, ErrChanged
		}
		return e, r.Memory.Remove(ctx, s.Slug, s.unit.Hash)
	case Conflict:
		return r.aside(s, s.unit.Text, s.unit.Hash)
	}
	return r.toMemory(ctx, s)
}

func (r *Run) toMemory(ctx context.Context, s *Step) (Entry, error) {
	text, err := r.Tree.text(*s.file)
	if err != nil {
		return s.entry, err
	}
	base := memory.BaseNone
	if s.unit != nil && !s.unit.Removed {
		base = s.unit.Hash
	}
	wrote, err := r.Memory.Set(ctx, s.Slug, text, base)
	if conflict := (*client.ConflictError)(nil); errors.As(err, &conflict) && !errors.Is(err, client.ErrClockPoisoned) {
		if conflict.Theirs == nil || conflict.Theirs.Tombstone {
			return s.entry, fmt.Errorf("%w: something else was written or removed there meanwhile", err)
		}
		s.What, s.Why = Conflict, "another machine wrote it meanwhile"
		return r.aside(s, conflict.Theirs.Text, conflict.Theirs.Hash)
	}
	if err != nil {
		return s.entry, err
	}
	if r.Echo && wrote.Text != text {
		err = r.Tree.replace(s.Path, []byte(wrote.Text), s.file)
	}
	return Entry{Slug: s.Slug, Hash: wrote.Hash, ID: wrote.ID}, err
}

// aside puts the memory's text beside the file.
func (r *Run) aside(s *Step, text, hash string) (Entry, error) {
	e := s.entry
	e.Slug, e.ToFolder, e.ToMemory = s.Slug, "", ""
	path := conflictPath(s.Path)
	there, err := r.Tree.hash(path)
	switch {
	case err != nil:
		return e, err
	case there == hash:
	case there == "":
		err = r.Tree.replace(path, []byte(text), &File{})
	case there == e.Conflict:
		err = r.Tree.replace(path, []byte(text), &File{Path: path, Hash: there})
	case e.Conflict != "": // somebody works on it
		return e, nil
	default:
		return e, fmt.Errorf("%s is in the way of the memory's text", path)
	}
	if err == nil {
		e.Conflict = hash
	}
	return e, err
}
