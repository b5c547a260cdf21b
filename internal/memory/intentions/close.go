package intentions

import (
	"errors"
	"fmt"
	"time"

	"engramd/nips/frontmatter"
)

var (
	// ErrClosed is an intention, or an occurrence of one, that was closed before.
	ErrClosed = errors.New("it is closed already")
	// ErrNotOpen is an intention of which nothing has begun yet.
	ErrNotOpen = errors.New("nothing of it is open")
	// ErrWhen is a time that fits nothing.
	ErrWhen = errors.New("not a time for this intention")
)

// Closing is what becomes of an intention.
type Closing struct {
	Changes []frontmatter.Change
	Next    time.Time // when it is open again; zero: it has ended
}

// By says who closes an intention, and when.
type By struct {
	Now time.Time
	Who string // as units name their source
	// Act is drawn for each closing: two who close the same in one second do not
	// write the same text, which would tell both that they were the first.
	Act string
}

// Done closes what is open, with all that was missed, and moves due to the first
// occurrence after now. occurrence names the one that is meant, as it was shown; zero
// is the one that is open. One that is named may be closed before it begins. Errors
// are ErrClosed, ErrNotOpen and ErrWhen.
func (i *Intention) Done(by By, occurrence time.Time) (Closing, error) {
	if err := i.closable(by.Now, occurrence); err != nil {
		return Closing{}, err
	}
	c := Closing{Changes: []frontmatter.Change{by.closed("done"), frontmatter.Remove(keySnoozed)}}
	s := i.series()
	next, more := time.Time{}, false
	if !i.Due.IsZero() {
		// A clock that went back still closes what was shown.
		next, more = s.after(later(later(by.Now, occurrence), i.Due))
	}
	if !more {
		c.Changes = append(c.Changes, frontmatter.Set(keyState, frontmatter.String(string(frontmatter.Done))))
		return c, nil
	}
	c.Next = next
	c.Changes = append(c.Changes, frontmatter.Set(keyDue, i.written(next)))
	if i.Every.Months > 0 && i.Every.Seconds == 0 && next.Day() != s.anchor.Day() {
		c.Changes = append(c.Changes, frontmatter.Set(keyFirst, i.written(s.anchor)))
	} else {
		c.Changes = append(c.Changes, frontmatter.Remove(keyFirst))
	}
	return c, nil
}

// closable reports why something cannot be closed.
func (i *Intention) closable(now, occurrence time.Time) error {
	switch {
	case i.State != frontmatter.Active:
		return i.told(ErrClosed)
	case i.Due.IsZero() && !occurrence.IsZero():
		return fmt.Errorf("%w: it has no due", ErrWhen)
	case i.Due.IsZero():
		return nil
	case occurrence.IsZero() && i.Due.After(now) && i.Closed != "":
		return i.told(ErrClosed)
	case occurrence.IsZero() && i.Due.After(now):
		return fmt.Errorf("%w: it is due at %s", ErrNotOpen, i.Due.Format(time.RFC3339))
	case occurrence.IsZero():
		return nil
	case occurrence.Before(i.Due):
		return i.told(ErrClosed)
	}
	if s := i.series(); !s.has(occurrence) && !occurrence.Equal(i.Due) {
		return fmt.Errorf("%w: none of its occurrences is at %s", ErrWhen, occurrence.Format(time.RFC3339))
	}
	return nil
}

// told adds to an error who closed it, and when it is due again.
func (i *Intention) told(err error) error {
	if i.Closed != "" {
		err = fmt.Errorf("%w: %s", err, i.Closed)
	}
	if i.State == frontmatter.Active && !i.Due.IsZero() {
		err = fmt.Errorf("%w; it is due again at %s", err, i.Due.Format(time.RFC3339))
	}
	return err
}

// Snooze hides what is open until a time to come. Errors are those of Done.
func (i *Intention) Snooze(by By, until time.Time) (Closing, error) {
	if err := i.closable(by.Now, time.Time{}); err != nil && !(errors.Is(err, ErrNotOpen) && i.Trigger != "") {
		return Closing{}, err
	}
	if until = until.Truncate(time.Second); !until.After(by.Now) || until.UTC().Year() > lastYear {
		return Closing{}, fmt.Errorf("%w: %s is not to come", ErrWhen, until.Format(time.RFC3339))
	}
	return Closing{Changes: []frontmatter.Change{frontmatter.Set(keySnoozed, stamp(until))}, Next: until}, nil
}

// Cancel ends an intention that was not done. The error is ErrClosed.
func (i *Intention) Cancel(by By) (Closing, error) {
	if i.State != frontmatter.Active {
		return Closing{}, i.told(ErrClosed)
	}
	return Closing{Changes: []frontmatter.Change{by.closed("cancelled"), frontmatter.Remove(keySnoozed), frontmatter.Set(keyState, frontmatter.String(string(frontmatter.Done)))}}, nil
}

// maxWho is how much of a source is named, in characters.
const maxWho = 80

func (by By) closed(what string) frontmatter.Change {
	line := what + " " + by.Now.UTC().Format(time.RFC3339)
	if who := short(frontmatter.OneLine(by.Who), maxWho); who != "" {
		line += " by " + who
	}
	if by.Act != "" {
		line += ", " + by.Act
	}
	return frontmatter.Set(keyClosed, frontmatter.String(line))
}

// written is a time as due has it: a day if due is one and the period counts days.
func (i *Intention) written(t time.Time) frontmatter.Value {
	if i.Day && i.Every.Seconds%day == 0 {
		return frontmatter.Moment{Time: t, Day: true}.Value()
	}
	return stamp(t)
}

// stamp is a time with its offset, which frontmatter.At does not keep.
func stamp(t time.Time) frontmatter.Value { return frontmatter.Moment{Time: t}.Value() }
