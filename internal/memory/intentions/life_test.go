package intentions

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"engramd/internal/memory/recall/answer"
	"engramd/nips/frontmatter"
)

// world is one intention on a relay, seen by machines with their own clocks,
// and its occurrences, counted one by one without this package.
type world struct {
	t       *testing.T
	seed    uint64
	text    string
	due     time.Time // the first occurrence that is not closed
	every   Period
	anchor  time.Time
	snoozed time.Time
	ended   bool
}

const slug = "mem/intentions/x"

func (w *world) view() answer.View {
	w.t.Helper()
	source, err := answer.Load([]answer.Held{{Head: answer.Head{Slug: slug}, Text: w.text}}, answer.State{})
	if err != nil {
		w.t.Fatal(err)
	}
	var view answer.View
	if err := source.Read(w.t.Context(), func(v answer.View) error { view = v; return nil }); err != nil {
		w.t.Fatal(err)
	}
	return view
}

// naive steps through the series from its anchor.
func (w *world) naive(n int64) time.Time {
	months, seconds := n*w.every.Months, n*w.every.Seconds
	y, m, d := w.anchor.Date()
	first := time.Date(y, m+time.Month(months), 1, w.anchor.Hour(), w.anchor.Minute(), w.anchor.Second(), 0, w.anchor.Location())
	for d > 28 && first.AddDate(0, 0, d-1).Month() != first.Month() {
		d--
	}
	return first.AddDate(0, 0, d-1).Add(time.Duration(seconds) * time.Second)
}

// open counts the open occurrences at a moment, and returns the last one.
func (w *world) open(now time.Time) (n int64, last time.Time) {
	if w.ended || w.snoozed.After(now) {
		return 0, last
	}
	for k := int64(0); ; k++ {
		at := w.naive(k)
		if at.After(now) {
			return n, last
		}
		if !at.Before(w.due) {
			n, last = n+1, at
		}
		if w.every.IsZero() {
			return n, last
		}
	}
}

// next returns the first occurrence after a moment.
func (w *world) next(now time.Time) time.Time {
	for k := int64(0); ; k++ {
		if at := w.naive(k); at.After(now) {
			return at
		}
	}
}

// edit writes a closing over a text; it is refused if the machine's base is an
// older text.
func (w *world) edit(base string, c Closing) bool {
	w.t.Helper()
	if base != w.text {
		return false
	}
	text, err := frontmatter.Parse(base).Edit(c.Changes...)
	if err != nil {
		w.t.Fatal(err)
	}
	w.text = text
	return true
}

func (w *world) read() Intention {
	i, ok := Read(slug, frontmatter.Parse(w.text))
	if !ok || len(i.Faults) > 0 {
		w.t.Fatalf("seed %d: %v of\n%s", w.seed, i.Faults, w.text)
	}
	return i
}

// session is one conversation: what it was shown, and up to which occurrence.
type session struct {
	keys    []string
	upto    time.Time
	snoozed time.Time // its value when it was last shown
}

// TestIntentionsLive: two machines use one intention for a while: clocks jump
// both ways, machines sleep, sessions begin and end, and both close what is
// open. Every occurrence is open until it is closed, and is shown once in a
// session.
func TestIntentionsLive(t *testing.T) {
	periods := []string{"", "PT1H", "P1D", "P1W", "P1M", "P1Y", "P1DT7H", "P3M"}
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 9))
		w := &world{t: t, seed: seed}
		zone := time.FixedZone("", []int{0, 3600, -5 * 3600, 19800}[r.IntN(4)])
		w.anchor = time.Date(2024, 1, 25+r.IntN(7), r.IntN(24), r.IntN(60), 0, 0, zone)
		w.due = w.anchor
		every := periods[r.IntN(len(periods))]
		w.text = "---\ntype: prospective\ndue: " + w.anchor.Format(time.RFC3339)
		if every != "" {
			w.every, _ = ParsePeriod(every)
			w.text += "\nevery: " + every
		}
		w.text += "\n---\nWater the beds"
		clock := w.anchor.Add(-time.Hour)
		sessions := []*session{{}, {}}
		for step := range 60 {
			w.step(r, &clock, sessions)
			if t.Failed() {
				t.Fatalf("seed %d (%s), step %d, at %v:\n%s", seed, every, step, clock, w.text)
			}
		}
	}
}

