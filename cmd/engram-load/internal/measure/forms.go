package measure

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"engramd/internal/memory/recall"
	"engramd/nips/frontmatter"
)

// labelled is a set whose questions say what answers them, in any of its forms:
// one memory, a memory for each language or repository, facts that were corrected,
// or prompts that bear on nothing.
type labelled struct {
	part
	Talk         []string            `json:"talk"`
	Starter      *part               `json:"starter"`
	Languages    map[string]part     `json:"languages"`
	Repositories map[string]part     `json:"repositories"`
	Prompts      []asking            `json:"prompts"`
	Cases        []corrected         `json:"cases"`
	Unrelated    map[string][]string `json:"unrelated"`
}

type part struct {
	Name      string    `json:"name"`
	Project   string    `json:"project"`
	Memories  []written `json:"memories"`
	Questions []asking  `json:"questions"`
}

type written struct {
	Slug    string `json:"slug"`
	Text    string `json:"text"`
	Session string `json:"session"`
	When    string `json:"when"` // "-7d" is seven days before the questions
}

type asking struct {
	Question string   `json:"q"`
	Kind     string   `json:"kind"`
	Expect   []string `json:"expect"`
	Relevant []string `json:"relevant"`
	In       string   `json:"in"`
	Names    string   `json:"names"`
	Tell     []string `json:"tell"`
}

type corrected struct {
	When    string  `json:"when"`
	Episode string  `json:"episode"`
	Old     written `json:"old"`
	New     written `json:"new"`
	asking
}

// askedAt is when the questions of a labelled set are asked: a Friday.
var askedAt = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

// Read reads a set in LoCoMo's form, a list, or in the labelled form, an object.
func Read(name string, r io.Reader) (*Set, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxData+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxData {
		return nil, fmt.Errorf("%w: more than %d bytes", ErrData, maxData)
	}
	if !strings.HasPrefix(strings.TrimSpace(string(data[:min(64, len(data))])), "{") {
		return ReadLoCoMo(name, bytes.NewReader(data))
	}
	var l labelled
	if err := json.Unmarshal(data, &l); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrData, err)
	}
	set, err := l.set(name)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrData, err)
	}
	return set, nil
}

func (l *labelled) set(name string) (*Set, error) {
	set := &Set{Name: name, Talk: l.Talk}
	var failed error
	add := func(name, kind string, p part) {
		m, err := p.memory(name, kind)
		failed = errors.Join(failed, err)
		set.Memories = append(set.Memories, m)
	}
	switch {
	case l.Languages != nil:
		for _, lang := range slices.Sorted(maps.Keys(l.Languages)) {
			add(lang, lang, l.Languages[lang])
		}
	case l.Repositories != nil:
		set.Strict = true
		for _, key := range slices.Sorted(maps.Keys(l.Repositories)) {
			add(key, "scope", l.repository(key))
		}
	case l.Cases != nil:
		set.Strict = true
		m, err := correctedMemory(l.Cases)
		if failed = err; err == nil {
			set.Memories = append(set.Memories, m)
		}
	case l.Unrelated != nil:
		m := Memory{Name: name, Now: askedAt}
		for _, lang := range slices.Sorted(maps.Keys(l.Unrelated)) {
			for _, text := range l.Unrelated[lang] {
				m.Questions = append(m.Questions, Question{Text: text, Kind: Unrelated})
			}
		}
		set.Memories = append(set.Memories, m)
	case len(l.Questions) > 0 && l.Project == "" && l.Talk == nil: // notes of a dozen subjects, written at once
		set.Strict = true
		for i := range l.Memories {
			l.Memories[i].Session = strconv.Itoa(i / 12)
		}
		twelve := l.part
		twelve.Memories = l.Memories[:min(12, len(l.Memories))]
		add("12", "", twelve)
		add("all", "", l.part)
	case len(l.Questions) > 0:
		add(l.Project, "", l.part)
		if l.Starter != nil {
			add("starter", "", *l.Starter)
		}
	default:
		return nil, errors.New("there is no question")
	}
	return set, failed
}

