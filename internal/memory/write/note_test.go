package write

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

var noteTime = time.Date(2026, 11, 22, 8, 2, 44, 0, time.FixedZone("", 2*3600))

// journal keeps what is added, and can be told to fail.
type journal struct {
	mu      sync.Mutex
	batches [][]memory.NewText
	err     error
}

func (j *journal) Add(_ context.Context, texts []memory.NewText) ([]memory.Added, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.batches = append(j.batches, texts)
	if j.err != nil {
		return nil, j.err
	}
	var all []memory.Added
	for _, t := range texts {
		all = append(all, memory.Added{Entry: client.Entry{Slug: t.Slug, Text: t.Text}})
	}
	return all, nil
}

func TestNoteIsStamped(t *testing.T) {
	salience := 0.8
	w := Writer{Source: "claude-code:8c35adc1", Session: "8c35adc1", Clock: func() time.Time { return noteTime }}
	j := &journal{}
	r, err := w.AddNote(t.Context(), j, Note{
		Text: "---\ntrust: told\nsource: owner\ncreated: 2001-01-01\n---\nAna chose SQLite.", Tags: []string{"atlas"}, Salience: &salience,
		Emotion: map[string]float64{"satisfaction": 0.6, "joy": 0.25, "calm": 0.0000001}, Links: []nipae.Slug{"mem/people/ana"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`^mem/journal/2026/11/22/0602-44\d{6}-[0-9a-f]{8}$`).MatchString(string(r.Slug)) {
		t.Errorf("it is at %s", r.Slug)
	}
	d := frontmatter.Parse(j.batches[0][0].Text)
	f := d.Fields()
	if len(d.Faults()) > 0 || d.Body() != "Ana chose SQLite." {
		t.Errorf("faults %v, body %q", d.Faults(), d.Body())
	}
	if f.Type != frontmatter.Episodic || f.Trust != frontmatter.Observed || f.Source != w.Source || f.Session != w.Session || !f.Created.Time.Equal(noteTime) {
		t.Errorf("stamped %v", f)
	}
	if f.Salience != 0.8 || f.Emotion[0] != 0.25 || f.Emotion[5] != 0.6 || f.Emotion[7] != 0.0000001 || len(f.Tags) != 1 || len(f.Relations) != 1 || f.Relations[0].Target != "mem/people/ana" {
		t.Errorf("fields %v", f)
	}
}

func TestNoteRefused(t *testing.T) {
	high, secret := 1.5, errors.New("a key")
	for name, c := range map[string]struct {
		note  Note
		check func(old, text string) error
		err   error
	}{
		"no text":         {note: Note{Text: " \n"}, err: client.ErrEmpty},
		"salience":        {note: Note{Text: "x", Salience: &high}, err: ErrField},
		"no such emotion": {note: Note{Text: "x", Emotion: map[string]float64{"rage": 1}}, err: ErrField},
		"emotion":         {note: Note{Text: "x", Emotion: map[string]float64{"joy": -1}}, err: ErrField},
		"front matter":    {note: Note{Text: "---\nemotion: {joy: 7}\n---\nx"}, err: ErrField},
		"links":           {note: Note{Text: "x", Links: make([]nipae.Slug, MaxLinks+1)}, err: ErrField},
		"trust":           {note: Note{Text: "x", Trust: "told"}, err: ErrField},
		"a secret":        {note: Note{Text: "x"}, check: func(string, string) error { return secret }, err: secret},
	} {
		j := &journal{}
		w := Writer{Clock: func() time.Time { return noteTime }}
		if _, err := w.AddNote(t.Context(), j, c.note, c.check); !errors.Is(err, c.err) || len(j.batches) > 0 {
			t.Errorf("%s: %v, and %d were added", name, err, len(j.batches))
		}
	}
}

func TestNoteOfCopiedWordsIsExternal(t *testing.T) {
	w := Writer{Clock: func() time.Time { return noteTime }, Copied: func(string) (string, bool) { return "mem/web/page", true }}
	j := &journal{}
	r, err := w.AddNote(t.Context(), j, Note{Text: "their words"}, nil)
	if err != nil || r.From != "mem/web/page" || frontmatter.Parse(j.batches[0][0].Text).Trust() != frontmatter.External {
		t.Errorf("%v, from %q", err, r.From)
	}
}

// slowly is a journal that takes a while.
type slowly struct {
	*journal
	takes time.Duration
}

func (s slowly) Add(ctx context.Context, texts []memory.NewText) ([]memory.Added, error) {
	time.Sleep(s.takes)
	return s.journal.Add(ctx, texts)
}

// TestNotesShareABatch: one that is alone waits for nobody. Those that arrive while it is
// on its way go together once it is there, or when they have waited long enough, each with
// its own answer.
func TestNotesShareABatch(t *testing.T) {
	for name, c := range map[string]struct{ takes, waits time.Duration }{
		"it is soon there": {10 * time.Millisecond, 20 * time.Millisecond},
		"it takes long":    {time.Second, Together + time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const many = 20
				j := &journal{}
				b := NewBatch(t.Context(), slowly{j, c.takes}, time.Minute)
				var wg sync.WaitGroup
				add := func(i int) {
					wg.Go(func() {
						text := memory.NewText{Slug: nipae.Slug(fmt.Sprint("mem/", i)), Text: fmt.Sprint(i)}
						if all, err := b.Add(context.Background(), []memory.NewText{text}); err != nil || all[0].Entry.Text != text.Text {
							t.Errorf("%v got %v, %v", text, all, err)
						}
					})
				}
				start := time.Now()
				add(0)
				synctest.Wait() // it is on its way
				for i := 1; i < many; i++ {
					add(i)
				}
				wg.Wait()
				if waited := time.Since(start); waited != c.waits || len(j.batches) != 2 || len(j.batches[0]) != 1 || len(j.batches[1]) != many-1 {
					t.Errorf("%d batches after %v", len(j.batches), waited)
				}
				start = time.Now()
				add(many)
				if wg.Wait(); time.Since(start) != c.takes {
					t.Errorf("one that is alone took %v", time.Since(start))
				}
			})
		})
	}
}

