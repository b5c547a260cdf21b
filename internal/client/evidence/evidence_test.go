//go:build cgo

package evidence

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/nbd-wtf/go-nostr/nip44"

	"engramd/internal/client/contract"
	"engramd/internal/protocol/wire"
	"engramd/internal/relay/store/sqlite/storetest"
	"engramd/nips/disclose"
	"engramd/nips/nipae"
	"engramd/nips/niptemp"
)

var (
	poster = storetest.NewKey("poster")
	worker = storetest.NewKey("worker")
	relay  = storetest.NewKey("relay")
	mara   = storetest.NewKey("mara")
)

// thread is a contract to which events are added.
type thread struct {
	tb     testing.TB
	id     string
	salt   []byte
	at     nostr.Timestamp
	events []*nostr.Event
	files  Files
	orders storetest.Key // who signs the order
}

func newThread(tb testing.TB) *thread {
	tb.Helper()
	salt := bytes.Repeat([]byte{7}, niptemp.SaltSize)
	id, err := niptemp.NewID(poster.Pub, salt)
	if err != nil {
		tb.Fatal(err)
	}
	return &thread{tb: tb, id: id, salt: salt, at: 1_700_000_000, orders: relay, files: Files{Disclosures: map[string][]byte{}}}
}

// signed signs an event a second later than the last.
func (t *thread) signed(k storetest.Key, kind int, content string, tags ...nostr.Tag) *nostr.Event {
	t.tb.Helper()
	t.at++
	ev := &nostr.Event{Kind: kind, CreatedAt: t.at, Content: content, Tags: tags}
	if err := ev.Sign(k.Secret); err != nil {
		t.tb.Fatal(err)
	}
	return ev
}

func (t *thread) add(k storetest.Key, kind int, content string, tags ...nostr.Tag) *nostr.Event {
	t.tb.Helper()
	ev := t.signed(k, kind, content, tags...)
	t.events = append(t.events, ev)
	return ev
}

func other(k storetest.Key) string {
	if k == poster {
		return worker.Pub
	}
	return poster.Pub
}

func (t *thread) state(k storetest.Key, status, previous string, more ...nostr.Tag) *nostr.Event {
	tags := append([]nostr.Tag{{"d", t.id}, {"p", other(k)}}, more...)
	if k == poster {
		tags = append(tags, niptemp.SaltTag(t.salt))
	}
	return t.add(k, niptemp.KindState, fmt.Sprintf(`{"contract_id":%q,"status":%q,"previous_status":%q}`, t.id, status, previous), tags...)
}

func (t *thread) entry(k storetest.Key, content string) *nostr.Event {
	return t.add(k, niptemp.KindEntry, content, nostr.Tag{"d", t.id}, nostr.Tag{"p", other(k)}, nostr.Tag{"t", "message"})
}

// sealed adds a sealed entry, whose author commits to its keys, and returns it
// with what its author hands over to disclose it.
func (t *thread) sealed(k storetest.Key, text string) (*nostr.Event, []byte) {
	t.tb.Helper()
	return t.sealing(k, fmt.Sprintf(`{"type":"message","content":%q,"contract_id":%q,"entry_id":"mem_1"}`, text, t.id), true)
}

func (t *thread) sealing(k storetest.Key, text string, commit bool) (*nostr.Event, []byte) {
	t.tb.Helper()
	key, err := nip44.GenerateConversationKey(other(k), k.Secret)
	if err != nil {
		t.tb.Fatal(err)
	}
	payload, err := nip44.Encrypt(text, key)
	if err != nil {
		t.tb.Fatal(err)
	}
	keys, err := disclose.KeysOf(key, payload)
	if err != nil {
		t.tb.Fatal(err)
	}
	tags := []nostr.Tag{{"d", t.id}, {"p", other(k)}, {"t", "message"}}
	if commit {
		tags = append(tags, nipae.Commitment(keys))
	}
	ev := t.add(k, niptemp.KindEntry, payload, tags...)
	b, err := json.Marshal(contract.Disclosure{Event: ev, Keys: keys})
	if err != nil {
		t.tb.Fatal(err)
	}
	return ev, b
}