// repository is a project's memory with what belongs to no project, and the
// prompts typed there that name no other project.
func (l *labelled) repository(key string) part {
	p := l.Repositories[key]
	prefix := "mem/projects/" + p.Name + "/"
	p.Memories = slices.Clone(p.Memories)
	for i := range p.Memories {
		p.Memories[i].Slug = prefix + p.Memories[i].Slug
	}
	p.Memories = append(p.Memories, l.Memories...)
	for _, q := range l.Prompts {
		if q.In == key && q.Names == "" {
			for _, slug := range q.Tell {
				q.Expect = append(q.Expect, prefix+slug)
			}
			p.Questions = append(p.Questions, q)
		}
	}
	return p
}

// memory makes documents in the order of writing, a second apart. kind is that of
// questions with an answer, "" for what they say themselves.
func (p *part) memory(name, kind string) (Memory, error) {
	m := Memory{Name: name, Now: askedAt}
	at := askedAt.Add(-time.Hour)
	for _, w := range p.Memories {
		at = at.Add(time.Second)
		d, err := w.document("", at)
		if err != nil {
			return m, err
		}
		m.Documents = append(m.Documents, d)
	}
	for _, q := range p.Questions {
		if len(q.Expect) > 0 && kind != "" {
			q.Kind = kind
		}
		m.Questions = append(m.Questions, Question{Text: q.Question, Kind: q.Kind, Evidence: q.Expect, Relevant: q.Relevant})
	}
	return m, nil
}

// document makes one of a text with more front matter, in lines.
func (w *written) document(front string, at time.Time) (recall.Document, error) {
	if w.Slug == "" {
		return recall.Document{}, errors.New("a memory has no slug")
	}
	when := w.When
	if days, ok := strings.CutSuffix(strings.TrimPrefix(when, "-"), "d"); ok && strings.HasPrefix(when, "-") {
		n, err := strconv.ParseUint(days, 10, 16)
		if err != nil {
			return recall.Document{}, fmt.Errorf("%s is of %q", w.Slug, w.When)
		}
		when = askedAt.AddDate(0, 0, -int(n)).Format(time.RFC3339)
	}
	if when != "" {
		front += "when: " + when + "\n"
	}
	text := w.Text
	if front != "" {
		text = "---\n" + front + "---\n" + text
	}
	d := recall.Of(w.Slug, frontmatter.Parse(text), at)
	d.Session = w.Session
	return d, nil
}

// correctedMemory has for each case an episode, the fact that was taken from it,
// and a later one that supersedes that.
func correctedMemory(cases []corrected) (Memory, error) {
	m := Memory{Name: "corrected", Now: askedAt}
	var all [3][]recall.Document
	for i, c := range cases {
		old, now := c.Old, c.New
		episode := written{Slug: fmt.Sprintf("mem/journal/%04d", i), Text: c.Episode, When: c.When}
		old.When, old.Session, episode.Session, now.Session = c.When, "first", "first", "later"
		for j, one := range []struct {
			w     *written
			front string
		}{{&episode, "type: episodic\n"}, {&old, "state: superseded\nderived_from: [" + episode.Slug + "]\n"}, {&now, "supersedes: " + old.Slug + "\n"}} {
			d, err := one.w.document(one.front, askedAt.Add(time.Duration(j*100-300)*time.Second+time.Duration(i)*time.Second))
			if err != nil {
				return m, err
			}
			all[j] = append(all[j], d)
		}
		m.Questions = append(m.Questions, Question{Text: c.Question, Kind: "corrected", Evidence: []string{now.Slug}, Outdated: []string{old.Slug, episode.Slug}})
	}
	m.Documents = slices.Concat(all[0], all[1], all[2])
	return m, nil
}
