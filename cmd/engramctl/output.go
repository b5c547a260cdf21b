package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"engramd/internal/client"
)

// relayOut is what became of the question at one relay, in JSON.
type relayOut struct {
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

// answerOut stands in every JSON answer.
type answerOut struct {
	Agent     string       `json:"agent,omitempty"`
	Owner     string       `json:"owner,omitempty"`
	Partial   bool         `json:"partial"` // some relay failed or may have more
	Doubtful  int          `json:"doubtful,omitempty"`
	Relays    []relayOut   `json:"relays"`
	Published []publishOut `json:"published,omitempty"`
	Decider   string       `json:"decider,omitempty"` // of a write with a base; none: it was best effort
}

// entryOut is one version of one record, in JSON.
type entryOut struct {
	Slug      string  `json:"slug"`
	Text      *string `json:"text,omitempty"`
	Removed   bool    `json:"removed,omitempty"`
	Size      int     `json:"size"` // bytes
	CreatedAt int64   `json:"created_at"`
	Time      string  `json:"time"`
	ID        string  `json:"id,omitempty"`
	Hash      string  `json:"hash,omitempty"` // SHA-256 of the text
}

func answerOf(m *client.Memory, s client.Status) answerOut {
	out := answerOut{Partial: s.Partial, Doubtful: s.Doubtful, Relays: relaysOut(s.Relays), Decider: s.Decider}
	if m != nil {
		out.Agent, out.Owner = m.Agent(), m.Owner()
	}
	for _, p := range s.Published {
		out.Published = append(out.Published, publishOut{URL: p.URL, Accepted: p.Accepted, Message: p.Message, Error: errorText(p.Err)})
	}
	return out
}

func relaysOut(relays []client.RelayStatus) []relayOut {
	out := make([]relayOut, 0, len(relays))
	for _, r := range once(relays) {
		out = append(out, relayOut{URL: r.URL, OK: r.Err == nil, Complete: r.Complete, Events: r.Events, Error: errorText(r.Err), TookMS: r.Took.Milliseconds()})
	}
	return out
}

// entryFor returns an entry without its text.
func entryFor(e client.Entry) entryOut {
	return entryOut{Slug: string(e.Slug), Removed: e.Tombstone, Size: e.Size, CreatedAt: e.CreatedAt, Time: stamp(e.CreatedAt), ID: e.ID, Hash: e.Hash}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// stamp returns a time for people and for --at.
func stamp(unix int64) string { return time.Unix(unix, 0).UTC().Format(time.RFC3339) }

// printJSON writes one indented object.
func (e *Env) printJSON(v any) error {
	enc := json.NewEncoder(e.out())
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// printText writes a remembered text: as it is, so that what comes out is what
// went in, byte for byte; only on a terminal without control characters, which
// could make it show or do other things, and with the end of its last line.
func (e *Env) printText(text string) error {
	if e.Terminal.Stdout {
		text = harmless(text)
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
	}
	return e.print("%s", text)
}

// harmless replaces the control characters of a text but tabs and line ends.
func harmless(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return r
		case r < ' ', r >= 0x7f && r < 0xa0, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
			return '\uFFFD'
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}

// counted returns a number of things in words.
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// note tells the person on stderr something that is no error.
func (e *Env) note(format string, args ...any) {
	fmt.Fprintf(e.err(), "engramctl: %s\n", fmt.Sprintf(format, args...))
}

// print writes to stdout.
func (e *Env) print(format string, args ...any) error {
	_, err := fmt.Fprintf(e.out(), format, args...)
	return err
}

// out is stdout, and err is stderr, once no progress bar is in the way.
func (e *Env) out() io.Writer {
	e.err()
	return e.Stdout
}

func (e *Env) err() io.Writer {
	if e.hideBar != nil {
		e.hideBar()
		e.hideBar = nil
	}
	return e.Stderr
}
