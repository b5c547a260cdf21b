package plans

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"engramd/internal/client"
	"engramd/internal/mind"
	"engramd/internal/recollect"
	"engramd/nips/nipae"
)

const (
	// prefix is where records stand.
	prefix = "mem/sys/plans/"
	// maxSuffix is how many records one plan has at most: it may be taken back and
	// committed again, and two machines may be shown the same.
	maxSuffix          = 99
	maxParts           = 2*MaxRecord/maxBody + 2 // bodies need not be full
	maxMachine, maxWhy = 200, 600                // bytes
)

var recordID = regexp.MustCompile(`^p-[0-9a-f]{16}(-[1-9][0-9]?)?$`)

// layout says which parts hold the content of a record.
type layout struct {
	From  int      `json:"from"`  // the number of the first
	Parts []string `json:"parts"` // their hashes
}

// head is what stands at mem/sys/plans/<id>.
type head struct {
	Plan    string    `json:"plan"`
	Kind    mind.Kind `json:"kind"`
	Status  Status    `json:"status"`
	Machine string    `json:"machine"`
	// Nonce tells a claim from another one that says the same.
	Nonce  string     `json:"nonce"`
	Began  time.Time  `json:"began"`
	Closed *time.Time `json:"closed,omitempty"`
	Ops    string     `json:"operations"` // hash of the operations
	layout
	// Before is the proposal that is being accepted, as it was.
	Before *proposal `json:"before,omitempty"`
	// Old are the ids of the events that are replaced, in the order of the changes;
	// "" where nothing was.
	Old      []string `json:"old"`
	Left     []Left   `json:"left,omitempty"`      // by the commit
	UndoLeft []Left   `json:"undo_left,omitempty"` // by taking it back
}

// proposal is what a proposed head says and one that is carried out does not.
type proposal struct {
	layout
	Ops string   `json:"operations"`
	Old []string `json:"old"`
}

// content is what the parts of a record say together.
type content struct {
	Plan       mind.Plan     `json:"plan"`
	Operations []mind.Op     `json:"operations"`
	Changes    []mind.Change `json:"changes"`
}

// record is both of them.
type record struct {
	id string
	head
	text    string // of the head as it is in the memory
	content content
}

func headSlug(id string) nipae.Slug { return nipae.Slug(prefix + id) }

func partSlug(id string, k int) nipae.Slug { return nipae.Slug(fmt.Sprintf("%s%s/%d", prefix, id, k)) }

// encode writes a value so that a person can read it.
func encode(v any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "", fmt.Errorf("write the plan's record: %w", err)
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// headText writes a head. What was left is cut where it does not fit: it was named
// when it was.
func headText(h head) (string, error) {
	for {
		text, err := encode(h)
		if err != nil || cost(text) <= maxBody {
			return text, err
		}
		switch {
		case len(h.UndoLeft) > 0:
			h.UndoLeft = h.UndoLeft[:len(h.UndoLeft)/2]
		case len(h.Left) > 0:
			h.Left = h.Left[:len(h.Left)/2]
		default:
			return "", ErrTooLarge
		}
	}
}

// split writes a content as the texts of parts.
func split(c content) ([]string, error) {
	for _, ch := range c.Changes {
		if !utf8.ValidString(ch.Old) || !utf8.ValidString(ch.New) {
			return nil, fmt.Errorf("%s is not UTF-8, and could not be brought back", ch.Slug)
		}
	}
	text, err := encode(c)
	if err != nil {
		return nil, err
	}
	if len(c.Changes) > maxChanges || cost(text) > MaxRecord {
		return nil, ErrTooLarge
	}
	var parts []string
	size, from := 0, 0
	for i, r := range text {
		n := runeCost(r)
		if size+n > maxBody {
			parts = append(parts, text[from:i])
			size, from = 0, i
		}
		size += n
	}
	return append(parts, text[from:]), nil
}

// cost is how long a text is in the body that is encrypted, where it is a string of
// JSON, at most.
func cost(text string) int {
	n := 0
	for _, r := range text {
		n += runeCost(r)
	}
	return n
}

func runeCost(r rune) int {
	switch {
	case r == '"' || r == '\\':
		return 2
	case r < 0x20, r == '<', r == '>', r == '&', r == 0x7f, r == 0x2028, r == 0x2029, r == utf8.RuneError:
		return 6
	}
	return utf8.RuneLen(r)
}

// strictly reads one value of JSON that is all of a text.
func strictly(text string, into any) error {
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the end")
	}
	return nil
}

