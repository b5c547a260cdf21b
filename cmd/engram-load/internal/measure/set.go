// Package measure says how well recall finds: sets of memories with questions
// and what answers them, and figures over them. It reads sets in LoCoMo's form
// and makes one of its own; engram-load prints what it finds, and a test of
// internal/memory/recall holds the recipe to it.
package measure

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"engramd/internal/memory/recall"
	"engramd/nips/frontmatter"
)

// Set is what is measured: memories that have nothing to do with each other, as
// those of several agents have not.
type Set struct {
	Name     string
	Memories []Memory
	Talk     []string // that may stand before a question, shortest first
	// Strict says that no weight may cost anything here.
	Strict bool
}

// Memory is one agent's.
type Memory struct {
	Name      string
	Documents []recall.Document
	Questions []Question
	Now       time.Time // when the questions are asked
}

// Question is asked of a memory.
type Question struct {
	Text     string
	Kind     string
	Evidence []string // slugs, each once; empty if nothing answers it
	// Relevant may rightly come beside the evidence, and Outdated only if it is said
	// to be superseded.
	Relevant, Outdated []string
}

// Size returns how many documents and how many questions with evidence there
// are.
func (s *Set) Size() (documents, questions int) {
	for _, m := range s.Memories {
		documents += len(m.Documents)
		for _, q := range m.Questions {
			if len(q.Evidence) > 0 {
				questions++
			}
		}
	}
	return documents, questions
}

const (
	// maxData is the largest file that is read.
	maxData = 256 << 20
	// sessionTime is how LoCoMo writes the time of a session.
	sessionTime = "3:04 pm on 2 January, 2006"
)

// ErrData is a file that is not of LoCoMo's form.
var ErrData = errors.New("not of LoCoMo's form")

// kinds are LoCoMo's categories.
var kinds = map[int]string{1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}

type conversation struct {
	ID           string                     `json:"sample_id"`
	Conversation map[string]json.RawMessage `json:"conversation"`
	Questions    []struct {
		Question string   `json:"question"`
		Evidence []string `json:"evidence"`
		Category int      `json:"category"`
	} `json:"qa"`
}

type turn struct {
	Speaker string `json:"speaker"`
	ID      string `json:"dia_id"`
	Text    string `json:"text"`
	Caption string `json:"blip_caption"`
}

// ReadLoCoMo reads a set in LoCoMo's form (snap-research/LoCoMo, locomo10.json): a
// list of conversations. Each turn becomes an episode of its session, and each
// conversation a memory of its own.
func ReadLoCoMo(name string, r io.Reader) (*Set, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxData+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxData {
		return nil, fmt.Errorf("%w: more than %d bytes", ErrData, maxData)
	}
	var all []conversation
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrData, err)
	}
	set := &Set{Name: name}
	for i, c := range all {
		m, err := c.memory()
		if err != nil {
			return nil, fmt.Errorf("%w: conversation %d: %w", ErrData, i+1, err)
		}
		set.Memories = append(set.Memories, m)
	}
	if _, questions := set.Size(); questions == 0 {
		return nil, fmt.Errorf("%w: there is no question with evidence", ErrData)
	}
	return set, nil
}

// memory makes documents of turns. A slug says session and turn only, so that it
// adds no word to the text.
func (c *conversation) memory() (Memory, error) {
	m := Memory{Name: c.ID}
	slugs := make(map[string]string) // by dia_id
	for session := 1; ; session++ {
		key := "session_" + strconv.Itoa(session)
		stamp, ok := c.Conversation[key+"_date_time"]
		if !ok {
			break
		}
		var turns []turn
		if raw, ok := c.Conversation[key]; !ok {
			continue // announced, and not held
		} else if err := json.Unmarshal(raw, &turns); err != nil {
			return m, fmt.Errorf("%s: %w", key, err)
		}
		var written string
		if err := json.Unmarshal(stamp, &written); err != nil {
			return m, fmt.Errorf("the time of %s: %w", key, err)
		}
		at, err := time.Parse(sessionTime, written)
		if err != nil {
			return m, fmt.Errorf("the time of %s: %w", key, err)
		}
		for i, t := range turns {
			slug := fmt.Sprintf("mem/%d-%04d", session, i)
			slugs[t.ID] = slug
			m.Documents = append(m.Documents, t.document(slug, key, at))
		}
		m.Now = at
	}
	for _, q := range c.Questions {
		m.Questions = append(m.Questions, Question{Text: q.Question, Kind: kinds[q.Category], Evidence: evidence(q.Evidence, slugs)})
	}
	return m, nil
}

func (t *turn) document(slug, session string, at time.Time) recall.Document {
	text := t.Text
	if t.Caption != "" {
		text += "\n" + t.Caption
	}
	return recall.Document{Slug: slug, Body: text, Type: frontmatter.Episodic, State: frontmatter.Active, Trust: frontmatter.Observed, Who: []string{t.Speaker},
		Session: session, When: at, Created: at, Salience: frontmatter.DefaultSalience}
}

var diaID = regexp.MustCompile(`D\d+:\d+`)

// evidence finds the turns that a question names; some entries hold several, and
// some name none that exists.
func evidence(named []string, slugs map[string]string) []string {
	var all []string
	for _, entry := range named {
		for _, id := range diaID.FindAllString(strings.ReplaceAll(entry, "D:", "D"), -1) {
			if slug, ok := slugs[id]; ok && !slices.Contains(all, slug) {
				all = append(all, slug)
			}
		}
	}
	return all
}