// ordered signs the order of the events so far, with a number of gaps after
// them.
func (t *thread) ordered(gaps int, change ...func(lines string) string) {
	t.tb.Helper()
	lines := ""
	for i, ev := range t.events {
		if ev.Kind != nostr.KindDeletion {
			id, _ := hex.DecodeString(ev.ID)
			lines += string(niptemp.OrderLine(int64(i+1), int64(ev.CreatedAt), id))
		}
	}
	for i := range gaps {
		lines += string(niptemp.OrderLine(int64(len(t.events)+i+1), int64(t.at), nil))
	}
	for _, c := range change {
		lines = c(lines)
	}
	sum := sha256.Sum256([]byte(lines))
	ev := niptemp.OrderEvent(t.id, hex.EncodeToString(sum[:]), t.at)
	if err := ev.Sign(t.orders.Secret); err != nil {
		t.tb.Fatal(err)
	}
	b, err := json.Marshal(map[string]any{"contract_id": t.id, "event": json.RawMessage(wire.AppendEvent(nil, &ev)), "lines": lines, "gaps": []any{}})
	if err != nil {
		t.tb.Fatal(err)
	}
	t.files.Order = b
}

// report verifies the thread.
func (t *thread) report(o Options) Report {
	t.tb.Helper()
	t.files.Events = nil
	for _, ev := range t.events {
		t.files.Events = append(wire.AppendEvent(t.files.Events, ev), '\n')
	}
	r, err := Verify(t.files, o)
	if err != nil {
		t.tb.Fatal(err)
	}
	return r
}

// want compares outcomes of checks; "" means that a check is absent.
func want(tb testing.TB, r Report, outcomes map[string]Outcome) {
	tb.Helper()
	for name, o := range outcomes {
		got := Outcome("")
		for _, c := range r.Checks {
			if c.Name == name {
				got = c.Outcome
			}
		}
		if got != o {
			tb.Errorf("%s: %q, want %q; %+v", name, got, o, r.Checks)
		}
	}
}

// dispute returns a whole thread with everything that can be checked.
func dispute(tb testing.TB) *thread {
	return disputeUnder(tb, niptemp.Terms{Order: relay.Pub}, niptemp.Terms{Order: relay.Pub})
}

// disputeUnder has an offer with terms, of which the acceptance repeats some.
func disputeUnder(tb testing.TB, offered, repeated niptemp.Terms) *thread {
	t := newThread(tb)
	t.state(poster, "open", "", offered.Tags()...)
	t.entry(poster, `{"type":"message","content":"Focus on filings"}`)
	t.state(worker, "accepted", "open", repeated.Tags()...)
	_, opened := t.sealed(worker, "in the cedar box")
	t.files.Disclosures["one.json"] = opened
	bad := t.entry(worker, `{"type":"message","content":"bad work"}`)
	t.state(worker, "submitted", "accepted")
	t.state(poster, "disputed", "submitted")
	t.add(worker, nostr.KindDeletion, "", nostr.Tag{"e", bad.ID})
	return t
}

func TestWholeThreadHolds(t *testing.T) {
	th := dispute(t)
	th.ordered(1)
	r := th.report(Options{Relay: relay.Pub})
	want(t, r, map[string]Outcome{
		"signatures": OK, "one contract": OK, "shapes": OK, "states follow": OK, "parties": OK, "id": OK, "order": OK, "withdrawals": OK,
		"disclosed texts": OK, "gaps": NotChecked, "sealed texts": "",
	})
	if !r.Holds() || r.Contract != th.id || r.Poster != poster.Pub || r.Worker != worker.Pub || r.Status != "disputed" || r.Relay != relay.Pub ||
		len(r.Disclosed) != 1 || r.Disclosed[0].Content != "in the cedar box" || r.Entries != 3 || r.Moves != 4 || r.Sealed != 1 {
		t.Errorf("%+v", r)
	}
}

