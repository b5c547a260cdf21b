package contracts

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/nbd-wtf/go-nostr/nip44"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay/store/sqlite/storetest"
	"engramd/nips/niptemp"
)

// sealedBy is a signed entry with a text sealed for another.
func (w *world) sealedBy(k storetest.Key, id, to, kind, text string) *nostr.Event {
	w.tb.Helper()
	key := must[[32]byte](w.tb)(nip44.GenerateConversationKey(to, k.Secret))
	payload := must[string](w.tb)(nip44.Encrypt(text, key))
	return w.event(k, niptemp.KindEntry, payload, nostr.Tag{"d", id}, nostr.Tag{"p", to}, nostr.Tag{"t", kind})
}

// TestSealedEntriesOfAKeptKey: an entry that is sealed for an agent whose key
// the relay keeps is opened and found for that agent, the agent sends such
// entries, and nobody else reads them.
func TestSealedEntriesOfAKeptKey(t *testing.T) {
	w := newWorld(t)
	worker := w.provision("worker", will)
	id := "25becee1-e170-42e3-b8aa-51d3e864ce60"
	w.mustPut(w.stateOf(anna, id, will.Pub, niptemp.Open, "", ""))
	w.clock.Add(second)
	w.mustPut(w.sealedBy(anna, id, will.Pub, "message", asJSON(map[string]any{
		"type": "message", "content": "the archive is in the cedar box", "attachments": []string{"https://example.com/a"}})))
	w.clock.Add(second)
	w.mustPut(w.sealedBy(anna, id, will.Pub, "note", "no entry, a cedar text"))
	w.clock.Add(second)
	w.mustPut(w.stateOf(will, id, anna.Pub, niptemp.Accepted, niptemp.Open, ""))

	if got := w.texts(worker, id); got != "the archive is in the cedar box|no entry, a cedar text" {
		t.Errorf("the worker reads %s", got)
	}
	p := must[EntryPage](t)(w.Entries(t.Context(), worker, id, EntryQuery{}))
	if e := p.Entries[0]; !e.Encrypted || !e.Opened || len(e.Attachments) != 1 || e.Visibility != Shared {
		t.Errorf("%+v", e)
	}
	if found := must[SearchPage](t)(w.Search(t.Context(), worker, id, SearchRequest{Query: "cedar"})); found.Total != 2 || !found.Entries[0].Opened {
		t.Errorf("the search finds %+v", found.Entries)
	}

	w.clock.Add(second)
	said := must[Entry](t)(w.Say(t.Context(), worker, id, EntryRequest{Type: "deliverable", Content: "opened: elm", Encrypted: true, Attachments: []string{"https://example.com/b"}}))
	if said.Content != "opened: elm" || !said.Encrypted || !said.Opened || said.NostrEventID == nil {
		t.Errorf("said %+v", said)
	}
	one := must[Entry](t)(w.Entry(t.Context(), worker, id, said.EntryID))
	ev := must[*nostr.Event](t)(wire.ParseEvent(one.Event))
	text := must[string](t)(nip44.Decrypt(ev.Content, must[[32]byte](t)(nip44.GenerateConversationKey(will.Pub, anna.Secret))))
	var body struct {
		Type, Content string
		Attachments   []string
	}
	if err := json.Unmarshal([]byte(text), &body); err != nil || body.Type != "deliverable" || body.Content != "opened: elm" || len(body.Attachments) != 1 {
		t.Errorf("the poster opens %s", text)
	}
	for name, c := range map[string]Caller{"the poster, with her own key": holder(anna), "a stranger with a kept key": w.provision("mara", mara), "the operator": {PubKey: oper.Pub, Operator: true}} {
		got := w.texts(c, id)
		if strings.Contains(got, "cedar") || strings.Contains(got, "opened: elm") { // three letters may stand in base64
			t.Errorf("%s reads %s", name, got)
		}
		if found := must[SearchPage](t)(w.Search(t.Context(), c, id, SearchRequest{Query: "cedar"})); found.Total != 0 {
			t.Errorf("%s finds %d", name, found.Total)
		}
	}
}

// TestEncryptedRequestsThatMakeNoSense: they are refused, and nothing is
// written.
func TestEncryptedRequestsThatMakeNoSense(t *testing.T) {
	w := newWorld(t)
	poster := w.provision("poster", anna)
	offer := w.create(poster, "").ContractID
	_, err := w.Say(t.Context(), poster, offer, EntryRequest{Type: "note", Content: "for whom?", Encrypted: true})
	wantCode(t, "for nobody", err, Invalid)
	id := w.create(poster, will.Pub).ContractID
	_, err = w.Say(t.Context(), poster, id, EntryRequest{Type: "note", Content: "x", Visibility: PosterOnly, Encrypted: true})
	wantCode(t, "a private one", err, Invalid)
	_, err = w.Say(t.Context(), poster, id, EntryRequest{Type: "note", Content: strings.Repeat("\"", 40<<10), Encrypted: true})
	wantCode(t, "too long", err, TooLarge)
	plain := w.entryOf(anna, id, will.Pub, "note", "plain")
	_, err = w.Say(t.Context(), holder(anna), id, EntryRequest{Type: "note", Content: "plain", Encrypted: true, Event: raw(plain)})
	wantCode(t, "a plain event", err, Invalid)
	for _, of := range []string{offer, id} {
		if got := w.texts(poster, of); got != "" {
			t.Errorf("written: %s", got)
		}
	}
}
