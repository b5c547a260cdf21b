package web_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/btcsuite/btcd/btcec/v2"
	"github.com/btcsuite/btcd/btcec/v2/schnorr"
	"github.com/nbd-wtf/go-nostr"
	"github.com/nbd-wtf/go-nostr/nip44"

	"engramd/nips/nipae"
)

// eventCase is an event, and what the pair of agent and owner takes it for.
type eventCase struct {
	Name  string       `json:"name"`
	Event *nostr.Event `json:"event"`
	Fault string       `json:"fault,omitempty"` // "" for an engram
	Slug  string       `json:"slug,omitempty"`
	Text  *string      `json:"text,omitempty"`
}

// faultOf is the word for an error of nipae.Open.
func faultOf(t *testing.T, err error) string {
	switch {
	case errors.Is(err, nipae.ErrPayload):
		return "not-payload"
	case errors.Is(err, nipae.ErrNotEngram):
		return "not-engram"
	case errors.Is(err, nipae.ErrSignature):
		return "not-signed"
	case errors.Is(err, nipae.ErrUnreadable):
		return "not-decrypted"
	case errors.Is(err, nipae.ErrBody):
		return "body"
	}
	t.Fatalf("an error of no kind: %v", err)
	return ""
}

// pair makes events of one pair, the same in every run.
type pair struct {
	t                        *testing.T
	key                      nipae.ConversationKey
	secret, ownerSecret      string
	agent, owner             string
	made                     byte
	cases                    []any
	faults                   map[string]int
	template                 func() *nostr.Event
	proposalID, proposalSlug string
}

func newPair(t *testing.T) *pair {
	p := readPublished(t)
	w := &pair{t: t, secret: p.Inputs.Agent, ownerSecret: p.Inputs.Owner, faults: map[string]int{}, proposalID: strings.Repeat("0a", 16)}
	w.agent, w.owner = publicKey(t, w.secret), publicKey(t, w.ownerSecret)
	key, err := nipae.DeriveConversationKey(w.secret, w.owner)
	if err != nil {
		t.Fatal(err)
	}
	w.key, w.proposalSlug = key, nipae.ProposalPrefix+w.proposalID
	w.template = func() *nostr.Event {
		return w.event(`{"slug":"mem/example","value":"hello"}`, w.key.Address("mem/example"))
	}
	return w
}

func publicKey(t *testing.T, secret string) string {
	t.Helper()
	raw, err := hex.DecodeString(secret)
	if err != nil {
		t.Fatal(err)
	}
	_, public := btcec.PrivKeyFromBytes(raw)
	return hex.EncodeToString(schnorr.SerializePubKey(public))
}

// event seals any bytes as a body at a d.
func (w *pair) event(body, d string) *nostr.Event {
	w.t.Helper()
	w.made++
	nonce := sha256.Sum256([]byte{w.made})
	content, err := nip44.Encrypt(body, w.key, nip44.WithCustomNonce(nonce[:]))
	if err != nil {
		w.t.Fatal(err)
	}
	ev := &nostr.Event{CreatedAt: 1700000000 + nostr.Timestamp(w.made), Kind: nipae.Kind, Tags: nostr.Tags{{"d", d}, {"p", w.owner}}, Content: content}
	return w.signed(ev, w.secret)
}

// signed sets author, id and signature.
func (w *pair) signed(ev *nostr.Event, secret string) *nostr.Event {
	w.t.Helper()
	raw, err := hex.DecodeString(secret)
	if err != nil {
		w.t.Fatal(err)
	}
	private, public := btcec.PrivKeyFromBytes(raw)
	ev.PubKey = hex.EncodeToString(schnorr.SerializePubKey(public))
	id := sha256.Sum256(ev.Serialize())
	sig, err := schnorr.Sign(private, id[:], schnorr.CustomNonce([32]byte{}))
	if err != nil {
		w.t.Fatal(err)
	}
	ev.ID, ev.Sig = hex.EncodeToString(id[:]), hex.EncodeToString(sig.Serialize())
	return ev
}