// readHead reads what is said to be a head. The error is ErrRecord.
func readHead(id, text string) (h head, err error) {
	if !recordID.MatchString(id) {
		return h, fmt.Errorf("%w: its slug is no plan's", ErrRecord)
	}
	if len(text) > maxBody {
		return h, fmt.Errorf("%w: it is too long", ErrRecord)
	}
	if err := strictly(text, &h); err != nil {
		return h, fmt.Errorf("%w: %w", ErrRecord, err)
	}
	switch {
	case h.Plan != id && !strings.HasPrefix(id, h.Plan+"-"), !mind.IsID(h.Plan):
		err = errors.New("it is another plan's")
	case !h.Status.known():
		err = errors.New("its status is unknown")
	case h.Status.closed() != (h.Closed != nil):
		err = errors.New("it is neither open nor closed")
	case len(h.Parts) == 0 || len(h.Parts) > maxParts || h.From < 1 || h.From > 2*maxParts:
		err = errors.New("its parts cannot be counted")
	case len(h.Machine) > maxMachine || slices.ContainsFunc(slices.Concat(h.Left, h.UndoLeft), func(l Left) bool { return len(l.Slug) > maxWhy || len(l.Why) > maxWhy }):
		err = errors.New("what it says is too long")
	case len(h.Old) > maxChanges:
		err = errors.New("it names too many events")
	}
	if err == nil && h.Before != nil && (len(h.Before.Parts) == 0 || len(h.Before.Parts) > maxParts || h.Before.From != 1 || len(h.Before.Old) > maxChanges) {
		err = errors.New("its proposal's parts cannot be counted")
	}
	if err != nil {
		return h, fmt.Errorf("%w: %w", ErrRecord, err)
	}
	return h, nil
}

// readContent reads what the parts say, and believes none of it unchecked: whoever
// has the key could have written it. The error is ErrRecord.
func readContent(h head, texts []string) (c content, err error) {
	if err := strictly(strings.Join(texts, ""), &c); err != nil {
		return c, fmt.Errorf("%w: %w", ErrRecord, err)
	}
	wrong := func(what string) error { return fmt.Errorf("%w: %s", ErrRecord, what) }
	ops, err := opsHash(c.Operations)
	switch {
	case err != nil:
		return c, err
	case c.Plan.ID != h.Plan || c.Plan.Identify().ID != h.Plan || c.Plan.Kind != h.Kind:
		return c, wrong("it holds another plan")
	case ops != h.Ops:
		return c, wrong("it holds other operations")
	case len(c.Changes) != len(h.Old):
		return c, wrong("it does not hold the changes that it names")
	}
	seen := map[string]bool{}
	for _, ch := range c.Changes {
		slug, err := nipae.ParseSlug(ch.Slug)
		switch {
		case err != nil || slug.IsCore() || recollect.Reserved(ch.Slug) || seen[ch.Slug]:
			return c, wrong("it changes what no plan changes")
		case ch.Base == "" && ch.Old != "", ch.Base != "" && client.Hash(ch.Old) != ch.Base:
			return c, wrong("a text is not the one that it was made from")
		case ch.Op < 0 || ch.Op >= len(c.Operations) || ch.New == "":
			return c, wrong("a change belongs to no operation")
		}
		seen[ch.Slug] = true
	}
	return c, nil
}

func opsHash(ops []mind.Op) (string, error) {
	text, err := encode(ops)
	return client.Hash(text), err
}

// named returns the record as others see it.
func (r *record) named() Record {
	out := Record{ID: r.id, Plan: r.head.Plan, Kind: r.Kind, Status: r.Status, Machine: r.Machine, Began: r.Began, Changes: len(r.Old)}
	out.Left = append(append(out.Left, r.Left...), r.UndoLeft...)
	if r.Closed != nil {
		out.Closed = *r.Closed
	}
	return out
}

// machine is what records call this machine.
func (p *Plans) machine() string {
	return strings.ToValidUTF8(p.Machine[:min(len(p.Machine), maxMachine)], "")
}

func names(all []Left) string {
	var slugs []string
	for _, l := range all {
		slugs = append(slugs, l.Slug)
	}
	return strings.Join(slugs, ", ")
}
