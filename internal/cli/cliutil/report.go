package cliutil

import (
	"engramd/internal/cli/settings"
	"errors"
	"fmt"

	"engramd/internal/agent/view"
	"engramd/internal/client"
)

// Report says on stderr which relays failed, and that an answer is partial. It
// returns the error to end with: err, or with --strict one for a partial
// answer.
func (e *Env) Report(s client.Status, err error) error {
	return e.ReportWith(s, err, "engramctl sync brings the others up to date")
}

// ReportWith is Report with what helps if some relays did not take what was
// written.
func (e *Env) ReportWith(s client.Status, err error, remedy string) error {
	failed := map[string]bool{}
	for _, r := range Once(s.Relays) {
		failed[r.URL] = r.Err != nil
		if !namesRelays(err) {
			ReportRelay(e, r)
		}
	}
	accepted := 0
	for _, p := range s.Published {
		if p.Accepted {
			accepted++
			continue
		}
		if !namesRelays(err) && !failed[p.URL] && !s.Past {
			e.Note("%s did not take it: %v", p.URL, p.Err)
		}
	}
	if set, bad := e.Settings(); errors.Is(err, client.ErrAuth) && bad == nil && set.Owner != "" && set.Agent == "" {
		e.Note("a private relay takes this agent's memory once its operator lists the owner, %s, and the owner has approved the agent: engramctl agents allow NPUB, with the owner's key (engramctl key show prints the agent's NPUB)", settings.Npub(set.Owner))
	}
	if line := view.BehindLine(s); errors.Is(err, client.ErrBehind) {
		e.Note("%s", RepairHint)
	} else if line != "" {
		e.Note("%s", line)
	}
	switch {
	case err != nil:
		return err
	case s.Queued: // which is said on stdout
	case s.Stale:
		e.Note("no relay answers: this is what this machine has")
	case s.Past:
		e.Note("it was stored, and another version has taken its place since: engramctl mem log shows both")
	case accepted < len(s.Published):
		e.Note("written to %d of %d relays; %s", accepted, len(s.Published), remedy)
	case s.Unknown != nil:
		e.Note("partial answer: what this machine wrote cannot be read now, there may be more or newer memory: %v", s.Unknown)
	case s.Partial:
		e.Note("partial answer: not every relay answered in full, there may be more or newer memory")
	}
	if s.Rebased > 0 {
		e.Note("somebody else wrote meanwhile: the change was made on that")
	}
	if s.BestEffort() {
		e.Note("no relay decided: none of them knows a compare-and-set, and so --base was best effort: who wrote at the same moment may have been told the same")
	}
	if s.Doubtful > 0 {
		e.Note("%s", Counted(s.Doubtful, "event at this place cannot be read and was left out", "events at this place cannot be read and were left out"))
	}
	if s.Behind > 0 && e.Flags.Strict {
		return client.ErrBehind
	}
	if s.Partial && e.Flags.Strict {
		return fmt.Errorf("%w in full, and all of them are needed here", client.ErrPartial)
	}
	return nil
}

// RepairHint is what helps where relays lack what this machine has.
const RepairHint = "engramctl repair sends again what this machine has; engramctl repair --accept-loss gives up what it has not"

// Once leaves out what is said again of a relay that failed: one that is down
// fails at the question for the agent's list of relays as well.
func Once(relays []client.RelayStatus) []client.RelayStatus {
	var out []client.RelayStatus
	failed := map[string]bool{}
	for _, r := range relays {
		if !failed[r.URL] {
			out = append(out, r)
		}
		failed[r.URL] = failed[r.URL] || r.Err != nil
	}
	return out
}

// ReportRelay says on stderr what became of one relay.
func ReportRelay(e *Env, r client.RelayStatus) {
	switch {
	case errors.Is(r.Err, client.ErrHistoryUnasked):
		e.Note("%s was not asked for history, because only the agent's list names it: only its current version counts", r.URL)
	case errors.Is(r.Err, client.ErrNoHistory):
		e.Note("%s keeps no history that it shows: only its current version counts", r.URL)
	case r.Err != nil:
		e.Note("%s failed: %v", r.URL, r.Err)
	case r.Rejected > 0:
		e.Note("%s sent %s", r.URL, Counted(r.Rejected, "event that is wrong or was not asked for", "events that are wrong or were not asked for"))
	case !r.Complete:
		e.Note("%s may have more than it sent", r.URL)
	}
}

// namesRelays reports whether an error's text says what happened at each relay.
func namesRelays(err error) bool {
	return errors.Is(err, client.ErrNoRelay) || errors.Is(err, client.ErrPartial) || errors.Is(err, client.ErrAuth) || errors.Is(err, client.ErrUnverified) && !errors.Is(err, client.ErrConflict)
}

// ContractRemedy is for relays that did not take an event.
const ContractRemedy = "contract export and engramd import bring the others up to date"

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
	Stale     bool         `json:"stale,omitempty"`    // no relay answered, and this machine did
	Behind    bool         `json:"behind,omitempty"`   // this machine knows newer versions than relays show
	BehindN   int          `json:"behind_n,omitempty"` // of how many memories
	Withheld  int          `json:"withheld,omitempty"` // of how many of them it has no text
	Rebased   int          `json:"rebased,omitempty"`  // how often a change was made again, on what others wrote meanwhile
	Queued    bool         `json:"queued,omitempty"`   // kept on this machine until a relay answers
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
	Hash      string  `json:"hash,omitempty"`         // SHA-256 of the text
	Expires   string  `json:"expires,omitempty"`      // as Time
	Unsent    bool    `json:"not_sent_yet,omitempty"` // it waits on this machine
}

// Pair is whose memory an answer is of.
type Pair interface {
	Agent() string
	Owner() string
}

// AnswerOf says what became of the relays; nil is no pair.
func AnswerOf(m Pair, s client.Status) AnswerOut {
	out := AnswerOut{Partial: s.Partial, Doubtful: s.Doubtful, Stale: s.Stale, Behind: s.Behind > 0, BehindN: s.Behind, Withheld: s.Withheld, Rebased: s.Rebased, Queued: s.Queued, Relays: RelaysOut(s.Relays), Decider: s.Decider}
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
	out := EntryOut{Slug: string(e.Slug), Removed: e.Tombstone, Size: e.Size, CreatedAt: e.CreatedAt, Time: Stamp(e.CreatedAt), ID: e.ID, Hash: e.Hash, Unsent: e.ID == "" && e.Hash != ""}
	if e.Expires > 0 {
		out.Expires = Stamp(e.Expires)
	}
	return out
}

// Expires is what a line about an entry says of when it expires; "" for never.
func Expires(e client.Entry) string {
	if e.Expires == 0 {
		return ""
	}
	return "  expires: " + Stamp(e.Expires)
}

// ErrorText returns the text of an error; "" of none.
func ErrorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
