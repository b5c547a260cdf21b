package transcript

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"io"
	"sync"
	"text/template"
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

//go:embed transcript.md.tmpl
var text string

var page = sync.OnceValue(func() *template.Template {
	funcs := template.FuncMap{"code": code, "indented": block, "when": when, "who": who, "npub": npub, "lag": lag, "hash": hash}
	return template.Must(template.New("transcript").Funcs(funcs).Parse(text))
})

// transcript is what the template is filled with.
type transcript struct {
	contract.Thread
	Options
	Records []record
}

// record is one line of a thread's life: an entry, a move, or what is left of
// one.
type record struct {
	contract.Place
	Number  int // in the transcript, from 1 on
	Entry   *contract.Entry
	Move    *contract.Move
	Gap     *contract.Gap
	Arrived int64
	Created int64 // by its author's word
	By      string
	Closed  bool
}

// Markdown writes the transcript of a thread.
func Markdown(out io.Writer, t contract.Thread, o Options) error {
	x := transcript{Thread: t, Options: o, Records: records(t)}
	for i := range x.Records {
		r := &x.Records[i]
		r.Number, r.Closed = i+1, o.Closed
		switch {
		case r.Move != nil:
			r.By = x.author(contract.Party{PubKey: r.Move.By})
		case r.Entry != nil:
			r.By = x.author(r.Entry.Author)
		}
	}
	w := bufio.NewWriter(out)
	if err := page().Execute(w, x); err != nil {
		return err
	}
	return w.Flush()
}

// records returns all lines, in the order of arrival as far as it is known.
func records(t contract.Thread) []record {
	var all []record
	moves, entries := places(t)
	for i, m := range t.Moves {
		all = append(all, record{Place: contract.Place{N: m.N, CreatedAt: moves[i]}, Move: &m, Arrived: m.ArrivedAt, Created: m.CreatedAt})
	}
	for i, e := range t.Entries {
		all = append(all, record{Place: contract.Place{N: e.N, K: e.K, CreatedAt: entries[i]}, Entry: &e, Arrived: e.ArrivedAt, Created: e.CreatedAt})
	}
	if t.Order != nil {
		for _, g := range t.Order.Gaps {
			all = append(all, record{Place: contract.Place{N: g.N, CreatedAt: g.ReceivedAt}, Gap: &g})
		}
	}
	return contract.Arrange(all, func(r *record) contract.Place { return r.Place })
}

// Named reports whether the parties agreed on the key that signed the order.
func (x transcript) Named() bool {
	return x.Order.By(x.Contract.Agreed.OrderKeys())
}

// Tally counts what the record has, and says what it may lack.
func (x transcript) Tally() (lines []string) {
	count, sealed := map[contract.Signature]int{}, 0
	for _, e := range x.Entries {
		if payloadHolds(e) {
			sealed++
			continue
		}
		count[e.Signature]++
	}
	say := func(n int, text string) {
		if n > 0 {
			lines = append(lines, fmt.Sprintf("%d%s", n, text))
		}
	}
	for _, s := range []contract.Signature{contract.SignatureHolds, contract.SignatureDiffers, contract.SignatureUnseen, contract.SignatureNone} {
		say(count[s], ": "+verdict(s))
	}
	say(sealed, ": signature holds over an encrypted payload, and not over what the exporter says is in it")
	say(x.Withheld, " more are private to the exporter and were left out")
	say(x.Strangers, " events under the same contract id are by or to other keys and were left out")
	return lines
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

// Signature is what is known of the signature of an entry.
func (r record) Signature() string {
	switch {
	case payloadHolds(*r.Entry):
		return "holds over the encrypted payload"
	case r.Entry.Signature == contract.SignatureHolds:
		return "holds"
	}
	return verdict(r.Entry.Signature)
}

// Opened are the sealed entries of which it is known what they say, by the word
// of who opened them.
func (x transcript) Opened() (opened []record) {
	for _, r := range x.Records {
		if r.Entry != nil && r.Entry.Sealed && !r.Entry.Unreadable && !x.Closed {
			opened = append(opened, r)
		}
	}
	return opened
}

func lag(at, created int64) string {
	d := time.Duration(at-created) * time.Second
	if at == 0 || d <= lateness {
		return ""
	}
	return fmt.Sprintf(" (**%s after its date**)", d)
}

// author says who an author is, and what in the contract.
func (x transcript) author(p contract.Party) string {
	if p.AgentID == "" {
		for _, of := range []contract.Party{x.Contract.Poster, x.Contract.Worker} {
			if of.PubKey == p.PubKey {
				p = of
			}
		}
	}
	return cmp.Or(x.Role(p.PubKey), "an unknown key") + ", " + who(p)
}

// Role returns what a key is, and that it is the exporter's.
func (x transcript) Role(pubkey string) string {
	role := x.Contract.Role(pubkey)
	if role != "" && pubkey == x.By {
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

func hash(payload string) string {
	sum := sha256.Sum256([]byte(payload))
	return hex.EncodeToString(sum[:])
}