// add judges an event of the agent.
func (w *pair) add(name string, ev *nostr.Event) {
	c := eventCase{Name: name, Event: ev}
	engram, err := nipae.Open(w.key, w.agent, w.owner, ev)
	if err != nil {
		c.Fault = faultOf(w.t, err)
	} else {
		c.Slug = string(engram.Slug())
		if text, live := engram.Body.Text(); live {
			c.Text = &text
		}
	}
	w.faults[c.Fault]++
	w.cases = append(w.cases, c)
}

// TestGoldenTableOfEvents writes and checks web-events.json.
func TestGoldenTableOfEvents(t *testing.T) {
	w := newPair(t)
	w.tagged()
	w.contents()
	w.signatures()
	w.addresses()
	for _, fault := range []string{"", "not-payload", "not-engram", "not-signed", "not-decrypted", "body"} {
		if w.faults[fault] < 3 {
			t.Errorf("%d events are %q", w.faults[fault], fault)
		}
	}
	var sizes []any
	r := seeded(3)
	for n := 1; n <= nipae.MaxBody; n += 1 + r.IntN(1+n/8) {
		for _, m := range []int{n - 1, n, n + 1} {
			if m > 0 && m <= nipae.MaxBody {
				sizes = append(sizes, [2]int{m, nipae.PaddedSize(m)})
			}
		}
	}
	pair := map[string]string{"secret": w.secret, "owner_secret": w.ownerSecret, "agent": w.agent, "owner": w.owner, "key": hex.EncodeToString(w.key[:])}
	(&table{name: "web-events.json", about: "Events and what nips/nipae takes them for; ids (NIP-01) of events with odd texts; conversation keys and addresses; lengths and what NIP-44 pads them to. Test keys.",
		sections: []section{{"pair", []any{pair}}, {"cases", w.cases}, {"ids", w.ids()}, {"keys", keys(t)}, {"sizes", sizes}}}).hold(t, 300)
}

func (w *pair) tagged() {
	d, p := w.key.Address("mem/example"), w.owner
	for _, c := range []struct {
		name string
		tags nostr.Tags
	}{
		{"as it should be", nostr.Tags{{"d", d}, {"p", p}}}, {"p first", nostr.Tags{{"p", p}, {"d", d}}}, {"alt", nostr.Tags{{"d", d}, {"p", p}, {"alt", nipae.AltText}}},
		{"another alt", nostr.Tags{{"d", d}, {"p", p}, {"alt", "x"}, {"-"}, {"expiration", "1"}, {"e", "x"}, {"D", "x"}, {"P", "x"}}}, {"more elements", nostr.Tags{{"d", d, "x"}, {"p", p, "wss://x", ""}}},
		{"an empty tag", nostr.Tags{{}, {"d", d}, {"p", p}, {""}}}, {"no d", nostr.Tags{{"p", p}}}, {"no p", nostr.Tags{{"d", d}}}, {"no tags", nostr.Tags{}}, {"two d", nostr.Tags{{"d", d}, {"d", d}, {"p", p}}},
		{"two p", nostr.Tags{{"d", d}, {"p", p}, {"p", p}}}, {"d without a value beside one with", nostr.Tags{{"d", d}, {"d"}, {"p", p}}}, {"d without a value", nostr.Tags{{"d"}, {"p", p}}}, {"p without a value", nostr.Tags{{"d", d}, {"p"}}},
		{"empty d", nostr.Tags{{"d", ""}, {"p", p}}}, {"upper case d", nostr.Tags{{"d", strings.ToUpper(d)}, {"p", p}}}, {"upper case p", nostr.Tags{{"d", d}, {"p", strings.ToUpper(p)}}}, {"short d", nostr.Tags{{"d", d[1:]}, {"p", p}}},
		{"long d", nostr.Tags{{"d", d + "0"}, {"p", p}}}, {"d of other letters", nostr.Tags{{"d", "g" + d[1:]}, {"p", p}}}, {"d with a line end", nostr.Tags{{"d", d + "\n"}, {"p", p}}}, {"the agent as p", nostr.Tags{{"d", d}, {"p", w.agent}}},
		{"p of nobody", nostr.Tags{{"d", d}, {"p", strings.Repeat("0", 64)}}}, {"slug in the clear", nostr.Tags{{"d", "mem/example"}, {"p", p}}},
	} {
		ev := w.template()
		ev.Tags = c.tags
		w.add("tags: "+c.name, w.signed(ev, w.secret))
	}
	for _, kind := range []int{0, 1, 30173, 30175, 30078, 65535} {
		ev := w.template()
		ev.Kind = kind
		w.add("kind", w.signed(ev, w.secret))
	}
	w.add("author: the owner", w.signed(w.template(), w.ownerSecret))
	w.add("author: another", w.signed(w.template(), strings.Repeat("0", 63)+"3"))
}