func (w *world) step(r *rand.Rand, clock *time.Time, sessions []*session) {
	span := max(time.Duration(w.every.Months)*30*24*time.Hour+time.Duration(w.every.Seconds)*time.Second, time.Hour)
	switch r.IntN(10) {
	case 0, 1, 2: // time goes on, or the machine sleeps
		*clock = clock.Add(time.Duration(r.Int64N(int64(span))) + 1)
	case 3:
		*clock = clock.Add(time.Duration(r.IntN(6)) * span / 2)
	case 4: // the clock was set
		*clock = clock.Add(-time.Duration(r.Int64N(int64(2 * span))))
	case 5: // a restart: another session, which does not know what was shown
		*sessions[r.IntN(2)] = session{}
	case 6:
		w.close(r, *clock)
	case 7:
		w.snooze(*clock, clock.Add(time.Duration(r.Int64N(int64(span)))+time.Second))
	default:
		w.prompt(*clock, sessions[r.IntN(2)])
	}
}

// prompt shows a session what is due, and compares it with the count.
func (w *world) prompt(now time.Time, s *session) {
	seen := func(_, key string) bool { return Seen(s.keys, key) }
	items := Look(w.view(), Ask{Now: now, Seen: seen})
	n, last := w.open(now)
	// It was shown before, unless something began since, or a snooze ended.
	back := w.snoozed.After(s.upto) && !w.snoozed.IsZero()
	fresh := n > 0 && (last.After(s.upto) || back || s.keys == nil)
	switch {
	case len(items) > 1 || (len(items) == 1) != fresh:
		w.t.Errorf("%d items come up; %d are open, the last %v; the session was shown up to %v", len(items), n, last, s.upto)
	case len(items) == 0:
	case items[0].Count != n || !items[0].Occurrence.Due.Equal(last):
		w.t.Errorf("%d open, the last %v; want %d, %v", items[0].Count, items[0].Occurrence.Due, n, last)
	default:
		s.keys, s.upto = append(s.keys, items[0].Key), later(s.upto, later(last, w.snoozed))
	}
}

// close has two machines close it at once.
func (w *world) close(r *rand.Rand, now time.Time) {
	i, base := w.read(), w.text
	first, err := i.Done(By{Now: now, Who: "one"}, time.Time{})
	open := !w.ended && !w.due.After(now)
	if (err == nil) != open {
		w.t.Errorf("done: %v, though open is %v", err, open)
	}
	if err != nil {
		return
	}
	second, err := i.Done(By{Now: now.Add(time.Duration(r.IntN(9)) * time.Second), Who: "two"}, time.Time{})
	if err != nil || !w.edit(base, first) || w.edit(base, second) {
		w.t.Errorf("two machines at once: %v", err)
	}
	w.snoozed = time.Time{}
	if w.every.IsZero() {
		w.ended = true
	} else {
		w.due = w.next(now)
	}
	i = w.read()
	if _, err := i.Done(By{Now: now, Who: "two"}, time.Time{}); !errors.Is(err, ErrClosed) {
		w.t.Errorf("the second is told %v", err)
	}
	if !w.ended && (!i.Due.Equal(w.due) || !first.Next.Equal(w.due)) {
		w.t.Errorf("due is %v, next %v; want %v", i.Due, first.Next, w.due)
	}
}

func (w *world) snooze(now, until time.Time) {
	i := w.read()
	c, err := i.Snooze(By{Now: now}, until)
	if open := !w.ended && !w.due.After(now); (err == nil) != open {
		w.t.Errorf("snooze: %v, though open is %v", err, open)
	}
	if err != nil {
		return
	}
	w.edit(w.text, c)
	w.snoozed = until.Truncate(time.Second)
	if got := w.read(); !got.Snoozed.Equal(w.snoozed) || !got.Due.Equal(w.due) {
		w.t.Errorf("snoozed until %v, due %v", got.Snoozed, got.Due)
	}
}