// TestOrdersOfOthersAreNotProved: without flags an order holds by the key on which
// both parties agreed, for it or else as decider or expirer, and by no other.
func TestOrdersOfOthersAreNotProved(t *testing.T) {
	order, decider := niptemp.Terms{Order: relay.Pub}, niptemp.Terms{Decider: relay.Pub}
	expirer := niptemp.Terms{Expirer: relay.Pub, Deadline: 1_800_000_000}
	for name, c := range map[string]struct {
		offered, repeated niptemp.Terms
		by                storetest.Key
		o                 Options
		want              Outcome
	}{
		"the key for it":                 {order, order, relay, Options{}, OK},
		"the decider":                    {decider, decider, relay, Options{}, OK},
		"the expirer":                    {expirer, expirer, relay, Options{}, OK},
		"anybody":                        {order, order, mara, Options{}, NotProved},
		"anybody where nobody is named":  {niptemp.Terms{}, niptemp.Terms{}, mara, Options{}, NotProved},
		"a key that was not agreed":      {order, niptemp.Terms{}, relay, Options{}, NotProved},
		"a key that was not offered":     {niptemp.Terms{}, order, relay, Options{}, NotProved},
		"the arbitrator":                 {niptemp.Terms{Arbitrator: mara.Pub}, niptemp.Terms{Arbitrator: mara.Pub}, mara, Options{}, NotProved},
		"the decider, another for it":    {niptemp.Terms{Decider: mara.Pub, Order: relay.Pub}, niptemp.Terms{Decider: mara.Pub, Order: relay.Pub}, mara, Options{}, NotProved},
		"a key that the checker names":   {niptemp.Terms{}, niptemp.Terms{}, relay, Options{Relay: relay.Pub}, OK},
		"another than the checker names": {order, order, relay, Options{Relay: mara.Pub}, Failed},
	} {
		th := disputeUnder(t, c.offered, c.repeated)
		th.orders = c.by
		th.ordered(1)
		r := th.report(c.o)
		want(t, r, map[string]Outcome{"order": c.want})
		if r.Proved() != (c.want != NotProved) || r.Holds() != (c.want != Failed) || (r.Relay != "") != (c.want == OK) {
			t.Errorf("signed by %s: %+v", name, r)
		}
	}
}

// TestOrdersOfSuccessors: the agreed key's own statement makes another key's order
// good, and nobody else's does.
func TestOrdersOfSuccessors(t *testing.T) {
	next, last := storetest.NewKey("next"), storetest.NewKey("last")
	handover := func(from, to storetest.Key) *nostr.Event {
		ev := niptemp.Handover(to.Pub)
		if err := ev.Sign(from.Secret); err != nil {
			t.Fatal(err)
		}
		return &ev
	}
	forged := handover(relay, last)
	forged.Sig = strings.Repeat("0", 128)
	for name, c := range map[string]struct {
		keys []*nostr.Event
		want Outcome
	}{
		"from one to the next":   {[]*nostr.Event{handover(relay, next), handover(next, last)}, OK},
		"without the first":      {[]*nostr.Event{handover(next, last)}, NotProved},
		"by somebody else":       {[]*nostr.Event{handover(mara, last)}, NotProved},
		"by the successor":       {[]*nostr.Event{handover(last, relay)}, NotProved},
		"with a wrong signature": {[]*nostr.Event{forged}, NotProved},
	} {
		th := dispute(t)
		th.orders = last
		th.ordered(0)
		var said map[string]any
		if err := json.Unmarshal(th.files.Order, &said); err != nil {
			t.Fatal(err)
		}
		said["keys"] = c.keys
		var err error
		if th.files.Order, err = json.Marshal(said); err != nil {
			t.Fatal(err)
		}
		if r := th.report(Options{}); r.Proved() != (c.want == OK) {
			t.Errorf("%s: %+v", name, r.Checks)
		}
	}
}

// TestUncommittedTextsAreNotProved: an entry of before there was a commitment is
// readable, and proves nothing; a commitment to other keys is refused, and so is
// a text that is no entry.
func TestUncommittedTextsAreNotProved(t *testing.T) {
	th := dispute(t)
	_, th.files.Disclosures["one.json"] = th.sealing(worker, `{"type":"message","content":"an old word"}`, false)
	r := th.report(Options{})
	want(t, r, map[string]Outcome{"disclosed texts": NotProved})
	if !r.Holds() || r.Proved() || len(r.Disclosed) != 1 || r.Disclosed[0].Verdict() != "opened, not committed" || r.Disclosed[0].Content != "an old word" {
		t.Errorf("%+v", r)
	}
	_, one := dispute(t).sealing(worker, `{"type":"message","content":"no ids"}`, true)
	_, two := dispute(t).sealing(worker, "no entry", false)
	for _, bad := range [][]byte{one, two} {
		th.files.Disclosures["one.json"] = bad
		r := th.report(Options{})
		want(t, r, map[string]Outcome{"disclosed texts": Failed})
		if len(r.Disclosed) != 0 {
			t.Errorf("%+v", r.Disclosed)
		}
	}
}

