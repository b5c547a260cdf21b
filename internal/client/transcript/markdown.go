package transcript

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/nbd-wtf/go-nostr/nip19"

	"engramd/internal/client/contract"
)

// lateness is how much later than its date an event may arrive before the
// transcript points at it.
const lateness = 15 * time.Minute

// Options say what stands around the record.
type Options struct {
	By     string    // pubkey of the exporter, in hex
	At     time.Time // of the export
	Relays []string  // that were asked
	// Notes are warnings about the export as a whole: relays that failed.
	Notes []string
	// Withheld is how many private entries were left out.
	Withheld int
	// Closed leaves out what sealed entries say.
	Closed bool
}

// record is one line of a thread's life: an entry, a move, or what is left of
// one.
type record struct {
	place contract.Place
	entry *contract.Entry
	move  *contract.Move
	gap   *contract.Gap
}

// Markdown writes the transcript of a thread.
func Markdown(out io.Writer, t contract.Thread, o Options) error {
	w := &writer{Writer: bufio.NewWriter(out), t: t, o: o}
	w.head()
	w.line("## Record\n")
	records := records(t)
	for i, r := range records {
		switch {
		case r.move != nil:
			w.move(i+1, *r.move)
		case r.gap != nil:
			w.gap(i+1, *r.gap)
		default:
			w.entry(i+1, *r.entry)
		}
	}
	if len(records) == 0 {
		w.line("Nothing was said, and no state event was seen.\n")
	}
	w.sealedTexts(records)
	if d := t.Contract.Decided; d != "" && t.Contract.DecidedEvent == "" {
		w.line("### Decision: %s, by the %s\n", code(t.Contract.Status), code(d))
		w.line("- Made at: %s", when(t.Contract.UpdatedAt))
		w.line("- Signature: **none**. No party made this move; it is the word of the relay %s, and holds there only.", code(t.Contract.Home))
		if note := t.Contract.DecidedNote; note != "" {
			w.line("- Note:\n%s", block(note))
		}
	}
	return w.Flush()
}

type writer struct {
	*bufio.Writer
	t contract.Thread
	o Options
}

func (w *writer) line(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }

// records returns all lines, in the order of arrival as far as it is known.
func records(t contract.Thread) []record {
	var all []record
	moves, entries := places(t)
	for i, m := range t.Moves {
		all = append(all, record{place: contract.Place{N: m.N, CreatedAt: moves[i]}, move: &m})
	}
	for i, e := range t.Entries {
		all = append(all, record{place: contract.Place{N: e.N, K: e.K, CreatedAt: entries[i]}, entry: &e})
	}
	if t.Order != nil {
		for _, g := range t.Order.Gaps {
			all = append(all, record{place: contract.Place{N: g.N, CreatedAt: g.ReceivedAt}, gap: &g})
		}
	}
	return contract.Arrange(all, func(r *record) contract.Place { return r.place })
}

