package plans

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"engramd/internal/client"
	"engramd/internal/memory/consolidation"
	"engramd/internal/platform/pattern"
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

var recordID = pattern.Later(`^p-[0-9a-f]{16}(-[1-9][0-9]?)?$`)

// layout says which parts hold the content of a record.
type layout struct {
	From  int      `json:"from"`  // the number of the first
	Parts []string `json:"parts"` // their hashes
}

// head is what stands at mem/sys/plans/<id>.
type head struct {
	Plan    string             `json:"plan"`
	Kind    consolidation.Kind `json:"kind"`
	Status  Status             `json:"status"`
	Machine string             `json:"machine"`
	// Nonce tells a claim from another one that says the same.
	Nonce string `json:"nonce"`
	// Was is the nonce of the commit that is taken back: it may not know yet.
	Was    string     `json:"was,omitempty"`
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
	Plan       consolidation.Plan     `json:"plan"`
	Operations []consolidation.Op     `json:"operations"`
	Changes    []consolidation.Change `json:"changes"`
}

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

func opsHash(ops []consolidation.Op) (string, error) {
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