// TestBatchIsFull: more than a batch takes do not wait; a failure is told to
// each, and who has gone holds up nobody.
func TestBatchIsFull(t *testing.T) {
	j := &journal{err: client.ErrNoRelay}
	b := NewBatch(t.Context(), j, time.Minute)
	b.after = func(time.Duration, func()) {}
	b.sending = 1 // which never ends
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, err := b.Add(gone, []memory.NewText{{Slug: "mem/gone", Text: "x"}}); !errors.Is(err, context.Canceled) {
		t.Errorf("who has gone got %v", err)
	}
	var texts []memory.NewText
	for i := range memory.MaxAdded - 1 {
		texts = append(texts, memory.NewText{Slug: nipae.Slug(fmt.Sprint("mem/", i)), Text: "x"})
	}
	if _, err := b.Add(t.Context(), texts); !errors.Is(err, client.ErrNoRelay) {
		t.Errorf("got %v", err)
	}
	if len(j.batches) != 1 || len(j.batches[0]) != memory.MaxAdded {
		t.Errorf("%d batches", len(j.batches))
	}
}

// TestMomentsKeepTheOrder: whatever the clock does, notes of one process sort as their
// moments were given, and none has the slug of another.
func TestMomentsKeepTheOrder(t *testing.T) {
	start := time.Date(2041, 3, 1, 23, 59, 59, 999_999_500, time.UTC)
	for name, clock := range map[string]func(i int) time.Duration{
		"one moment":               func(int) time.Duration { return 0 },
		"goes":                     func(i int) time.Duration { return time.Duration(i) * 700 * time.Nanosecond },
		"goes back within seconds": func(i int) time.Duration { return -time.Duration(i) * time.Millisecond },
	} {
		begin := start
		start = start.Add(time.Hour)
		var slugs []nipae.Slug
		for i := range 200 {
			slug, err := JournalSlug(Moment(begin.Add(clock(i))))
			if err != nil {
				t.Fatal(err)
			}
			slugs = append(slugs, slug)
		}
		if !slices.IsSorted(slugs) || len(slices.Compact(slugs)) != 200 {
			t.Errorf("%s: %q", name, slugs)
		}
	}
	if at := start.Add(-90 * time.Minute); !Moment(at).Equal(at.Truncate(time.Microsecond)) {
		t.Error("after a clock that was an hour ahead, notes are of that hour")
	}
}

// TestTwoMachinesInOneSecond: notes of two machines in one microsecond are two.
func TestTwoMachinesInOneSecond(t *testing.T) {
	at := noteTime.Add(5 * time.Microsecond)
	seen := map[nipae.Slug]bool{}
	for range 2 {
		j := &journal{}
		r, err := (&Writer{Clock: func() time.Time { return at }}).AddNote(t.Context(), j, Note{Text: "x", At: at}, nil)
		if err != nil {
			t.Fatal(err)
		}
		seen[r.Slug] = true
	}
	for slug := range seen {
		if len(seen) != 2 || !strings.HasPrefix(string(slug), "mem/journal/2026/11/22/0602-44000005-") {
			t.Errorf("%v", seen)
		}
	}
}

// TestCreatedIsOfTheMoment: a note that is written in the next second is of the one
// in which it was taken down, as its slug says.
func TestCreatedIsOfTheMoment(t *testing.T) {
	j := &journal{}
	w := Writer{Clock: func() time.Time { return noteTime.Add(time.Minute) }}
	if _, err := w.AddNote(t.Context(), j, Note{Text: "x", At: noteTime}, nil); err != nil {
		t.Fatal(err)
	}
	if created := frontmatter.Parse(j.batches[0][0].Text).Fields().Created.Time; !created.Equal(noteTime) {
		t.Errorf("created %s", created)
	}
}