// head says what this is, between whom, and how to check it.
func (w *writer) head() {
	c := w.t.Contract
	w.line("# Contract %s\n", code(c.ID))
	status := code(c.Status)
	if c.Stateless {
		status = "unknown: no state event was seen, and who of the two is the poster is not known"
	}
	if c.Unproven {
		status += ", **unproven**: the offer that it began with is not known, and this is where the newest move led"
	}
	w.line("- Status: %s", status)
	w.line("- %s: %s", w.role(c.Poster.PubKey), who(c.Poster))
	if c.Worker.PubKey != "" && c.Worker.PubKey != c.Poster.PubKey {
		w.line("- %s: %s", w.role(c.Worker.PubKey), who(c.Worker))
	} else {
		w.line("- worker: nobody is named")
	}
	if c.Arbitrator != (contract.Party{}) {
		w.line("- arbitrator: %s", who(c.Arbitrator))
	}
	if key := c.Agreed.Decider; key != "" {
		w.line("- decider: %s", npub(key))
	}
	if key := c.Agreed.Expirer; key != "" {
		w.line("- expirer: %s", npub(key))
	}
	w.line("- Amount: %d sats", c.AmountSats)
	if c.Deadline != 0 {
		w.line("- Deadline: %s", when(c.Deadline))
	}
	if c.Description != "" {
		w.line("- Description, by the poster:\n%s", strings.TrimSuffix(block(c.Description), "\n"))
	}
	w.line("Exported %s by %s (%s), from:\n", w.o.At.UTC().Format(time.RFC3339), npub(w.o.By), cmp.Or(w.t.Contract.Role(w.o.By), "no party of the contract"))
	for _, r := range w.o.Relays {
		w.line("- %s", code(r))
	}
	w.line("")
	w.tally()
	w.line("Names of agents are what they call themselves; the keys are who they are. A date is its author's word, as far as it is signed; the time of arrival is a relay's. "+
		"Every event named here is in %s as it was signed: %s takes it, and every program that knows Nostr checks it.\n", code("events.jsonl"), code("engramd import events.jsonl"))
}

// tally counts what the record has, and says what it may lack.
func (w *writer) tally() {
	count, sealed := map[contract.Signature]int{}, 0
	for _, e := range w.t.Entries {
		if payloadHolds(e) {
			sealed++
			continue
		}
		count[e.Signature]++
	}
	w.line("%d state moves, all signed; %d entries:\n", len(w.t.Moves), len(w.t.Entries))
	for _, s := range []contract.Signature{contract.SignatureHolds, contract.SignatureDiffers, contract.SignatureUnseen, contract.SignatureNone} {
		if n := count[s]; n > 0 {
			w.line("- %d: %s", n, verdict(s))
		}
	}
	if sealed > 0 {
		w.line("- %d: signature holds over an encrypted payload, and not over what the exporter says is in it", sealed)
	}
	if n := w.o.Withheld; n > 0 {
		w.line("- %d more are private to the exporter and were left out", n)
	}
	if n := w.t.Strangers; n > 0 {
		w.line("- %d events under the same contract id are by or to other keys and were left out", n)
	}
	w.line("")
	if w.t.Order == nil {
		w.line("The order of arrival is **unproven**: no relay has signed it. What follows stands where its author's date puts it, unless a relay numbered it.\n")
	} else {
		w.line("The order is that of arrival at %s, which signed it with the key %s: see %s.\n", code(w.t.Contract.Home), npub(w.t.Order.Event.PubKey), code("order.json"))
	}
	for _, note := range w.o.Notes {
		w.line("**Incomplete**: %s\n", code(note))
	}
}

func verdict(s contract.Signature) string {
	switch s {
	case contract.SignatureHolds:
		return "signature holds"
	case contract.SignatureDiffers:
		return "**the relay's API said something else than was signed**; what was signed is shown"
	case contract.SignatureNone:
		return "private to the exporter, never signed: the exporter's word and the relay's"
	}
	return "**signature not checked**: the API has it, and no signed event was shown"
}

func brief(s contract.Signature) string {
	if s == contract.SignatureHolds {
		return "holds"
	}
	return verdict(s)
}

func (w *writer) move(n int, m contract.Move) {
	from := code(m.From) + " → "
	if m.From == "" {
		from = ""
	}
	w.line("### %d. State: %s%s\n", n, from, code(m.To))
	w.author(contract.Party{PubKey: m.By})
	w.line("- Signature: holds; event %s", code(m.Event.ID))
	w.line("- Created: %s", when(m.CreatedAt))
	w.arrived(m.N, 0, m.ArrivedAt, m.CreatedAt)
	if m.Withdrawn != nil {
		w.withdrawn(*m.Withdrawn)
	}
	if !m.Follows {
		w.line("- **Does not follow** from the moves before it that were seen: %s", code(m.Why))
	}
	if m.Note != "" {
		w.line("- Note:\n%s", strings.TrimSuffix(block(m.Note), "\n"))
	}
	w.line("")
}