// TestDone: what is closed, and what is not.
func TestDone(t *testing.T) {
	now := at(t, "2026-11-23T10:00:00+01:00")
	for _, tt := range []struct {
		name, head string
		occurrence string
		want       string // the error, or the next due; "done"
	}{
		{"one", "due: 2026-11-23", "", "done"},
		{"without due", "", "", "done"},
		{"by its trigger", "trigger: a word", "", "done"},
		{"a day", "due: 2026-11-20\nevery: P1D", "", "2026-11-24"},
		{"a day each month", "due: 2026-08-31\nevery: P1M", "", "2026-11-30"},
		{"hours of a day", "due: 2026-11-23\nevery: PT4H", "", "2026-11-23T12:00:00Z"},
		{"the last one", "due: 2026-11-20T09:00:00+01:00\nevery: P1D\nuntil: 2026-11-23", "", "done"},
		{"one before the last", "due: 2026-11-20T09:00:00+01:00\nevery: P1D\nuntil: 2026-11-24", "", "2026-11-24T09:00:00+01:00"},
		{"to come", "due: 2026-12-01\nevery: P1D", "", "nothing of it is open"},
		{"to come, named", "due: 2026-12-01\nevery: P1D", "2026-12-01T00:00:00Z", "2026-12-02"},
		{"to come, closed before", "due: 2026-12-01\nevery: P1D\nclosed: done 2026-11-22T10:00:00Z by other", "", "it is closed already: done 2026-11-22T10:00:00Z by other; it is due again at 2026-12-01T00:00:00Z"},
		{"one before due", "due: 2026-11-20\nevery: P1D", "2026-11-19T00:00:00Z", "it is closed already"},
		{"none of them", "due: 2026-11-20\nevery: P1D", "2026-11-21T01:00:00Z", "not a time for this intention"},
		{"a state", "state: done\nclosed: cancelled 2026-11-22T10:00:00Z by other", "", "it is closed already: cancelled 2026-11-22T10:00:00Z by other"},
		{"each second since 1970", "due: 1970-01-01T00:00:00Z\nevery: PT1S", "", "2026-11-23T09:00:01Z"},
		{"what cannot be read", "due: soon\nevery: often", "", "done"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			i, ok := Read(slug, frontmatter.Parse("---\ntype: prospective\n"+tt.head+"\n---\nx"))
			if !ok {
				t.Fatal("no intention")
			}
			var occurrence time.Time
			if tt.occurrence != "" {
				occurrence = at(t, tt.occurrence)
			}
			c, err := i.Done(By{Now: now, Who: "me"}, occurrence)
			edited, _ := frontmatter.Parse("---\ntype: prospective\n" + tt.head + "\n---\nx").Edit(c.Changes...)
			f := frontmatter.Parse(edited)
			got := text(f, keyDue)
			switch {
			case err != nil:
				got = err.Error()
			case f.Fields().State == frontmatter.Done:
				got = "done"
			}
			if got != tt.want && !(err != nil && len(got) > len(tt.want) && got[:len(tt.want)] == tt.want) {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

// A monthly series keeps its day over a short month, and over closings.
func TestLastDayStays(t *testing.T) {
	now, head := at(t, "2026-01-31T10:00:00Z"), "---\ntype: prospective\ndue: 2026-01-31\nevery: P1M\n---\nx"
	for _, want := range []string{"2026-02-28", "2026-03-31", "2026-04-30", "2026-05-31"} {
		i, _ := Read(slug, frontmatter.Parse(head))
		c, err := i.Done(By{Now: now}, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		if head, err = frontmatter.Parse(head).Edit(c.Changes...); err != nil {
			t.Fatal(err)
		}
		if got := text(frontmatter.Parse(head), keyDue); got != want {
			t.Fatalf("%s follows, want %s", got, want)
		}
		now = c.Next.Add(10 * time.Hour)
	}
	// Setting due by hand restarts the series.
	i, _ := Read(slug, frontmatter.Parse("---\ntype: prospective\ndue: 2026-02-27\nevery: P1M\nfirst: 2026-01-31\n---\nx"))
	if next, _ := i.Next(at(t, "2026-02-27T10:00:00Z")); fmt.Sprint(next.Date()) != "2026 March 27" {
		t.Errorf("%v follows", next)
	}
}
