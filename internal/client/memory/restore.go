package memory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"engramd/internal/client"
	"engramd/internal/platform/timeparse"
	"engramd/nips/nipae"
)

// When names a version of a record: by the id of its event, or as the one that
// was current at a time. With both, the time counts if no version has the id.
type When struct {
	ID   string // 64 lower-case hex digits, or the first 8 or more of them; "" for none
	Time int64  // Unix seconds, inclusive
}

// minPrefix is the length of the shortest part of an id that names a version.
const minPrefix = 8

// ParseWhen reads a When as people write it: an id or 8 or more of its first
// hex digits; Unix seconds, at most 12 digits (which may be the beginning of an
// id as well: then it is both); or a time as package when reads it. The error
// is ErrWhen.
func ParseWhen(s string, now time.Time) (When, error) {
	digits := len(s) >= minPrefix && len(s) <= 64 && strings.Trim(s, "0123456789abcdef") == ""
	at, err := timeparse.Parse(s, timeparse.At, now)
	switch {
	case err == nil && digits:
		return When{ID: s, Time: at.Unix()}, nil
	case err == nil:
		return When{Time: at.Unix()}, nil
	case digits:
		return When{ID: s}, nil
	}
	return When{}, fmt.Errorf("%w: want an event id, or a time: %w", client.ErrWhen, err)
}

// At returns the version of a record that a When names, out of those that Log
// would show. The errors are those of Log; ErrNotFound if every relay answered
// and shows no such version, ErrPartial if some failed; ErrTombstone, with the
// Entry, for a tombstone; ErrUnreadable for one that cannot be read; ErrWhen
// for part of an id that names several.
//
// A version from a time that the relays have dropped cannot be told from one
// that never was: the one found is the newest of those kept that are not newer
// than the time.
func (r *Reader) At(ctx context.Context, slug nipae.Slug, at When) (client.Entry, client.Status, error) {
	ctx, cancel := r.c.Operation(ctx)
	defer cancel()
	v, status, err := r.versionAt(ctx, slug, at)
	return v.Entry, status, err
}

func (r *reader) versionAt(ctx context.Context, slug nipae.Slug, when When) (Version, client.Status, error) {
	versions, status, err := r.log(ctx, slug)
	if err != nil {
		return Version{}, status, err
	}
	v, err := chosen(versions, when, status)
	return v, status, err
}

// chosen returns the version that a When names, with the errors of At.
func chosen(versions []Version, when When, status client.Status) (Version, error) {
	found, err := pick(versions, when)
	switch {
	case err != nil:
		return Version{}, err
	case found == nil && status.Partial:
		return Version{}, client.Failures(client.ErrPartial, status.Relays)
	case found == nil:
		return Version{}, client.ErrNotFound
	case found.Err != nil:
		return *found, fmt.Errorf("%w: %w", client.ErrUnreadable, found.Err)
	case found.Tombstone:
		return *found, client.ErrTombstone
	}
	return *found, nil
}

// Between returns two versions of a record out of those that Log would show:
// the one that the first When names and the one that the second names, else the
// current one; without any, the current one and the one before. A removal has
// an empty text, and so has what there was before the first version (an empty
// Entry). The errors are those of At, but not ErrTombstone.
func (r *Reader) Between(ctx context.Context, slug nipae.Slug, whens ...When) (from, to client.Entry, status client.Status, err error) {
	ctx, cancel := r.c.Operation(ctx)
	defer cancel()
	versions, status, err := r.log(ctx, slug)
	if err != nil {
		return from, to, status, err
	}
	readable := slices.DeleteFunc(slices.Clone(versions), func(v Version) bool { return v.Err != nil })
	to = readable[0].Entry // Log has an error if there is none
	if len(readable) > 1 {
		from = readable[1].Entry
	}
	for i, end := range []*client.Entry{&from, &to}[:len(whens)] {
		found, err := chosen(versions, whens[i], status)
		if err != nil && !errors.Is(err, client.ErrTombstone) {
			return from, to, status, err
		}
		*end = found.Entry
	}
	return from, to, status, nil
}

// pick finds a version among those of a log, nil if it is not there.
func pick(versions []Version, when When) (*Version, error) {
	var found *Version
	for i := range versions {
		if v := &versions[i]; when.ID != "" && strings.HasPrefix(v.ID, when.ID) {
			if found != nil {
				return nil, fmt.Errorf("%w: several versions begin with it", client.ErrWhen)
			}
			found = v
		}
	}
	if found != nil {
		return found, nil
	}
	if when.ID != "" && when.Time == 0 {
		for _, v := range versions {
			if v.Hash != "" && strings.HasPrefix(v.Hash, when.ID) {
				return nil, fmt.Errorf("%w: that is the hash of a text, and the version's id is %s", client.ErrWhen, v.ID)
			}
		}
		return nil, nil
	}
	for i := range versions {
		// What cannot be read was never current for a reader.
		if v := &versions[i]; v.CreatedAt <= when.Time && v.Err == nil {
			return v, nil
		}
	}
	return nil, nil
}

// Restore writes what an old version said, with all members of its body, as a
// new version, which expires when what is there does (again). check is that of
// SetOptions. The errors are those of At and of Set; a tombstone is not restored, Remove
// writes one.
func (m *Memory) Restore(ctx context.Context, slug nipae.Slug, when When, check func(old, text string) error) (client.Entry, client.Status, error) {
	if err := m.writable(); err != nil {
		return client.Entry{}, client.Status{}, err
	}
	ctx, cancel := m.c.Operation(ctx)
	defer cancel()
	looking, done := client.Part(ctx, 0.4)
	versions, status, err := m.log(looking, slug)
	done()
	if err != nil {
		return client.Entry{}, status, err
	}
	old, err := chosen(versions, when, status)
	if err != nil {
		return client.Entry{}, status, err
	}
	newer := versions[:slices.IndexFunc(versions, func(v Version) bool { return v.ID == old.ID })]
	dates := func(reading nipae.Reading) (at, was int64, err error) { return again(old, newer, reading, m.c.Now()) }
	return m.write(ctx, slug, SetOptions{OverUnreadable: true, Check: check, again: dates}, func(nipae.Reading) (nipae.Body, error) {
		return old.body, nil
	})
}
