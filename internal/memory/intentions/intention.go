package intentions

import (
	"fmt"
	"strings"
	"time"

	"engramd/nips/frontmatter"
)

// The keys of front matter that only intentions have, and that this package
// writes. first stands beside a due that is the last day of a short month, so that
// the series finds its day again; closed says what was last done, when and by whom.
const (
	keyDue     = "due"
	keyEvery   = "every"
	keyUntil   = "until"
	keySnoozed = "snoozed"
	keyFirst   = "first"
	keyClosed  = "closed"
	keyState   = "state"
)

// maxTrigger is how much of a trigger is compared, in bytes.
const maxTrigger = 512

// Intention is what a unit of type prospective says of when it matters.
type Intention struct {
	Slug, Title            string
	Action, Trigger, Where string
	Closed                 string // what was last done, when and by whom
	Trust                  frontmatter.Trust
	State                  frontmatter.State
	Due                    time.Time // in its own offset; zero: none
	Day                    bool      // due names a day: it begins at 0:00 UTC
	Every                  Period
	Until, Snoozed         time.Time // zero: none
	// Faults are what cannot be read. It is left out, so that the intention shows
	// rather too early than never.
	Faults []string

	first time.Time
}

// How much of a title, and of what was last done, is shown, in characters.
const (
	maxTitle  = 120
	maxClosed = 160
)

// short cuts a line to that many characters.
func short(line string, most int) string {
	if runes := []rune(line); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return line
}

// Read takes an intention from a unit; ok says that it is one.
func Read(slug string, d frontmatter.Doc) (i Intention, ok bool) {
	f := d.Fields()
	if f.Type != frontmatter.Prospective {
		return i, false
	}
	i = Intention{Slug: slug, Title: d.Heading(maxTitle), Action: strings.TrimSpace(f.Action), Where: frontmatter.OneLine(f.Where),
		Trigger: strings.ToValidUTF8(f.Trigger[:min(len(f.Trigger), maxTrigger)], ""), Trust: f.Trust, State: f.State}
	i.Trigger = frontmatter.OneLine(i.Trigger)
	if f.Trust > frontmatter.External { // errors repeat it
		i.Closed = short(frontmatter.OneLine(text(d, keyClosed)), maxClosed)
	}
	i.Due, i.Day = i.moment(d, keyDue)
	var whole bool
	if i.Until, whole = i.moment(d, keyUntil); whole {
		// The whole day, where the intention counts its days.
		y, m, n := i.Until.Date()
		i.Until = time.Date(y, m, n, 23, 59, 59, 0, i.zone())
	}
	i.Snoozed, _ = i.moment(d, keySnoozed)
	i.first, _ = i.moment(d, keyFirst)
	i.every(d)
	if i.Where == whereProject && !ofProject(slug) {
		i.fault("where: it names no project")
	}
	return i, true
}

func (i *Intention) fault(format string, args ...any) {
	i.Faults = append(i.Faults, fmt.Sprintf(format, args...))
}

// zone is that in which the intention counts its days.
func (i *Intention) zone() *time.Location {
	if i.Due.IsZero() {
		return time.UTC
	}
	return i.Due.Location()
}

func text(d frontmatter.Doc, key string) string {
	v, _ := d.Value(key)
	s, _ := v.Scalar()
	return s
}

// moment reads a time with its offset, which frontmatter.Fields does not keep.
func (i *Intention) moment(d frontmatter.Doc, key string) (t time.Time, whole bool) {
	if _, ok := d.Value(key); !ok {
		return t, false
	}
	written := text(d, key)
	m, ok := frontmatter.ParseMoment(written)
	switch {
	case !ok:
		i.fault("%s: it must be a day (2006-01-02) or a time (2006-01-02T15:04:05+01:00)", key)
		return t, false
	case m.Day:
		return m.Time, true
	}
	if t, err := time.Parse(time.RFC3339, written); err == nil {
		_, offset := t.Zone()
		zone := time.UTC
		if offset != 0 {
			zone = time.FixedZone("", offset) // not the machine's own, even if it is the same now
		}
		return t.In(zone).Truncate(time.Second), false
	}
	return m.Time, false
}

func (i *Intention) every(d frontmatter.Doc) {
	if _, ok := d.Value(keyEvery); !ok {
		return
	}
	p, err := ParsePeriod(text(d, keyEvery))
	switch {
	case err != nil:
		i.fault("every: %v", err)
	case i.Due.IsZero():
		i.fault("every: it needs due")
	default:
		i.Every = p
	}
}

func (i *Intention) series() series {
	s := series{anchor: i.Due, every: i.Every, until: i.Until}
	if i.Every.Months == 0 || i.first.IsZero() || !i.first.Before(i.Due) {
		return s
	}
	from := series{anchor: i.first.In(i.Due.Location()), every: i.Every}
	if !from.has(i.Due) { // due was set by hand: it begins a series of its own
		return s
	}
	s.anchor = from.anchor
	return s
}

// Occurrence is what is open of an intention.
type Occurrence struct {
	Due   time.Time // the last that began; zero: it has no due, and is open from the start
	Count int64     // of those that are open: 1, and those that were missed before
	Key   string    // by which a session knows it
}

// Open returns what is open at a moment, without regard to its trigger.
func (i *Intention) Open(now time.Time) (o Occurrence, ok bool) {
	switch {
	case i.State != frontmatter.Active || i.Snoozed.After(now):
		return o, false
	case i.Due.IsZero():
		// Nothing says when: it is open until it is closed.
		return Occurrence{Count: 1, Key: key(keyOpen, i.Snoozed)}, i.Trigger == ""
	case i.Due.After(now):
		return o, false
	}
	s := i.series()
	last := max(s.index(now), s.index(i.Due))
	if last < 0 { // until is before due
		return Occurrence{Due: i.Due, Count: 1, Key: key(keyDue, later(i.Due, i.Snoozed))}, true
	}
	o = Occurrence{Due: s.at(last), Count: last - max(s.index(i.Due), 0) + 1}
	o.Key = key(keyDue, later(o.Due, i.Snoozed))
	return o, true
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// Next returns when the first occurrence after a moment begins.
func (i *Intention) Next(now time.Time) (time.Time, bool) {
	if i.Due.IsZero() || i.State != frontmatter.Active {
		return time.Time{}, false
	}
	s := i.series()
	if now.Before(i.Due) {
		return i.Due, true
	}
	return s.after(now)
}

// Waits reports whether the trigger is to be compared at a moment, and the key that
// the intention has if it fits.
func (i *Intention) Waits(now time.Time) (string, bool) {
	if i.Trigger == "" || i.State != frontmatter.Active || i.Snoozed.After(now) || !i.Until.IsZero() && now.After(i.Until) {
		return "", false
	}
	return key(keyMay, i.Snoozed), true
}