// TestWhatIsNotThereIsNotChecked: an incomplete export is checked as far as it
// goes, and does not fail.
func TestWhatIsNotThereIsNotChecked(t *testing.T) {
	th := newThread(t)
	th.id = "job-17"
	th.salt = nil
	th.entry(poster, `{"type":"message","content":"hello"}`)
	th.sealed(worker, "x")
	r := th.report(Options{})
	want(t, r, map[string]Outcome{"signatures": OK, "states follow": NotChecked, "parties": OK, "id": NotChecked, "order": NotProved, "withdrawals": NotChecked, "sealed texts": NotChecked, "disclosed texts": ""})
	if !r.Holds() || r.Status != "" {
		t.Errorf("%+v", r)
	}
	th = dispute(t)
	th.ordered(0)
	r = th.report(Options{})
	want(t, r, map[string]Outcome{"order": OK, "gaps": ""})
}

// TestTalkOfWhoMadeTheID: where no state is known the poster is the key that
// made the id, whoever spoke first.
func TestTalkOfWhoMadeTheID(t *testing.T) {
	th := newThread(t)
	th.entry(worker, `{"type":"message","content":"may I?"}`)
	th.add(poster, niptemp.KindEntry, `{"type":"message","content":"do"}`, nostr.Tag{"d", th.id}, nostr.Tag{"p", worker.Pub}, nostr.Tag{"t", "message"}, niptemp.SaltTag(th.salt))
	r := th.report(Options{})
	want(t, r, map[string]Outcome{"id": OK, "parties": OK})
	if !r.Holds() || r.Poster != poster.Pub || r.Worker != worker.Pub {
		t.Errorf("%+v", r)
	}
}

// TestTermsOfAllOpens: a worker who is named after an offer to anybody has the
// terms of that offer, except for those that the later open sets.
func TestTermsOfAllOpens(t *testing.T) {
	th := newThread(t)
	open := func(to, previous string, more ...nostr.Tag) {
		tags := append([]nostr.Tag{{"d", th.id}, {"p", to}}, more...)
		th.add(poster, niptemp.KindState, fmt.Sprintf(`{"contract_id":%q,"status":"open","previous_status":%q}`, th.id, previous), tags...)
	}
	open(poster.Pub, "", nostr.Tag{"expirer", relay.Pub}, nostr.Tag{"deadline", "1600000000"})
	open(worker.Pub, "open", nostr.Tag{"arbitrator", mara.Pub})
	th.add(relay, niptemp.KindState, fmt.Sprintf(`{"contract_id":%q,"status":"expired","previous_status":"open"}`, th.id), nostr.Tag{"d", th.id}, nostr.Tag{"p", poster.Pub})
	r := th.report(Options{})
	want(t, r, map[string]Outcome{"states follow": OK})
	if r.Status != "expired" {
		t.Errorf("%+v", r)
	}
}

