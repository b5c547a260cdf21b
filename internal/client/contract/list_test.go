package contract

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/client/clienttest"
	"engramd/nips/niptemp"
)

// Strangers offer what they like to a key: the contracts in which it did something
// are listed all the same, in their last state, and a bounded number of events is
// fetched.
func TestStrangersDoNotTakeTheListAway(t *testing.T) {
	me, worker, stranger := who(t, "owner"), who(t, "worker"), who(t, "other")
	relay := &clienttest.Hoard{Hints: true}
	relayURL := clienttest.StartHoard(t, relay)
	state := func(by client.Identity, to, id, previous, status string, at int64) {
		ev := &nostr.Event{Kind: niptemp.KindState, CreatedAt: nostr.Timestamp(at), Tags: nostr.Tags{{"d", id}, {"p", to}},
			Content: fmt.Sprintf(`{"contract_id":%q,"status":%q,"previous_status":%q}`, id, status, previous)}
		if err := by.Sign(ev); err != nil {
			t.Fatal(err)
		}
		relay.Put(ev)
	}
	state(me, worker.PubKey(), "mine", "", "open", 1000)
	state(worker, me.PubKey(), "mine", "open", "accepted", 1001)
	state(me, me.PubKey(), "anybody", "", "open", 1002)
	for i := range 2*mostOffered + 1 {
		state(stranger, me.PubKey(), fmt.Sprint("junk-", i), "", "open", 2000+int64(i))
	}
	came := 0
	c := clientFor(t, me, []string{relayURL}, func(o *client.Options) {
		o.Trace = func(_ string, sent bool, frame []byte) {
			if !sent && strings.HasPrefix(string(frame), `["EVENT"`) {
				came++
			}
		}
	})
	for status, want := range map[string]map[string]string{"": {"mine": "accepted", "anybody": "open"}, "accepted": {"mine": "accepted"}} {
		came = 0
		got, s, err := Of(c).List(t.Context(), status)
		if err != nil || s.Partial || !got.More {
			t.Fatalf("%v, %+v, more %v", err, s, got.More)
		}
		mine := map[string]string{}
		for _, k := range got.Contracts {
			if !strings.HasPrefix(k.ID, "junk") {
				mine[k.ID] = k.Status
			}
		}
		if fmt.Sprint(mine) != fmt.Sprint(want) {
			t.Errorf("status %q: %v, want %v", status, mine, want)
		}
		if most := mostOffered + 2 + 2*keysOfOne; came > most {
			t.Errorf("status %q: %d events were fetched, want %d at most", status, came, most)
		}
	}
}

// An API is asked for the contracts that changed last, in the status that is wanted,
// and for no more.
func TestListingIsFilteredAtTheRelay(t *testing.T) {
	me := who(t, "owner")
	var asked []url.Values
	relayURL := clienttest.Start(t, &clienttest.Fake{Serve: (&clienttest.Hoard{Hints: true}).Serve, HTTP: func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != contractsPath {
			http.NotFound(w, r)
			return
		}
		asked = append(asked, r.URL.Query())
		var all []any
		n, _ := strconv.Atoi(r.URL.Query().Get("limit"))
		for i := range n {
			all = append(all, map[string]any{"contract_id": fmt.Sprint("c", i), "poster_pubkey": me.PubKey(), "status": "open"})
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"contracts": all, "total": 20_000})
	}})
	got, s, err := Of(clientFor(t, me, []string{relayURL}, nil)).List(t.Context(), "open")
	if err != nil || !got.More || len(got.Contracts) != mostOffered {
		t.Errorf("%d contracts, more %v, %v, %+v", len(got.Contracts), got.More, err, s)
	}
	if len(asked) != 1 || asked[0].Get("status") != "open" || asked[0].Get("limit") != fmt.Sprint(mostOffered) {
		t.Errorf("asked for %v", asked)
	}
}