// contents are payloads that somebody spoiled, signed by the agent.
func (w *pair) contents() {
	good := w.template().Content
	raw, err := base64.StdEncoding.DecodeString(good)
	if err != nil {
		w.t.Fatal(err)
	}
	spoil := func(name string, content string) {
		ev := w.template()
		ev.Content = content
		w.add("content: "+name, w.signed(ev, w.secret))
	}
	bytesOf := func(name string, change func([]byte) []byte) {
		spoil(name, base64.StdEncoding.EncodeToString(change(slices.Clone(raw))))
	}
	spoil("empty", "")
	spoil("a mark", "#"+good[1:])
	spoil("a line end inside", good[:76]+"\n"+good[76:])
	spoil("a line end behind", good+"\n")
	spoil("a blank", " "+good)
	spoil("no padding", strings.TrimRight(good, "="))
	spoil("more padding", good+"====")
	spoil("url alphabet", strings.NewReplacer("+", "-", "/", "_").Replace(good))
	spoil("plain text", "hello")
	spoil("json", `{"slug":"mem/example","value":"hello"}`)
	spoil("cut by four", good[:len(good)-4])
	spoil("twice", good+good)
	spoil("padding inside", good[:4]+"===="+good[8:])
	for i := range 4 { // other digits at the end: bits that no byte has
		tail := []byte(good)
		at := len(strings.TrimRight(good, "=")) - 1
		tail[at] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[(strings.IndexByte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", tail[at])+i+1)%64]
		spoil("another last digit", string(tail))
	}
	for _, version := range []byte{0, 1, 3, 255} {
		bytesOf("version", func(b []byte) []byte { b[0] = version; return b })
	}
	for _, at := range []int{1, 32, 33, 40, len(raw) - 33, len(raw) - 32, len(raw) - 1} {
		bytesOf("a bit", func(b []byte) []byte { b[at] ^= 1; return b })
	}
	for _, size := range []int{98, 99, 100, 131, 132, 163, 195, 227, 65603, 65604, 65635} {
		if size <= 300 || size == 65603 {
			bytesOf("zeros", func([]byte) []byte { return append([]byte{2}, make([]byte, size-1)...) })
		}
	}
	for _, body := range []string{"x", "{}", `{"slug":"mem/example","value":7}`, `{"slug":"mem/example","value":"a","value":"b"}`, "\xff\xfe", `{"slug":"mem/example","value":"` + "\xff" + `"}`, `{"slug":"mem/example","value":"\ud800"}`} {
		w.add("body: no body", w.event(body, w.key.Address("mem/example")))
	}
	for _, size := range []int{1, 5, 6, 37, 38, 69, 229, 300, 1000} { // about the lengths at which the padding grows
		w.add("body: a length", w.event(`{"slug":"mem/example","value":"`+strings.Repeat("v", size)+`"}`, w.key.Address("mem/example")))
	}
}

func (w *pair) signatures() {
	change := func(name string, f func(*nostr.Event)) {
		ev := w.template()
		f(ev)
		w.add("signature: "+name, ev)
	}
	flip := func(s string, at int) string {
		b := []byte(s)
		if b[at] == '0' {
			b[at] = '1'
		} else {
			b[at] = '0'
		}
		return string(b)
	}
	for _, at := range []int{0, 31, 63} {
		change("id", func(ev *nostr.Event) { ev.ID = flip(ev.ID, at) })
	}
	for _, at := range []int{0, 63, 64, 127} {
		change("sig", func(ev *nostr.Event) { ev.Sig = flip(ev.Sig, at) })
	}
	change("time", func(ev *nostr.Event) { ev.CreatedAt++ })
	change("tag", func(ev *nostr.Event) { ev.Tags = append(ev.Tags, nostr.Tag{"x"}) })
	change("zeros", func(ev *nostr.Event) { ev.Sig = strings.Repeat("0", 128) })
	change("of another event", func(ev *nostr.Event) { ev.Sig = w.template().Sig })
	change("of another author", func(ev *nostr.Event) { ev.Sig = w.signed(w.template(), w.ownerSecret).Sig })
	change("r beyond the field", func(ev *nostr.Event) { ev.Sig = strings.Repeat("f", 64) + ev.Sig[64:] })
	change("s beyond the order", func(ev *nostr.Event) { ev.Sig = ev.Sig[:64] + strings.Repeat("f", 64) })
	change("as it should be", func(*nostr.Event) {})
}

// addresses are slugs at their d and at others'.
func (w *pair) addresses() {
	mine, err := nipae.ProposalAddress(w.agent, w.owner, w.proposalID)
	if err != nil {
		w.t.Fatal(err)
	}
	other, err := nipae.ProposalAddress(w.owner, w.agent, w.proposalID)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, slug := range []string{"mem/example", "mem/example/b", "mem/proposals/x", "mem/proposals/" + w.proposalID[1:], "mem/proposals/" + w.proposalID + "/x", "mem/proposals-answers/" + w.proposalID, w.proposalSlug} {
		body := `{"slug":"` + slug + `","value":null}`
		w.add("address: its own", w.event(body, w.key.Address(nipae.Slug(slug))))
		w.add("address: another's", w.event(body, w.key.Address("mem/examples")))
		w.add("address: of a proposal", w.event(body, mine))
		w.add("address: of a proposal to the agent", w.event(body, other))
	}
	w.add("address: core", w.event(`{"slug":"core","profile":"I am"}`, w.key.Address("core")))
	w.add("address: core elsewhere", w.event(`{"slug":"core","profile":"I am"}`, w.key.Address("mem/core")))
}

// ids are those of events with texts that are written in several ways.
func (w *pair) ids() (all []any) {
	texts := []string{"", "plain", "\"quoted\" \\ /", "\n\r\t\b\f", "\x00\x01\x1e\x1f", "\x7f\u0080\u009f", "<script>&amp;'</script>", "\u2028\u2029", "é e\u0301 ß", "😀 \U0010ffff \ufffd", "\ufeff\ufffe\uffff", "\u202eabc", "ሴ\ud7ff\ue000", "\\u0041 \\n"}
	for i, text := range texts {
		for _, ev := range []*nostr.Event{
			{Kind: 1, CreatedAt: nostr.Timestamp(i), Tags: nostr.Tags{}, Content: text}, {Kind: 30078, CreatedAt: 1700000000, Tags: nostr.Tags{{"d", text}, {}, {""}, {text, text}}, Content: "x" + text},
		} {
			w.signed(ev, w.secret)
			all = append(all, json.RawMessage(line(w.t, map[string]any{"id": ev.ID, "pubkey": ev.PubKey, "created_at": ev.CreatedAt, "kind": ev.Kind, "tags": ev.Tags, "content": ev.Content, "sig": ev.Sig})))
		}
	}
	return all
}

// keys are conversation keys, and addresses under them.
func keys(t *testing.T) (all []any) {
	for i := range 20 {
		a, b := sha256.Sum256([]byte{1, byte(i)}), sha256.Sum256([]byte{2, byte(i)})
		secret, peer := hex.EncodeToString(a[:]), publicKey(t, hex.EncodeToString(b[:]))
		if i == 0 { // an agent that owns itself
			peer = publicKey(t, secret)
		}
		k, err := nipae.DeriveConversationKey(secret, peer)
		if err != nil {
			t.Fatal(err)
		}
		slug := nipae.Slug("mem/k/" + hex.EncodeToString(b[:4]))
		all = append(all, map[string]string{"secret": secret, "peer": peer, "key": hex.EncodeToString(k[:]), "slug": string(slug), "d": k.Address(slug), "core": k.Address("core")})
	}
	return all
}