// TestDecisionsAreChecked: only the key on which both parties agreed decides,
// whatever the file says.
func TestDecisionsAreChecked(t *testing.T) {
	terms := niptemp.Terms{Arbitrator: mara.Pub, Expirer: relay.Pub, Deadline: 1_700_000_003}
	write := func(agreed niptemp.Terms) *thread {
		th := newThread(t)
		content := func(status, previous string) string {
			return fmt.Sprintf(`{"contract_id":%q,"status":%q,"previous_status":%q}`, th.id, status, previous)
		}
		base := nostr.Tags{{"d", th.id}, {"p", worker.Pub}, niptemp.SaltTag(th.salt)}
		th.add(poster, niptemp.KindState, content("open", ""), append(base, terms.Tags()...)...)
		th.add(worker, niptemp.KindState, content("accepted", "open"), append(nostr.Tags{{"d", th.id}, {"p", poster.Pub}}, agreed.Tags()...)...)
		return th
	}
	decide := func(th *thread, k storetest.Key, status, previous string) {
		th.add(k, niptemp.KindState, fmt.Sprintf(`{"contract_id":%q,"status":%q,"previous_status":%q}`, th.id, status, previous), nostr.Tag{"d", th.id},
			nostr.Tag{"p", poster.Pub}, nostr.Tag{"p", worker.Pub})
	}
	for name, c := range map[string]struct {
		agreed                   niptemp.Terms
		disputed                 bool
		by                       storetest.Key
		status, previous, leadTo string
		want                     Outcome
	}{
		"the arbitrator":           {terms, true, mara, "cancelled", "disputed", "cancelled", OK},
		"one who was not agreed":   {niptemp.Terms{}, true, mara, "cancelled", "disputed", "disputed", Failed},
		"the relay":                {terms, true, relay, "cancelled", "disputed", "disputed", Failed},
		"the expirer":              {terms, false, relay, "expired", "accepted", "expired", OK},
		"the arbitrator, too soon": {terms, false, mara, "completed", "disputed", "accepted", Failed},
	} {
		th := write(c.agreed)
		if c.disputed {
			th.state(worker, "disputed", "accepted")
		}
		decide(th, c.by, c.status, c.previous)
		r := th.report(Options{})
		want(t, r, map[string]Outcome{"states follow": c.want})
		if r.Status != c.leadTo {
			t.Errorf("%s: it leads to %s", name, r.Status)
		}
	}
	for name, k := range map[string]storetest.Key{"the poster": poster, "the worker": worker} {
		th := write(terms)
		th.at = 1_700_000_003
		th.state(k, "expired", "accepted")
		r := th.report(Options{})
		want(t, r, map[string]Outcome{"states follow": Failed})
		if r.Status != "accepted" {
			t.Errorf("by the word of %s it is %s", name, r.Status)
		}
	}
	older := newThread(t) // from before deadlines were signed
	older.state(poster, "open", "")
	older.state(worker, "accepted", "open")
	older.state(poster, "expired", "accepted")
	want(t, older.report(Options{}), map[string]Outcome{"states follow": OK})
	early := write(terms)
	early.at = 1_700_000_001
	decide(early, relay, "expired", "accepted")
	want(t, early.report(Options{}), map[string]Outcome{"states follow": Failed})
}

// TestSealedEntriesOfTheArbitrator: a sealed entry that an arbitrator was told
// of without its event has its number, and what a party discloses of it must
// match.
func TestSealedEntriesOfTheArbitrator(t *testing.T) {
	write := func(change func(*Sealed)) *thread {
		th := dispute(t)
		th.ordered(1)
		at := 3
		sum := sha256.Sum256([]byte(th.events[at].Content))
		s := Sealed{N: int64(at + 1), EntryID: "mem_" + th.events[at].ID[:12], Author: worker.Pub, Type: "message", Bytes: int64(len(th.events[at].Content)), SHA256: hex.EncodeToString(sum[:])}
		if change != nil {
			change(&s)
		}
		var err error
		if th.files.Sealed, err = json.Marshal(SealedFile{ContractID: th.id, Entries: []Sealed{s}}); err != nil {
			t.Fatal(err)
		}
		th.events = append(th.events[:at:at], th.events[at+1:]...)
		return th
	}
	r := write(nil).report(Options{})
	want(t, r, map[string]Outcome{"order": OK, "disclosed texts": OK, "sealed entries": NotChecked, "sealed texts": ""})
	if !r.Holds() || len(r.Disclosed) != 1 {
		t.Errorf("%+v", r)
	}
	about := write(nil)
	about.add(worker, nostr.KindDeletion, "", nostr.Tag{"e", strings.Repeat("0", 64)})
	want(t, about.report(Options{}), map[string]Outcome{"withdrawals": OK})
	closed := write(nil)
	closed.files.Disclosures = nil
	want(t, closed.report(Options{}), map[string]Outcome{"order": OK, "disclosed texts": "", "sealed texts": NotChecked})
	for name, lie := range map[string]struct {
		fails  string
		change func(*Sealed)
	}{
		"another number":  {"order", func(s *Sealed) { s.N++ }},
		"another hash":    {"disclosed texts", func(s *Sealed) { s.SHA256 = strings.Repeat("0", 64) }},
		"another size":    {"disclosed texts", func(s *Sealed) { s.Bytes++ }},
		"another author":  {"disclosed texts", func(s *Sealed) { s.Author = poster.Pub }},
		"no list at all":  {"sealed entries", nil},
		"another's list":  {"sealed entries", nil},
		"without a list":  {"order", nil},
		"a payload again": {"disclosed texts", nil},
	} {
		th := write(lie.change)
		switch name {
		case "no list at all":
			th.files.Sealed = []byte("x")
		case "another's list":
			th.files.Sealed = bytes.Replace(th.files.Sealed, []byte(th.id), []byte("job-18"), 1)
		case "without a list":
			th.files.Sealed = nil
		case "a payload again": // in an event that did not arrive there
			d, err := contract.ReadDisclosure(th.files.Disclosures["one.json"])
			if err != nil {
				t.Fatal(err)
			}
			d.Event.CreatedAt++
			if err := d.Event.Sign(worker.Secret); err != nil {
				t.Fatal(err)
			}
			th.files.Disclosures["one.json"], _ = json.Marshal(d)
		}
		if r := th.report(Options{}); r.Holds() {
			t.Errorf("%s: it holds", name)
		} else {
			want(t, r, map[string]Outcome{lie.fails: Failed})
		}
	}
}

