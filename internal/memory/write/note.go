package write

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

// Adder is where notes go; *memory.Memory implements it.
type Adder interface {
	Add(ctx context.Context, texts []memory.NewText) ([]memory.Added, error)
}

var _ Adder = (*memory.Memory)(nil)

// MaxLinks is how many memories a note may be related to.
const MaxLinks = 32

// Note is an episode: what happened, without a slug to think of.
type Note struct {
	Text     string
	Tags     []string
	Salience *float64
	Emotion  map[string]float64 // by frontmatter.Emotions, each 0 to 1
	Links    []nipae.Slug       // memories that it is about
	Session  string             // "" is the writer's
	Trust    string             // "" or external
	// At is when it was taken down, as Moment gives it; zero is now.
	At time.Time
	// Archived says that it is for who looks it up, and not to be recalled,
	// consolidated or replayed.
	Archived bool
	// Expires is when it expires, in Unix seconds; 0 for never.
	Expires int64
	// Later lets it wait on this machine while no relay answers.
	Later bool
}

// moments are those that this process has given.
var moments struct {
	sync.Mutex
	last time.Time
}

// Moment returns when a note is taken down, in whole microseconds: now, and later than
// each moment before it in this process, so that notes keep the order in which their
// moments were asked for. After a clock that went back by a second and more it begins
// there again.
func Moment(now time.Time) time.Time {
	moments.Lock()
	defer moments.Unlock()
	now = now.Truncate(time.Microsecond)
	if behind := moments.last.Sub(now); behind >= 0 && behind < time.Second {
		now = moments.last.Add(time.Microsecond)
	}
	moments.last = now
	return now
}

// JournalSlug draws a slug for a note of that moment:
// mem/journal/2026/11/22/0602-07004512-4f1c22ab, in UTC. Seconds and microseconds
// sort the notes of one minute; the random digits are for two machines that write
// in one of them.
func JournalSlug(now time.Time) (nipae.Slug, error) {
	var id [4]byte
	_, _ = rand.Read(id[:])
	return nipae.ParseSlug(strings.Replace(now.UTC().Format("mem/journal/2006/01/02/1504-05.000000-"), ".", "", 1) + hex.EncodeToString(id[:]))
}

// Episode composes the text of a note, stamped. Errors are client.ErrEmpty,
// ErrField and frontmatter.ErrHead.
func (w *Writer) Episode(slug nipae.Slug, n Note) (text, from string, err error) {
	if strings.TrimSpace(n.Text) == "" {
		return "", "", client.ErrEmpty
	}
	by := *w
	if n.Session != "" {
		by.Session = n.Session
	}
	fields := Fields{Type: string(frontmatter.Episodic), Tags: n.Tags, Salience: n.Salience, Trust: n.Trust}
	if n.Archived {
		fields.state = frontmatter.Archived
	}
	c, err := by.compose(slug, "", Draft{Text: n.Text, Fields: fields})
	if err != nil {
		return "", "", err
	}
	if faults := frontmatter.Parse(c.text).Faults(); len(faults) > 0 {
		return "", "", fmt.Errorf("%w: %s: %s", ErrField, faults[0].Key, faults[0].Reason)
	}
	changes, err := n.changes(frontmatter.Parse(c.text))
	if err != nil {
		return "", "", err
	}
	text, err = frontmatter.Parse(c.text).Edit(changes...)
	return text, c.from, err
}

// changes are those of the fields that only notes have.
func (n Note) changes(d frontmatter.Doc) ([]frontmatter.Change, error) {
	var all []frontmatter.Change
	if len(n.Emotion) > 0 {
		var pairs []frontmatter.Pair
		for _, name := range slices.Sorted(maps.Keys(n.Emotion)) {
			felt := n.Emotion[name]
			if !slices.Contains(frontmatter.Emotions[:], name) || !(felt >= 0 && felt <= 1) {
				return nil, fmt.Errorf("%w: emotion has %s, each from 0 to 1", ErrField, strings.Join(frontmatter.Emotions[:], ", "))
			}
			pairs = append(pairs, frontmatter.Pair{Key: name, Value: strconv.FormatFloat(felt, 'f', -1, 64)})
		}
		all = append(all, frontmatter.Set("emotion", frontmatter.Mapping(pairs...)))
	}
	if len(n.Links) > MaxLinks {
		return nil, fmt.Errorf("%w: a note is related to at most %d memories", ErrField, MaxLinks)
	}
	if len(n.Links) > 0 {
		v, _ := d.Value("related_to")
		items := v.Items()
		for _, s := range n.Links {
			items = append(items, string(s))
		}
		all = append(all, frontmatter.Set("related_to", frontmatter.Strings(distinct(items)...)))
	}
	return all, nil
}

