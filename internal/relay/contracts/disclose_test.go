package contracts

import (
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/nbd-wtf/go-nostr/nip44"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay/store/sqlite/storetest"
	"engramd/nips/disclose"
	"engramd/nips/niptemp"
)

// sealedOf is a signed kind-30090 that only the two can read.
func (w *world) sealedOf(k, to storetest.Key, id, text string) *nostr.Event {
	w.clock.Add(second)
	key := must[[32]byte](w.tb)(nip44.GenerateConversationKey(to.Pub, k.Secret))
	payload := must[string](w.tb)(nip44.Encrypt(asJSON(map[string]string{"type": "message", "content": text}), key))
	return w.event(k, niptemp.KindEntry, payload, nostr.Tag{"d", id}, nostr.Tag{"p", to.Pub}, nostr.Tag{"t", "message"})
}

// TestDisclose: either party whose key is kept can disclose any sealed entry
// between the two; nobody else can, and an open entry has nothing to disclose.
func TestDisclose(t *testing.T) {
	w := newWorld(t)
	posts := w.provision("anna", anna)
	w.disputed(w.agreement(0))
	sealed := w.sealedOf(will, anna, contractID, "I refund if late")
	w.mustPut(sealed)
	w.clock.Add(second)
	plain := w.say(posts, contractID, "message", Shared, "in the open")
	id := "mem_" + sealed.ID[:12]
	got := must[Disclosure](t)(w.Disclose(t.Context(), posts, contractID, id))
	ev := must[*nostr.Event](t)(wire.ParseEvent(got.Event))
	keys := must[disclose.Keys](t)(disclose.ParseKeys(got.Keys))
	if text, err := disclose.Open(ev.Content, keys); err != nil || text != `{"content":"I refund if late","type":"message"}` || ev.ID != sealed.ID {
		t.Errorf("%q, %v", text, err)
	}
	for name, c := range map[string]struct {
		who   Caller
		entry string
		want  Code
	}{
		"a party with a key of its own": {holder(will), id, Forbidden},
		"the arbitrator":                {holder(arby), id, Forbidden},
		"a stranger":                    {holder(mara), id, NotFound},
		"nobody":                        {Caller{}, id, Unauthenticated},
		"an entry in the open":          {posts, plain.EntryID, Conflict},
		"one that is not there":         {posts, "mem_000000000000", NotFound},
	} {
		wantCode(t, name, errOf(w.Disclose(t.Context(), c.who, contractID, c.entry)), c.want)
	}
}