// TestEveryLieIsFound: each single change to an export fails a check.
func TestEveryLieIsFound(t *testing.T) {
	for name, lie := range map[string]struct {
		fails string
		tell  func(t *thread)
	}{
		"a changed text": {"signatures", func(t *thread) { t.events[1].Content = `{"type":"message","content":"else"}`; t.ordered(0) }},
		"a line that is no event": {"signatures", func(t *thread) {
			t.events[1] = &nostr.Event{Kind: 1}
		}},
		"an event of another contract": {"one contract", func(t *thread) {
			t.add(poster, niptemp.KindEntry, `{"type":"message","content":"x"}`, nostr.Tag{"d", "other"}, nostr.Tag{"p", worker.Pub}, nostr.Tag{"t", "message"})
		}},
		"an event of another kind": {"one contract", func(t *thread) { t.add(poster, 1, "x") }},
		"an entry without content": {"shapes", func(t *thread) { t.entry(poster, `{"type":"message"}`) }},
		"a move left out":          {"states follow", func(t *thread) { t.events = append(t.events[:2:2], t.events[3:]...) }},
		"a move that is not his":   {"states follow", func(t *thread) { t.state(worker, "completed", "disputed") }},
		"an entry of a third key": {"parties", func(t *thread) {
			t.add(mara, niptemp.KindEntry, `{"type":"message","content":"x"}`, nostr.Tag{"d", t.id}, nostr.Tag{"p", worker.Pub}, nostr.Tag{"t", "message"})
		}},
		"an entry left out": {"order", func(t *thread) { t.ordered(0); t.events = append(t.events[:1:1], t.events[2:]...) }},
		"an entry put in":   {"order", func(t *thread) { t.ordered(0); t.entry(poster, `{"type":"message","content":"late"}`) }},
		"an order of others' lines": {"order", func(t *thread) {
			t.ordered(0)
			t.files.Order = bytes.Replace(t.files.Order, []byte("\\n2 "), []byte("\\n9 "), 1)
		}},
		"an order of falling numbers": {"order", func(t *thread) { t.ordered(0, func(l string) string { return strings.Replace(l, "2 ", "1 ", 1) }) }},
		"an order of nobody":          {"order", func(t *thread) { t.files.Order = []byte(`{"contract_id":"x","lines":"1 1 -\n"}`) }},
		"an order of another relay":   {"order", func(t *thread) { t.ordered(0) }},
		"an order by a party":         {"order", func(t *thread) { t.orders = worker; t.ordered(0) }},
		"a request of somebody else":  {"withdrawals", func(t *thread) { t.add(mara, nostr.KindDeletion, "", nostr.Tag{"e", t.events[1].ID}) }},
		"a request of what is not here": {"withdrawals", func(t *thread) {
			t.add(worker, nostr.KindDeletion, "", nostr.Tag{"a", "30090:" + mara.Pub + ":" + t.id})
		}},
		"a disclosure with wrong keys": {"disclosed texts", func(t *thread) { t.files.Disclosures["one.json"] = wrongKeys(t.files.Disclosures["one.json"]) }},
		"a disclosure of another's":    {"disclosed texts", func(t *thread) { _, d := newThread(t.tb).sealed(worker, "x"); t.files.Disclosures["two.json"] = d }},
		"a disclosure that is no JSON": {"disclosed texts", func(t *thread) { t.files.Disclosures["two.json"] = []byte("x") }},
		"a disclosure of a plain entry": {"disclosed texts", func(t *thread) {
			t.files.Disclosures["one.json"] = bytes.Replace(t.files.Disclosures["one.json"], []byte("30090"), []byte("30091"), 1)
		}},
		"an id that somebody else's salt": {"id", func(t *thread) {
			salt := bytes.Repeat([]byte{8}, niptemp.SaltSize)
			id, err := niptemp.NewID(mara.Pub, salt)
			if err != nil {
				t.tb.Fatal(err)
			}
			*t = *newThread(t.tb)
			t.id, t.salt = id, nil
			t.add(poster, niptemp.KindState, fmt.Sprintf(`{"contract_id":%q,"status":"open"}`, id), nostr.Tag{"d", id}, nostr.Tag{"p", worker.Pub})
			t.add(mara, niptemp.KindEntry, `{"type":"message","content":"mine"}`, nostr.Tag{"d", id}, nostr.Tag{"p", worker.Pub}, nostr.Tag{"t", "message"}, niptemp.SaltTag(salt))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			th := dispute(t)
			lie.tell(th)
			o := Options{}
			if name == "an order of another relay" {
				o.Relay = mara.Pub
			}
			r := th.report(o)
			if r.Holds() {
				t.Fatalf("it holds: %+v", r.Checks)
			}
			want(t, r, map[string]Outcome{lie.fails: Failed})
		})
	}
}

