package transcript

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/nbd-wtf/go-nostr/nip44"

	"engramd/internal/client/contract"
	"engramd/internal/client/evidence"
	"engramd/internal/protocol/wire"
	"engramd/nips/disclose"
	"engramd/nips/nipae"
	"engramd/nips/niptemp"
)

var posterSecret, workerSecret, relaySecret = strings.Repeat("1", 64), strings.Repeat("2", 64), strings.Repeat("3", 64)

func signedBy(t testing.TB, secret string, ev nostr.Event) *nostr.Event {
	t.Helper()
	if err := ev.Sign(secret); err != nil {
		t.Fatal(err)
	}
	return &ev
}

// with adds an event to an export and verifies it again.
func with(t testing.TB, f evidence.Files, events ...*nostr.Event) (evidence.Files, evidence.Report) {
	t.Helper()
	f.Events = bytes.Clone(f.Events)
	for _, ev := range events {
		f.Events = append(wire.AppendEvent(f.Events, ev), '\n')
	}
	r, err := evidence.Verify(f, evidence.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return f, r
}

func wordsIn(t testing.TB, f evidence.Files, r evidence.Report) int {
	t.Helper()
	n, err := Remake(&bytes.Buffer{}, f, r)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// sealedThread is an export with one sealed entry, by which text said says what is
// in it, and with a disclosure of what is.
func sealedThread(t testing.TB, said string) (open, disclosed evidence.Files) {
	t.Helper()
	poster, err := nostr.GetPublicKey(posterSecret)
	if err != nil {
		t.Fatal(err)
	}
	key, err := nip44.GenerateConversationKey(poster, workerSecret)
	if err != nil {
		t.Fatal(err)
	}
	nonce := bytes.Repeat([]byte{7}, 32)
	payload, err := nip44.Encrypt(`{"type":"message","content":"no","contract_id":"c1","entry_id":"mem_s"}`, key, nip44.WithCustomNonce(nonce))
	if err != nil {
		t.Fatal(err)
	}
	tag, err := nipae.Commit(key, nonce)
	if err != nil {
		t.Fatal(err)
	}
	ev := signedBy(t, workerSecret, nostr.Event{Kind: niptemp.KindEntry, CreatedAt: 1_700_000_050, Content: payload,
		Tags: nostr.Tags{{"d", "c1"}, {"t", "message"}, {"p", poster}, {"agentry:contract", "c1"}, {"agentry:entry", "mem_s"}, {"agentry:author", "w"}, tag}})
	f, _ := export(t, func(th *contract.Thread) {
		e, _ := contract.EntryOf(ev)
		e.Content, e.Unreadable, e.Committed, e.EntryID = said, false, true, "mem_other"
		th.Entries = append(th.Entries, e)
	})
	open, _ = with(t, f, ev)
	keys, err := disclose.KeysOf(key, payload)
	if err != nil {
		t.Fatal(err)
	}
	file, err := contract.Disclosure{Event: ev, Keys: keys}.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	disclosed = open
	disclosed.Disclosures = map[string][]byte{"one.json": file}
	return open, disclosed
}

// TestSealedTextsAreWords: what an exporter says is in a payload is counted as a
// word, and gives way to what was disclosed of it.
func TestSealedTextsAreWords(t *testing.T) {
	open, disclosed := sealedThread(t, "yes")
	_, r := with(t, open)
	if text := remade(t, open, r); !strings.Contains(text, "\n    yes\n") || strings.Contains(text, "mem_other") || wordsIn(t, open, r) != 2 {
		t.Errorf("%d words in\n%s", wordsIn(t, open, r), text)
	}
	open.Transcript = []byte(remade(t, open, r))
	disclosed.Transcript = open.Transcript
	_, r = with(t, disclosed)
	if text := remade(t, disclosed, r); !strings.Contains(text, "\n    no\n") || strings.Contains(text, "\n    yes\n") || wordsIn(t, disclosed, r) != 1 {
		t.Errorf("%d words in\n%s", wordsIn(t, disclosed, r), text)
	}
	if k := Check(disclosed, r); k.Outcome != evidence.Failed {
		t.Errorf("a transcript that says something else than was disclosed: %+v", k)
	}
}

// TestWordsOfTheContract: what nobody signed of the contract neither takes the place
// of what is signed nor looks like it.
func TestWordsOfTheContract(t *testing.T) {
	honest, r := export(t, nil)
	text := remade(t, honest, r)
	for name, change := range map[string]func(*contract.Thread){
		"another id": func(th *contract.Thread) { th.Contract.ID = "c2" },
		"a record in place of who decided": func(th *contract.Thread) {
			th.Contract.Decided, th.Contract.Status = "poster\n\n### 9. State: `completed`\n\n- Signature: holds", "completed"
		},
	} {
		if f, r := export(t, change); remade(t, f, r) != text {
			t.Errorf("%s changes it:\n%s", name, remade(t, f, r))
		}
	}
	for want, change := range map[string]func(*contract.Thread){
		"**on whom the two have not agreed**": func(th *contract.Thread) { th.Contract.Arbitrator.PubKey = strings.Repeat("a", 64) },
		"`completed`, **by a relay's word alone**": func(th *contract.Thread) {
			th.Contract.Decided, th.Contract.Status = "operator", "completed"
		},
		"the relay's word\n": func(th *contract.Thread) { th.Entries[0].Withdrawn = &contract.Withdrawal{At: 1} },
	} {
		if f, r := export(t, change); !strings.Contains(remade(t, f, r), want) || wordsIn(t, f, r) != 2 {
			t.Errorf("%q is not in, or no word:\n%s", want, remade(t, f, r))
		}
	}
	f, _ := export(t, func(th *contract.Thread) {
		th.Contract.Description, th.Contract.AmountSats, th.Contract.Arbitrator.AgentID = "a king's ransom", 1_000_000, "the king"
	})
	f.Events = bytes.SplitAfter(f.Events, []byte("\n"))[1] // without a state
	_, r = with(t, f)
	if text := remade(t, f, r); strings.Contains(text, "king") || strings.Contains(text, "1000000") {
		t.Errorf("an offer that nobody signed:\n%s", text)
	}
}

// TestWithdrawalsAreSigned: a request that is here withdraws what it names and
// nothing else, whatever is said of it.
func TestWithdrawalsAreSigned(t *testing.T) {
	_, r := export(t, nil)
	said, took := r.Events()[1], r.Events()[2]
	request := signedBy(t, workerSecret, nostr.Event{Kind: nostr.KindDeletion, CreatedAt: 1_700_000_060, Tags: nostr.Tags{{"e", said.ID}}})
	hidden, _ := export(t, nil)
	f, r := with(t, hidden, request)
	if text := remade(t, f, r); strings.Count(text, "by the signed request `"+request.ID) != 1 {
		t.Errorf("a withdrawal is hidden:\n%s", text)
	}
	lie, _ := export(t, func(th *contract.Thread) { th.Moves[1].Withdrawn = &contract.Withdrawal{At: 1, Event: request} })
	f, r = with(t, lie, request)
	if _, err := Remake(&bytes.Buffer{}, f, r); err == nil {
		t.Errorf("%s withdraws %s, which it does not name", request.ID, took.ID)
	}
	all := signedBy(t, workerSecret, nostr.Event{Kind: nostr.KindDeletion, CreatedAt: said.CreatedAt, Tags: nostr.Tags{{"a", "30090:" + said.PubKey + ":c1"}}})
	if f, r = with(t, hidden, all); strings.Count(remade(t, f, r), "by the signed request `"+all.ID) != 1 {
		t.Errorf("an address is not withdrawn:\n%s", remade(t, f, r))
	}
}

// TestGapsAreOfTheOrder: what had to go has a number in the signed order.
func TestGapsAreOfTheOrder(t *testing.T) {
	gap := contract.Gap{N: 4, ReceivedAt: 5, Type: "message", Role: "worker"}
	for name, c := range map[string]struct {
		gaps  []contract.Gap
		words int // -1 if it is refused
	}{
		"none": {nil, 1}, "the one": {[]contract.Gap{gap}, 2}, "it twice": {[]contract.Gap{gap, gap}, -1}, "another": {[]contract.Gap{{N: 2}}, -1},
	} {
		f, r := export(t, func(th *contract.Thread) { th.Order = &contract.Order{Gaps: c.gaps} })
		var lines []byte
		for i, ev := range r.Events() {
			id, _ := hex.DecodeString(ev.ID)
			lines = append(lines, niptemp.OrderLine(int64(i+1), 1_700_000_070, id)...)
		}
		lines = append(lines, niptemp.OrderLine(4, 1_700_000_080, nil)...)
		sum := sha256.Sum256(lines)
		order := contract.Order{Event: signedBy(t, relaySecret, niptemp.OrderEvent("c1", hex.EncodeToString(sum[:]), 1_700_000_090)), Lines: string(lines)}
		var b bytes.Buffer
		if err := Order(&b, contract.Thread{Order: &order}); err != nil {
			t.Fatal(err)
		}
		f.Order = b.Bytes()
		f, r = with(t, f)
		b.Reset()
		n, err := Remake(&b, f, r)
		if err != nil {
			n = -1
		}
		if n != c.words || n == 2 && !strings.Contains(b.String(), "2023-11-14T22:14:40Z") {
			t.Errorf("%s: %d, %v\n%s", name, n, err, b.String())
		}
	}
}

// TestOtherVersionsAreNotForged: an export whose words or layout were others is not
// proved, and has not failed.
func TestOtherVersionsAreNotForged(t *testing.T) {
	f, r := export(t, nil)
	f.Transcript = []byte("# Another layout")
	if k := Check(f, r); k.Outcome != evidence.Failed {
		t.Errorf("%+v", k)
	}
	f.Unsigned = bytes.Replace(f.Unsigned, []byte(`"Format":1,`), nil, 1)
	if k := Check(f, r); k.Outcome != evidence.NotProved {
		t.Errorf("%+v", k)
	}
}

// TestManyPartsAreRefused: a list is counted before it is kept.
func TestManyPartsAreRefused(t *testing.T) {
	f, r := export(t, nil)
	for _, text := range []string{`{"Thread":{"Entries":[%]}}`, `{"thread":{"moves":[%]}}`, `{"Thread":{"Order":{"Gaps":[%]}}}`, `{"Notes":[%]}`} {
		f.Unsigned = []byte(strings.ReplaceAll(text, "%", strings.Repeat("null,", maxParts)+"null"))
		if _, err := Remake(&bytes.Buffer{}, f, r); !errors.Is(err, evidence.ErrInput) {
			t.Errorf("%.40s: %v", text, err)
		}
	}
}
