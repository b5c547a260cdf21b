package bundle

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"time"

	"engramd/internal/protocol/wire"
	"engramd/nips/nipae"
)

const (
	batchLines = 256
	batchBytes = 1 << 20
	// maxMalformed is how many lines that are no events are read in a bundle
	// before reading ends.
	maxMalformed = 1_000
)

// ahead is how far after the instant of a bundle its events may be dated:
// clocks differ, and relays take no more.
const ahead = 15 * time.Minute

// Latest returns the latest time that an event may bear in a bundle as of an
// instant.
func Latest(asOf time.Time) time.Time { return asOf.Add(ahead) }

// judged is what one line turned out to be.
type judged struct {
	line      []byte
	rec       *record // nil if it is no event
	shape     error   // why it is none
	canonical error
	signature error
	declared  error
	envelope  error
	key       bool // there is a key for it
	decrypt   error
	engram    nipae.Engram // if key, and decrypt is nil
}

// readEvents checks the lines of an artifact of events. Errors are those of
// reading only.
func (v *verifier) readEvents(lines *lineReader, class Class) error {
	var previous []byte
	for n := 1; ; {
		batch, err := readBatch(lines)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if err := v.ctx.Err(); err != nil {
			return err
		}
		v.judge(batch, class)
		for _, j := range batch {
			previous = v.take(j, class, previous, n)
			n++
		}
		if err != nil {
			return nil
		}
		if v.malformed > maxMalformed {
			return fmt.Errorf("%w: more than %d lines are no events: %w", errLine, maxMalformed, ErrLimit)
		}
	}
}

// readBatch reads some lines; io.EOF with the last.
func readBatch(lines *lineReader) ([]*judged, error) {
	var batch []*judged
	for size := 0; len(batch) < batchLines && size < batchBytes; {
		line, err := lines.next()
		if err != nil {
			return batch, err
		}
		batch = append(batch, &judged{line: bytes.Clone(line)})
		size += len(line)
	}
	return batch, nil
}

// judge makes the checks that need one event only, on all processors.
func (v *verifier) judge(batch []*judged, class Class) {
	var wg sync.WaitGroup
	workers := min(runtime.GOMAXPROCS(0), len(batch))
	for w := range workers {
		wg.Go(func() {
			for i := w; i < len(batch); i += workers {
				v.judgeOne(batch[i], class)
			}
		})
	}
	wg.Wait()
}

// judgeOne runs concurrently and must not change v.
func (v *verifier) judgeOne(j *judged, class Class) {
	r, err := parseRecord(j.line)
	if err != nil {
		j.shape = err
		return
	}
	j.rec = r
	if !bytes.Equal(wire.AppendEvent(make([]byte, 0, len(j.line)), r.ev), j.line) {
		j.canonical = errNotCanonical
	}
	m := v.report.Manifest
	j.signature = wire.Verify(r.ev)
	j.declared = r.belongs(class, m.Agent)
	j.envelope = CheckShape(r.ev)
	if r.ev.Kind != nipae.Kind {
		return
	}
	if _, ok := slices.BinarySearch(m.Owners, r.owner()); !ok && j.declared == nil {
		j.declared = fmt.Errorf("its owner %.80q is not one of the manifest's", r.owner())
	}
	if v.o.Keys == nil || j.signature != nil {
		return
	}
	k, ok := v.o.Keys(m.Agent, r.owner())
	if j.key = ok; ok {
		j.engram, j.decrypt = nipae.Open(k, m.Agent, r.owner(), r.ev)
	}
}

// take counts what was found out about line n and makes the checks that need
// the events before it. It returns the line's sort key.
func (v *verifier) take(j *judged, class Class, previous []byte, n int) []byte {
	v.read++
	at := func(err error) error {
		if j.rec == nil {
			return fmt.Errorf("line %d of %s: %w", n, class.Path(), err)
		}
		return fmt.Errorf("event %s in line %d of %s: %w", j.rec.ev.ID, n, class.Path(), err)
	}
	if j.rec == nil {
		v.malformed++
		v.events.fail(at(j.shape))
		return previous
	}
	key := j.rec.appendKey(nil)
	if previous != nil && bytes.Compare(previous, key) >= 0 {
		v.order.fail(at(errors.New("not in order, or there twice")))
	} else if j.canonical != nil {
		v.order.fail(at(j.canonical))
	}
	for _, c := range []struct {
		t   *tally
		err error
	}{{&v.events, j.signature}, {&v.declared, j.declared}, {&v.envelopes, j.envelope}, {&v.decrypts, j.decrypt}} {
		if c.err != nil {
			c.t.fail(at(c.err))
		}
	}
	if m := v.report.Manifest; time.Unix(int64(j.rec.ev.CreatedAt), 0).After(Latest(m.AsOf)) {
		v.late.fail(at(fmt.Errorf("dated %s, more than %v after the instant of the snapshot, %s",
			time.Unix(int64(j.rec.ev.CreatedAt), 0).UTC().Format(time.RFC3339), ahead, m.AsOf.Format(time.RFC3339))))
	}
	if j.rec.ev.Kind == nipae.Kind {
		if i, ok := slices.BinarySearch(v.report.Manifest.Owners, j.rec.owner()); ok {
			v.owners[i] = true
		}
		if j.key {
			v.decrypted++
			if v.o.Engram != nil && j.decrypt == nil {
				v.o.Engram(class, j.engram)
			}
		} else {
			v.foreign++
		}
	}
	if j.declared == nil {
		added, err := v.state.add(j.rec, class)
		if err != nil {
			v.heads.fail(at(err))
		} else if !added {
			v.declared.fail(at(errors.New("the parent has it already")))
		}
	}
	return key
}

// readGone checks the list of what the parents had and is no more.
func (v *verifier) readGone(lines *lineReader) error {
	const path = gone + ".jsonl"
	var previous []byte
	for n := 1; ; n++ {
		line, err := lines.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		id, ok := parseGone(line)
		if !ok {
			v.events.fail(fmt.Errorf("line %d of %s: not {\"id\":\"…\"}", n, path))
			if v.malformed++; v.malformed > maxMalformed {
				return fmt.Errorf("%w: more than %d lines are malformed: %w", errLine, maxMalformed, ErrLimit)
			}
			continue
		}
		if bytes.Compare(previous, line) >= 0 {
			v.order.fail(fmt.Errorf("line %d of %s: not in order, or there twice", n, path))
			continue
		}
		previous = bytes.Clone(line)
		if v.based {
			if err := v.state.remove(id); err != nil {
				v.heads.fail(err)
			}
		}
	}
}