var errLostNote = errors.New("the note was not answered")

// AddNote writes one episode at a slug of its own. check is shown the text; nil
// checks nothing. Errors are those of Episode and memory.Memory.Add.
func (w *Writer) AddNote(ctx context.Context, to Adder, n Note, check func(old, text string) error) (Result, error) {
	at := n.At
	if at.IsZero() {
		at = Moment(timeOf(w.Clock))
	}
	slug, err := JournalSlug(at)
	if err != nil {
		return Result{}, err
	}
	by := *w
	by.Clock = func() time.Time { return at } // created and slug are of one moment
	text, from, err := by.Episode(slug, n)
	if err != nil {
		return Result{}, err
	}
	if check != nil {
		if err := check("", text); err != nil {
			return Result{}, err
		}
	}
	added, err := to.Add(ctx, []memory.NewText{{Slug: slug, Text: text, Expires: n.Expires, Later: n.Later}})
	if err != nil {
		return Result{}, err
	}
	if len(added) != 1 {
		return Result{}, errLostNote
	}
	return Result{Entry: added[0].Entry, Status: added[0].Status, Outcome: Created, From: from}, added[0].Err
}

// Mark is what Writer.Mark makes of a unit.
type Mark string

// The marks.
const (
	Pin       Mark = "pin"
	Unpin     Mark = "unpin"
	Archive   Mark = "archive"
	Unarchive Mark = "unarchive"
)

// Mark changes the one line of the front matter that a mark is about, and no
// other byte: it says nothing that the unit does not say, so nothing is stamped.
// What has the mark already is left. Errors are those of memory.Memory.Get and
// Set, ErrReserved, and ErrField for a unit that cannot have the mark.
func (w *Writer) Mark(ctx context.Context, slug nipae.Slug, m Mark, o memory.SetOptions) (Result, error) {
	if Reserved(slug) {
		return Result{}, ErrReserved
	}
	if slug.IsCore() {
		return Result{}, fmt.Errorf("%w: the core is always shown, and has no front matter to %s it by", ErrField, m)
	}
	r, err := w.there(ctx, slug, o.Base)
	if err != nil {
		return r, err
	}
	return w.change(ctx, r, slug, o, func(old string) (composed, error) {
		text, err := m.Of(slug, frontmatter.Parse(old))
		return composed{text: text}, err
	})
}

// Of returns the text of a unit with the mark. The error is ErrField for one that
// cannot have it.
func (m Mark) Of(slug nipae.Slug, d frontmatter.Doc) (string, error) {
	f := d.Fields()
	switch m {
	case Pin:
		if !f.Pin {
			return d.Edit(frontmatter.Set("pin", frontmatter.Truth(true)))
		}
	case Unpin:
		return d.Edit(frontmatter.Remove("pin"))
	case Archive:
		switch {
		case f.State == frontmatter.Archived:
		case f.State != frontmatter.Active:
			return "", fmt.Errorf("%w: %s is %s already, and is not recalled", ErrField, slug, f.State)
		case f.Pin:
			return "", fmt.Errorf("%w: %s is pinned, and is not archived before it is unpinned", ErrField, slug)
		case f.Type == frontmatter.Narrative:
			return "", fmt.Errorf("%w: %s is the narrative, and is not archived", ErrField, slug)
		case f.Type == frontmatter.Prospective:
			return "", fmt.Errorf("%w: %s is an intention that is not done, and is not archived", ErrField, slug)
		default:
			return d.Edit(frontmatter.Set("state", frontmatter.String(string(frontmatter.Archived))))
		}
	case Unarchive:
		if f.State != frontmatter.Active && f.State != frontmatter.Archived {
			return "", fmt.Errorf("%w: %s is %s, not archived", ErrField, slug, f.State)
		}
		if f.State == frontmatter.Archived {
			return d.Edit(frontmatter.Remove("state"))
		}
	default:
		return "", fmt.Errorf("%w: no mark %q", ErrField, m)
	}
	return d.Text(), nil
}
