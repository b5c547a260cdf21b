package remember

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"engramd/internal/client"
	"engramd/nips/nipae"
	"engramd/nips/unit"
)

// Adder is where notes go; *client.Memory implements it.
type Adder interface {
	Add(ctx context.Context, texts []client.NewText) ([]client.Added, error)
}

var _ Adder = (*client.Memory)(nil)

// MaxLinks is how many memories a note may be related to.
const MaxLinks = 32

// Note is an episode: what happened, without a slug to think of.
type Note struct {
	Text     string
	Tags     []string
	Salience *float64
	Emotion  map[string]float64 // by unit.Emotions, each 0 to 1
	Links    []nipae.Slug       // memories that it is about
	Session  string             // "" is the writer's
	Trust    string             // "" or external
	// Archived says that it is for who looks it up, and not to be recalled,
	// consolidated or replayed.
	Archived bool
}

// JournalSlug draws a slug for a note of that time:
// mem/journal/2026/11/22/0602-4f1c22ab, in UTC.
func JournalSlug(now time.Time, random io.Reader) (nipae.Slug, error) {
	var id [4]byte
	if _, err := io.ReadFull(random, id[:]); err != nil {
		return "", fmt.Errorf("draw a slug: %w", err)
	}
	return nipae.ParseSlug(now.UTC().Format("mem/journal/2006/01/02/1504-") + hex.EncodeToString(id[:]))
}

// Episode composes the text of a note, stamped. Errors are client.ErrEmpty,
// ErrField and unit.ErrHead.
func (w *Writer) Episode(slug nipae.Slug, n Note) (text, from string, err error) {
	if strings.TrimSpace(n.Text) == "" {
		return "", "", client.ErrEmpty
	}
	by := *w
	if n.Session != "" {
		by.Session = n.Session
	}
	fields := Fields{Type: string(unit.Episodic), Tags: n.Tags, Salience: n.Salience, Trust: n.Trust}
	if n.Archived {
		fields.state = unit.Archived
	}
	c, err := by.compose(slug, "", Draft{Text: n.Text, Fields: fields})
	if err != nil {
		return "", "", err
	}
	if faults := unit.Parse(c.text).Faults(); len(faults) > 0 {
		return "", "", fmt.Errorf("%w: %s: %s", ErrField, faults[0].Key, faults[0].Reason)
	}
	changes, err := n.changes(unit.Parse(c.text))
	if err != nil {
		return "", "", err
	}
	text, err = unit.Parse(c.text).Edit(changes...)
	return text, c.from, err
}

// changes are those of the fields that only notes have.
func (n Note) changes(d unit.Doc) ([]unit.Change, error) {
	var all []unit.Change
	if len(n.Emotion) > 0 {
		var pairs []unit.Pair
		for _, name := range slices.Sorted(maps.Keys(n.Emotion)) {
			felt := n.Emotion[name]
			if !slices.Contains(unit.Emotions[:], name) || !(felt >= 0 && felt <= 1) {
				return nil, fmt.Errorf("%w: emotion has %s, each from 0 to 1", ErrField, strings.Join(unit.Emotions[:], ", "))
			}
			pairs = append(pairs, unit.Pair{Key: name, Value: strconv.FormatFloat(felt, 'f', -1, 64)})
		}
		all = append(all, unit.Set("emotion", unit.Mapping(pairs...)))
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
		all = append(all, unit.Set("related_to", unit.Strings(distinct(items)...)))
	}
	return all, nil
}

var errLostNote = errors.New("the note was not answered")

// AddNote writes one episode at a slug of its own. check is shown the text; nil
// checks nothing. Errors are those of Episode and client.Memory.Add.
func (w *Writer) AddNote(ctx context.Context, to Adder, random io.Reader, n Note, check func(old, text string) error) (Result, error) {
	slug, err := JournalSlug(w.now(), random)
	if err != nil {
		return Result{}, err
	}
	text, from, err := w.Episode(slug, n)
	if err != nil {
		return Result{}, err
	}
	if check != nil {
		if err := check("", text); err != nil {
			return Result{}, err
		}
	}
	added, err := to.Add(ctx, []client.NewText{{Slug: slug, Text: text}})
	if err != nil {
		return Result{}, err
	}
	if len(added) != 1 {
		return Result{}, errLostNote
	}
	return Result{Entry: added[0].Entry, Status: added[0].Status, Outcome: Created, From: from}, added[0].Err
}
