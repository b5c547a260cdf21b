package load

import (
	"encoding/hex"
	"fmt"
	"path/filepath"
)

// Version is that of the corpus and the sets: files of another version are made
// anew.
const Version = 1

// Shape of a corpus. Even arrivals are notes, odd ones engrams.
const (
	// corpusEnd is when the last event was made: 2025-01-01T00:00:00Z.
	corpusEnd = 1735689600
	// corpusSpan is the time between first and last, in seconds.
	corpusSpan = 365 * 24 * 3600
	// notesPerAuthor is what one question of the workload query asks for.
	notesPerAuthor         = 500
	minAuthors, maxAuthors = 10, 200
	mostEngrams            = 5000 // of the first agent
	otherAgents            = 100
	owners                 = 10
	mostRare               = 1000
)

// What can be asked for in a corpus.
const (
	RareTag    = "rare"    // the t tag of Corpus.Rare notes
	RareWord   = "zebra"   // a word of the same notes
	CommonWord = "giraffe" // a word of every second note
)

// ID is an event's id.
type ID [32]byte

// Hex returns the id as it stands in messages.
func (id ID) Hex() string { return hex.EncodeToString(id[:]) }

// Entry is what is known of one event of the corpus.
type Entry struct {
	ID        ID
	CreatedAt int64 // Unix seconds
	Who       int   // place in Authors of a note, in Agents of an engram
	Engram    bool
	Rare      bool // has the t tag RareTag and the word RareWord
	Common    bool // has the word CommonWord
}

// Corpus is a set of events that relays are filled with before they are asked.
// Its content, but for the signatures, follows from size and seed.
type Corpus struct {
	Path    string // JSON Lines, one event each, in order of arrival
	Bytes   int64  // of that file
	Size    int
	Seed    uint64
	Authors []Key   // of the notes, each in turn
	Agents  []Agent // Agents[0] has the most engrams
	Entries []Entry // in order of arrival; created_at rises
}

// CorpusPath returns where a corpus lies in a cache.
func CorpusPath(cache string, size int, seed uint64) string {
	return filepath.Join(cache, fmt.Sprintf("corpus-%d-%d.jsonl", size, seed))
}

// NotesOf returns the notes of an author, newest first, at most limit.
func (c *Corpus) NotesOf(author, limit int) []Entry {
	return c.newest(limit, func(e *Entry) bool { return !e.Engram && e.Who == author })
}

// EngramsOf returns the engrams of an agent, newest first, at most limit. The
// oldest is at the agent's Address(0), the newest at Address(Engrams-1).
func (c *Corpus) EngramsOf(agent, limit int) []Entry {
	return c.newest(limit, func(e *Entry) bool { return e.Engram && e.Who == agent })
}

// Rare returns how many notes have RareTag and RareWord.
func (c *Corpus) Rare() int { return c.count(func(e *Entry) bool { return e.Rare }) }

// Common returns how many notes have CommonWord.
func (c *Corpus) Common() int { return c.count(func(e *Entry) bool { return e.Common }) }

// Reader is key number n of somebody who is no party to anything in the corpus.
func (c *Corpus) Reader(n int) (Key, error) { return NewKey(c.Seed, "reader", n) }

func (c *Corpus) newest(limit int, is func(*Entry) bool) []Entry {
	var found []Entry
	for i := len(c.Entries) - 1; i >= 0 && len(found) < limit; i-- {
		if is(&c.Entries[i]) {
			found = append(found, c.Entries[i])
		}
	}
	return found
}

func (c *Corpus) count(is func(*Entry) bool) (n int) {
	for i := range c.Entries {
		if is(&c.Entries[i]) {
			n++
		}
	}
	return n
}

// newCorpus returns a corpus without entries.
func newCorpus(cache string, size int, seed uint64) (*Corpus, error) {
	if size < 1 || size > MaxSize {
		return nil, fmt.Errorf("%w: a corpus of %d events", ErrOptions, size)
	}
	c := &Corpus{Path: CorpusPath(cache, size, seed), Size: size, Seed: seed}
	notes := (size + 1) / 2
	var err error
	// So many authors that a question for 500 notes of one gets 500, from 10,000
	// events on.
	if c.Authors, err = newKeys(seed, "author", min(max(notes/notesPerAuthor, minAuthors), maxAuthors)); err != nil {
		return nil, err
	}
	c.Agents, err = newAgents(seed, "agent", 1+otherAgents)
	return c, err
}

// newAgents are n agents of a role, who share a few owners.
func newAgents(seed uint64, role string, n int) ([]Agent, error) {
	keys, err := newKeys(seed, role, n)
	if err != nil {
		return nil, err
	}
	owner, err := newKeys(seed, role+"'s owner", min(owners, n))
	if err != nil {
		return nil, err
	}
	agents := make([]Agent, n)
	for i := range agents {
		if agents[i], err = newAgent(keys[i], owner[i%len(owner)]); err != nil {
			return nil, err
		}
	}
	return agents, nil
}

// place returns what stands at arrival i of the corpus: who made it, and as
// which of his notes or engrams.
func (c *Corpus) place(i int) (e Entry, ordinal int) {
	e.CreatedAt = corpusEnd - corpusSpan + int64(float64(corpusSpan)*float64(i+1)/float64(c.Size))
	j := i / 2
	if i%2 == 0 {
		notes := (c.Size + 1) / 2
		e.Who = j % len(c.Authors)
		e.Rare = crosses(j, notes, min(mostRare, notes/10))
		e.Common = j%2 == 0
		return e, j / len(c.Authors)
	}
	e.Engram = true
	engrams, most := c.Size/2, min(mostEngrams, c.Size/4)
	before := j * most / engrams // of the first agent's
	if crosses(j, engrams, most) {
		return e, before
	}
	others := j - before
	e.Who = 1 + others%otherAgents
	return e, others / otherAgents
}

// crosses spreads k marks evenly over n places: it reports whether place j has
// one.
func crosses(j, n, k int) bool { return (j+1)*k/n > j*k/n }