// wrongKeys changes a digit of the keys.
func wrongKeys(b []byte) []byte {
	at := bytes.Index(b, []byte(`"keys":"`)) + len(`"keys":"`) + 80
	out := bytes.Clone(b)
	out[at] = map[bool]byte{true: '1', false: '0'}[out[at] == '0']
	return out
}

// TestReadBounds: a file that is no export is refused, and reading is bounded.
func TestReadBounds(t *testing.T) {
	dir := t.TempDir()
	if _, err := Read(dir); !errors.Is(err, ErrInput) {
		t.Errorf("an empty folder: %v", err)
	}
	if _, err := Read(filepath.Join(dir, "nowhere")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("nothing: %v", err)
	}
	if _, err := Verify(Files{Events: []byte("\n\n")}, Options{}); !errors.Is(err, ErrInput) {
		t.Errorf("no event: %v", err)
	}
	big := filepath.Join(dir, EventsFile)
	f, err := os.Create(big)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Truncate(maxOrderBytes+1), f.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := readAtMost(big, maxOrderBytes); !errors.Is(err, ErrInput) {
		t.Errorf("too large: %v", err)
	}
}

// FuzzVerify: any input is judged without a panic; an order or a disclosure in
// a file is believed only with its proof.
func FuzzVerify(f *testing.F) {
	th := dispute(f)
	th.ordered(1)
	th.report(Options{})
	f.Add(th.files.Events, th.files.Order, th.files.Disclosures["one.json"], []byte(`{"contract_id":"`+th.id+`","entries":[{"n":4,"bytes":1,"sha256":"00"}]}`))
	f.Add([]byte("{}"), []byte(`{"event":null,"lines":"1"}`), []byte("{}"), []byte("{}"))
	f.Fuzz(func(t *testing.T, events, order, opened, sealed []byte) {
		r, err := Verify(Files{Events: events, Order: order, Sealed: sealed, Disclosures: map[string][]byte{"x.json": opened}}, Options{Relay: relay.Pub})
		if err != nil {
			if !errors.Is(err, ErrInput) {
				t.Fatal(err)
			}
			return
		}
		for _, c := range r.Checks {
			if c.Outcome != OK && c.Outcome != Failed && c.Outcome != NotChecked && c.Outcome != NotProved || len(c.Problems) > maxProblems {
				t.Fatalf("%+v", c)
			}
		}
		if r.Relay != "" && r.Relay != relay.Pub {
			t.Fatalf("another relay's order is believed")
		}
	})
}
