package cliutil

import "engramd/internal/client"

// KeyOut is a public key in JSON.
type KeyOut struct {
	Npub   string `json:"npub"`
	Pubkey string `json:"pubkey"` // hex
}

// RelayOut is what became of the question at one relay, in JSON.
type RelayOut struct {
	URL      string `json:"url"`
	OK       bool   `json:"ok"`       // it answered
	Complete bool   `json:"complete"` // and has no more
	Events   int    `json:"events"`
	Error    string `json:"error,omitempty"`
	TookMS   int64  `json:"took_ms"`
}

// publishOut is what a relay said to what was written, in JSON.
type publishOut struct {
	URL      string `json:"url"`
	Accepted bool   `json:"accepted"`
	Message  string `json:"message,omitempty"`
	Error    string `json:"error,omitempty"`
}

// AnswerOut stands in every JSON answer.
type AnswerOut struct {
	Agent     string       `json:"agent,omitempty"`
	Owner     string       `json:"owner,omitempty"`
	Partial   bool         `json:"partial"` // some relay failed or may have more
	Doubtful  int          `json:"doubtful,omitempty"`
	Relays    []RelayOut   `json:"relays"`
	Published []publishOut `json:"published,omitempty"`
	Decider   string       `json:"decider,omitempty"` // of a write with a base; none: it was best effort
}

// EntryOut is one version of one record, in JSON.
type EntryOut struct {
	Slug      string  `json:"slug"`
	Text      *string `json:"text,omitempty"`
	Removed   bool    `json:"removed,omitempty"`
	Size      int     `json:"size"` // bytes
	CreatedAt int64   `json:"created_at"`
	Time      string  `json:"time"`
	ID        string  `json:"id,omitempty"`
	Hash      string  `json:"hash,omitempty"` // SHA-256 of the text
}

// Pair is whose memory an answer is of.
type Pair interface {
	Agent() string
	Owner() string
}

// AnswerOf says what became of the relays; nil is no pair.
func AnswerOf(m Pair, s client.Status) AnswerOut {
	out := AnswerOut{Partial: s.Partial, Doubtful: s.Doubtful, Relays: RelaysOut(s.Relays), Decider: s.Decider}
	if m != nil {
		out.Agent, out.Owner = m.Agent(), m.Owner()
	}
	for _, p := range s.Published {
		out.Published = append(out.Published, publishOut{URL: p.URL, Accepted: p.Accepted, Message: p.Message, Error: ErrorText(p.Err)})
	}
	return out
}

// RelaysOut returns what became of the relays as JSON shows it.
func RelaysOut(relays []client.RelayStatus) []RelayOut {
	out := make([]RelayOut, 0, len(relays))
	for _, r := range Once(relays) {
		out = append(out, RelayOut{URL: r.URL, OK: r.Err == nil, Complete: r.Complete, Events: r.Events, Error: ErrorText(r.Err), TookMS: r.Took.Milliseconds()})
	}
	return out
}

// EntryFor returns an entry without its text.
func EntryFor(e client.Entry) EntryOut {
	return EntryOut{Slug: string(e.Slug), Removed: e.Tombstone, Size: e.Size, CreatedAt: e.CreatedAt, Time: Stamp(e.CreatedAt), ID: e.ID, Hash: e.Hash}
}

// ErrorText returns the text of an error; "" of none.
func ErrorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