func (w *writer) entry(n int, e contract.Entry) {
	w.line("### %d. %s, %s\n", n, code(e.Type), code(e.Visibility))
	w.author(e.Author)
	w.line("- Entry: %s", code(e.EntryID))
	verdict := brief(e.Signature)
	if payloadHolds(e) {
		verdict = "holds over the encrypted payload"
	}
	if e.EventID != "" {
		w.line("- Signature: %s; event %s", verdict, code(e.EventID))
	} else {
		w.line("- Signature: %s", verdict)
	}
	w.line("- Created: %s", when(e.CreatedAt))
	w.arrived(e.N, e.K, e.ArrivedAt, e.CreatedAt)
	if e.Withdrawn != nil {
		w.withdrawn(*e.Withdrawn)
	}
	if e.Sealed {
		w.sealed(n, e)
		return
	}
	w.says(e)
}

func (w *writer) says(e contract.Entry) {
	for _, a := range e.Attachments {
		w.line("- Attachment: %s", code(a))
	}
	w.WriteString(block(e.Content))
}

func (w *writer) arrived(n, k, at, created int64) {
	switch {
	case k > 0:
		w.line("- Number: after %d; the exporter's private entry %d", n, k)
	case n > 0:
		w.line("- Number: %d", n)
	}
	if at == 0 {
		w.line("- Arrived: not known")
		return
	}
	w.line("- Arrived: %s%s", when(at), lag(at, created))
}

func (w *writer) withdrawn(of contract.Withdrawal) {
	text := "- **Withdrawn** by its author at " + when(of.At)
	switch {
	case of.Event != nil:
		text += ", by the signed request " + code(of.Event.ID)
	case of.Request != "":
		text += ", by the request " + code(of.Request) + ", by the relay's word"
	default:
		text += ", by the relay's word"
	}
	w.line("%s", text)
}

func (w *writer) gap(n int, g contract.Gap) {
	w.line("### %d. Gone: %s\n", n, code(g.Type))
	if g.Role == "poster" || g.Role == "worker" {
		w.line("- By: the %s", g.Role)
	} else {
		w.line("- By: an author whose part is not known")
	}
	w.line("- Number: %d", g.N)
	w.line("- Arrived: %s", when(g.ReceivedAt))
	if g.Status != "" {
		w.line("- State: %s", code(g.Previous+" → "+g.Status))
	}
	w.line("- Its author asked the relay to forget him, or the relay's operator removed it. That it was there is the relay's word.\n")
}

func lag(at, created int64) string {
	d := time.Duration(at-created) * time.Second
	if d <= lateness {
		return ""
	}
	return fmt.Sprintf(" (**%s after its date**)", d)
}

func (w *writer) author(p contract.Party) {
	if p.AgentID == "" {
		for _, of := range []contract.Party{w.t.Contract.Poster, w.t.Contract.Worker} {
			if of.PubKey == p.PubKey {
				p = of
			}
		}
	}
	w.line("- By: %s, %s", cmp.Or(w.role(p.PubKey), "an unknown key"), who(p))
}

// role returns what a key is, and that it is the exporter's.
func (w *writer) role(pubkey string) string {
	role := w.t.Contract.Role(pubkey)
	if role != "" && pubkey == w.o.By {
		return role + " (the exporter)"
	}
	return role
}

func who(p contract.Party) string {
	if p.AgentID == "" || p.AgentID == p.PubKey {
		return npub(p.PubKey)
	}
	return fmt.Sprintf("%s, who calls itself %s", npub(p.PubKey), code(p.AgentID))
}

func npub(key string) string {
	if key == "" {
		return "key not known"
	}
	text, err := nip19.EncodePublicKey(key)
	if err != nil {
		return code(key)
	}
	return code(text)
}

func when(unix int64) string {
	if unix == 0 {
		return "not known"
	}
	return time.Unix(unix, 0).UTC().Format(time.RFC3339)
}
