//go:build cgo

package contract_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/nbd-wtf/go-nostr/nip19"

	"engramd/internal/client"
	clientcontract "engramd/internal/client/contract"
	"engramd/internal/e2e/inprocess"
	"engramd/internal/e2e/testkeys"
	"engramd/internal/relay/http/bridgetest"
)

// contractsOf returns the contract memory client of a named identity.
func contractsOf(t testing.TB, name string, relays ...string) *clientcontract.Contracts {
	t.Helper()
	id, err := client.NewIdentity(testkeys.New(name).Secret)
	if err != nil {
		t.Fatal(err)
	}
	c := client.New(id, client.Options{Relays: relays, Timeout: time.Minute})
	t.Cleanup(c.Close)
	return clientcontract.Of(c)
}

func done[T any](t testing.TB) func(v T, s client.Status, err error) T {
	return func(v T, s client.Status, err error) T {
		t.Helper()
		if err != nil {
			t.Fatalf("%v; %+v", err, s)
		}
		return v
	}
}

func thread(t testing.TB, cs *clientcontract.Contracts, id string) clientcontract.Thread {
	t.Helper()
	return done[clientcontract.Thread](t)(cs.Thread(t.Context(), id, ""))
}

// example replays the worked example of NIP-TEMP. It returns the contract's id.
func example(t testing.TB, poster, worker *clientcontract.Contracts, api bool) string {
	t.Helper()
	ctx := t.Context()
	c := done[clientcontract.Contract](t)(poster.New(ctx, clientcontract.Offer{Worker: worker.PubKey(), Description: "Civic summary", AmountSats: 5000}))
	say := done[clientcontract.Entry](t)
	say(poster.Say(ctx, c.ID, "", clientcontract.Saying{Type: "message", Content: "Focus on government filings"}))
	done[clientcontract.Contract](t)(worker.Move(ctx, c.ID, "", "accepted", "", nil))
	say(worker.Say(ctx, c.ID, "", clientcontract.Saying{Type: "message", Content: "Understood"}))
	private := clientcontract.Saying{Type: "note", Visibility: clientcontract.VisibilityPrivate, Content: "verify against our archive"}
	if e, _, err := poster.Say(ctx, c.ID, "", private); api && (err != nil || e.Visibility != clientcontract.VisibilityPoster || e.Signature != clientcontract.SignatureNone) {
		t.Fatalf("a private entry: %+v, %v", e, err)
	} else if !api && !errors.Is(err, client.ErrNoAPI) {
		t.Fatalf("a private entry without the API: %v", err)
	}
	say(worker.Say(ctx, c.ID, "", clientcontract.Saying{Type: "deliverable", Content: "The summary", Attachments: []string{"https://example.com/s.pdf"}}))
	return c.ID
}

// TestWorkedExample: after the four steps, over the API and over the websocket
// alone, each party sees what it may, all signatures hold, and the summary is
// the API's.
func TestWorkedExample(t *testing.T) {
	for name, url := range map[string]string{"api": inprocess.Start(t, nil).URL, "websocket": bridgetest.Start(t).URL} {
		t.Run(name, func(t *testing.T) {
			api := name == "api"
			poster, worker, stranger := contractsOf(t, "poster", url), contractsOf(t, "worker", url), contractsOf(t, "stranger", url)
			id := example(t, poster, worker, api)
			for who, want := range map[*clientcontract.Contracts]int{poster: 4, worker: 3, stranger: 3} {
				if !api && (who == poster || who == stranger) {
					want = map[*clientcontract.Contracts]int{poster: 3, stranger: 2}[who] // superseded entries are for parties
				}
				th := thread(t, who, id)
				if len(th.Entries) != want || th.API != (api && who != stranger) {
					t.Fatalf("%d entries, want %d; %+v", len(th.Entries), want, th)
				}
				for _, e := range th.Entries {
					if private := e.Visibility != clientcontract.VisibilityShared; private && e.Signature != clientcontract.SignatureNone || !private && e.Signature != clientcontract.SignatureHolds {
						t.Errorf("%s: signature %s", e.Content, e.Signature)
					}
					if api && e.ArrivedAt == 0 {
						t.Errorf("%s: no time of arrival", e.Content)
					}
				}
				shared := th.Select(clientcontract.EntryFilter{Visibility: clientcontract.VisibilityShared})
				// All of it is of one second: where no relay tells the order, it is
				// unproven.
				if first := shared[0].Content; api && first != "Focus on government filings" || (th.Order != nil) != (api && who != stranger) {
					t.Errorf("the first entry is %q, the order %+v", first, th.Order)
				}
				if who == poster && api && (th.Entries[1].Content != "Understood" || th.Entries[2].K != 1 || th.Entries[3].Content != "The summary" || th.Entries[3].N != th.Entries[2].N+1) {
					t.Errorf("the entries stand otherwise: %+v", th.Entries)
				}
			}
			if !api {
				return
			}
			s := thread(t, poster, id).Summary()
			if s.TotalEntries != 4 || s.NostrPublished != 3 || s.ByType["message"] != 2 || s.ByType["note"] != 1 || s.ByType["deliverable"] != 1 ||
				s.ByVisibility["shared"] != 3 || s.ByVisibility["poster_only"] != 1 || s.ByAuthor[poster.PubKey()] != 2 {
				t.Errorf("summary %+v", s)
			}
			found := thread(t, poster, id).Select(clientcontract.EntryFilter{Query: "ARCHIVE verify"})
			if len(found) != 1 || found[0].Type != "note" {
				t.Errorf("search found %+v", found)
			}
		})
	}
}

// TestOneRelayOfEach: signed entries are on both relays, private ones on the
// relay with the API, and either relay alone is enough for the entries that it
// has.
func TestOneRelayOfEach(t *testing.T) {
	api, plain := inprocess.Start(t, nil).URL, bridgetest.Start(t).URL
	poster, worker := contractsOf(t, "poster", plain, api), contractsOf(t, "worker", plain, api)
	id := example(t, poster, worker, true)
	if th := thread(t, poster, id); len(th.Entries) != 4 || th.Contract.Home != api || len(th.Moves) != 2 {
		t.Errorf("both: %+v", th)
	}
	if th := thread(t, contractsOf(t, "poster", plain), id); len(th.Entries) != 3 || th.API || th.Contract.Status != "accepted" || th.Contract.Description != "Civic summary" {
		t.Errorf("websocket: %+v", th)
	}
	list := done[clientcontract.Listing](t)(worker.List(t.Context(), "")).Contracts
	if len(list) != 1 || list[0].Role(worker.PubKey()) != "worker" {
		t.Errorf("list: %+v", list)
	}
}

// TestConcurrentMoves: of two parties that move at once, one is told that it
// lost.
func TestConcurrentMoves(t *testing.T) {
	for name, url := range map[string]string{"api": inprocess.Start(t, nil).URL, "websocket": bridgetest.Start(t).URL} {
		t.Run(name, func(t *testing.T) {
			poster, worker := contractsOf(t, "poster", url), contractsOf(t, "worker", url)
			id := example(t, poster, worker, name == "api")
			done[clientcontract.Contract](t)(worker.Move(t.Context(), id, "", "submitted", "", nil))
			var moving sync.WaitGroup
			errs := make([]error, 2)
			for i, m := range []struct {
				who *clientcontract.Contracts
				to  string
			}{{poster, "completed"}, {worker, "disputed"}} {
				moving.Go(func() { _, _, errs[i] = m.who.Move(t.Context(), id, "", m.to, "", nil) })
			}
			moving.Wait()
			won := 0
			for _, err := range errs {
				switch {
				case err == nil:
					won++
				case !errors.Is(err, client.ErrConflict) && !errors.Is(err, client.ErrRefused) && !errors.Is(err, client.ErrInvalid):
					t.Errorf("the other one: %v", err)
				}
			}
			if got := thread(t, poster, id).Contract.Status; won == 0 || won == 1 && (errs[0] == nil) != (got == "completed") {
				t.Errorf("%d won, and it is %s: %v", won, got, errs)
			}
		})
	}
}

// TestArbitration: the arbitrator whom both parties named settles a dispute by
// an event of their own, and the thread says who decided; also without an API.
func TestArbitration(t *testing.T) {
	for name, url := range map[string]string{"an API": inprocess.Start(t, nil).URL, "events alone": bridgetest.Start(t).URL} {
		t.Run(name, func(t *testing.T) {
			poster, worker, arbitrator := contractsOf(t, "poster", url), contractsOf(t, "worker", url), contractsOf(t, "arbitrator", url)
			ctx, moved := t.Context(), done[clientcontract.Contract](t)
			c := moved(poster.New(ctx, clientcontract.Offer{Worker: worker.PubKey(), Arbitrator: arbitrator.PubKey(), Description: "x", Deadline: time.Now().Add(time.Hour).Unix()}))
			if c.Deadline == 0 || c.Offered.Arbitrator != arbitrator.PubKey() || c.Agreed.Arbitrator != "" {
				t.Errorf("made: %+v", c)
			}
			moved(worker.Move(ctx, c.ID, "", "accepted", "", nil))
			moved(worker.Move(ctx, c.ID, "", "disputed", "not paid", nil))
			if _, _, err := contractsOf(t, "stranger", url).Move(ctx, c.ID, "", "completed", "", nil); !errors.Is(err, client.ErrAuth) && !errors.Is(err, client.ErrNoAPI) {
				t.Errorf("a stranger settles it: %v", err)
			}
			if th := thread(t, arbitrator, c.ID); len(th.Moves) != 3 || th.Contract.Role(arbitrator.PubKey()) != "arbitrator" {
				t.Errorf("the arbitrator reads %+v", th)
			}
			moved(arbitrator.Move(ctx, c.ID, "", "completed", "delivered as agreed", nil))
			for _, reader := range []*clientcontract.Contracts{poster, worker, arbitrator} {
				th := thread(t, reader, c.ID)
				if th.Contract.Status != "completed" || th.Contract.Decided != "arbitrator" || th.Contract.DecidedNote != "delivered as agreed" || th.Contract.DecidedEvent == "" ||
					len(th.Moves) != 4 || !th.Moves[3].Follows || th.Moves[3].By != arbitrator.PubKey() || th.Strangers != 0 {
					t.Errorf("%+v", th)
				}
			}
			if all, _, err := worker.List(ctx, ""); err != nil || len(all.Contracts) != 1 || all.Contracts[0].Status != "completed" {
				t.Errorf("listed: %+v, %v", all, err)
			}
			if _, _, err := poster.Say(ctx, c.ID, "", clientcontract.Saying{Type: "message", Content: "late"}); !errors.Is(err, client.ErrConflict) {
				t.Errorf("an entry after the end: %v", err)
			}
		})
	}
}

// TestDiscloseOneEntry: a party discloses one sealed entry, and what it hands
// over proves to anybody what was said; the keys open no other entry.
func TestDiscloseOneEntry(t *testing.T) {
	url := inprocess.Start(t, nil).URL
	poster, worker := contractsOf(t, "poster", url), contractsOf(t, "worker", url)
	id := example(t, poster, worker, true)
	e := done[clientcontract.Entry](t)(worker.Say(t.Context(), id, "", clientcontract.Saying{Type: "message", Content: "I refund if late", Sealed: true}))
	for _, party := range []*clientcontract.Contracts{poster, worker} {
		for _, name := range []string{e.EntryID, e.EventID} {
			d := done[clientcontract.Disclosure](t)(party.Disclose(t.Context(), id, "", name))
			handed, err := json.Marshal(d)
			if err != nil {
				t.Fatal(err)
			}
			if read, err := clientcontract.ReadDisclosure(handed); err != nil || read.Entry.Content != "I refund if late" || read.Event.ID != e.EventID {
				t.Errorf("%+v, %v", read.Entry, err)
			}
		}
	}
	if _, _, err := poster.Disclose(t.Context(), id, "", "mem_000000000000"); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("one that is not there: %v", err)
	}
	open := thread(t, poster, id).Select(clientcontract.EntryFilter{Type: "deliverable"})[0]
	if _, _, err := poster.Disclose(t.Context(), id, "", open.EntryID); !errors.Is(err, client.ErrInvalid) {
		t.Errorf("one in the open: %v", err)
	}
	if _, _, err := contractsOf(t, "stranger", url).Disclose(t.Context(), id, "", e.EntryID); !errors.Is(err, client.ErrNotFound) && !errors.Is(err, client.ErrUnreadable) {
		t.Errorf("by a stranger: %v", err)
	}
}

// TestNamesNeedAPI: without the API an agent cannot be offered a contract by a
// name that only the API knows; keys and a deadline are in the signed offer.
func TestNamesNeedAPI(t *testing.T) {
	url := bridgetest.Start(t).URL
	poster := contractsOf(t, "poster", url)
	for _, o := range []clientcontract.Offer{{Description: "x", Expirer: clientcontract.Relay}, {Description: "x", Arbitrator: "judge"}, {Description: "x", Worker: "sami"}} {
		if _, _, err := poster.New(t.Context(), o); !errors.Is(err, client.ErrNoAPI) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	at := time.Now().Unix() + 60
	c := done[clientcontract.Contract](t)(poster.New(t.Context(), clientcontract.Offer{Description: "x", Deadline: at}))
	if got := thread(t, poster, c.ID).Contract; got.Deadline != at || got.Offered.Deadline != at {
		t.Errorf("%+v", got)
	}
	down := contractsOf(t, "poster", url, bridgetest.Down(t))
	if _, _, err := down.New(t.Context(), clientcontract.Offer{Description: "x", Arbitrator: "judge"}); !errors.Is(err, client.ErrPartial) {
		t.Errorf("with a relay that may have it: %v", err)
	}
}

// TestLyingAPI: a relay whose API answers something other than what was signed
// is found out, and what was signed is shown.
func TestLyingAPI(t *testing.T) {
	var mu sync.Mutex
	lie := func(body []byte) []byte { return body }
	url := inprocess.Start(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodGet || !strings.HasSuffix(r.URL.Path, "/memory") {
				next.ServeHTTP(w, r)
				return
			}
			rec := &recorder{header: http.Header{}}
			next.ServeHTTP(rec, r)
			mu.Lock()
			defer mu.Unlock()
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(rec.status)
			_, _ = w.Write(lie(rec.body.Bytes()))
		})
	}).URL
	poster, worker := contractsOf(t, "poster", url), contractsOf(t, "worker", url)
	id := example(t, poster, worker, true)
	tell := func(f func([]byte) []byte) clientcontract.Thread {
		mu.Lock()
		lie = f
		mu.Unlock()
		return thread(t, poster, id)
	}
	count := func(th clientcontract.Thread, s clientcontract.Signature) (n int) {
		for _, e := range th.Entries {
			if e.Signature == s {
				n++
			}
		}
		return n
	}
	th := tell(func(b []byte) []byte {
		var page map[string]any
		if json.Unmarshal(b, &page) != nil {
			return b
		}
		for _, e := range page["entries"].([]any) {
			if e := e.(map[string]any); e["content"] == "Understood" {
				e["content"] = "I refuse"
			}
		}
		b, _ = json.Marshal(page)
		return b
	})
	if n := count(th, clientcontract.SignatureDiffers); n != 1 || len(th.Select(clientcontract.EntryFilter{Query: "refuse"})) != 0 || len(th.Select(clientcontract.EntryFilter{Query: "understood"})) != 1 {
		t.Errorf("a changed text: %d differ, %+v", n, th.Entries)
	}
	th = tell(func(b []byte) []byte {
		return bytes.Replace(b, []byte(`"entries":[`), []byte(`"entries":[{"entry_id":"mem_0123456789ab","contract_id":"`+id+`","author_agent_id":"x","author_npub":"`+npub(worker.PubKey())+
			`","type":"message","visibility":"shared","content":"I waive my fee","attachments":[],"nostr_event_id":"`+strings.Repeat("ab", 32)+`","created_at":"2026-01-01T00:00:00Z"},`), 1)
	})
	if n := count(th, clientcontract.SignatureUnseen); n != 1 || th.Entries[0].Content != "I waive my fee" || th.Entries[0].Signature != clientcontract.SignatureUnseen {
		t.Errorf("an invented entry: %d are unseen, %+v", n, th.Entries)
	}
	for name, f := range map[string]func([]byte) []byte{
		"no JSON": func([]byte) []byte { return []byte("<html>") }, "another shape": func([]byte) []byte { return []byte(`{"entries":7}`) },
		"cut": func(b []byte) []byte { return b[:len(b)/2] }, "endless": func([]byte) []byte {
			return []byte(`{"entries":[{"content":"x"}` + strings.Repeat(`,{"content":"x"}`, 99) + `],"total":99999999}`)
		},
	} {
		mu.Lock()
		lie = f
		mu.Unlock()
		th, s, err := poster.Thread(t.Context(), id, "")
		if err != nil || !s.Partial || len(th.Select(clientcontract.EntryFilter{Type: "deliverable"})) != 1 {
			t.Errorf("%s: %v, partial %v, %d entries", name, err, s.Partial, len(th.Entries))
		}
	}
}

// TestEventFromElsewhere: an event that another program signed is accepted only
// if its author is this identity and it fits.
func TestEventFromElsewhere(t *testing.T) {
	url := inprocess.Start(t, nil).URL
	poster, worker := contractsOf(t, "poster", url), contractsOf(t, "worker", url)
	id := example(t, poster, worker, true)
	event := func(name, contract string) *nostr.Event {
		ev := &nostr.Event{Kind: 30090, CreatedAt: nostr.Timestamp(time.Now().Unix() + 30), Content: `{"type":"message","content":"from elsewhere"}`,
			Tags: nostr.Tags{{"d", contract}, {"t", "message"}, {"p", worker.PubKey()}}}
		if err := ev.Sign(testkeys.New(name).Secret); err != nil {
			t.Fatal(err)
		}
		return ev
	}
	for what, ev := range map[string]*nostr.Event{"another key's": event("stranger", id), "another contract's": event("poster", "x")} {
		if _, _, err := poster.Say(t.Context(), id, "", clientcontract.Saying{Event: ev}); !errors.Is(err, client.ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
	e := done[clientcontract.Entry](t)(poster.Say(t.Context(), id, "", clientcontract.Saying{Event: event("poster", id)}))
	if e.Content != "from elsewhere" || len(thread(t, worker, id).Select(clientcontract.EntryFilter{Query: "elsewhere"})) != 1 {
		t.Errorf("%+v", e)
	}
}

type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) WriteHeader(s int)           { r.status = s }
func (r *recorder) Write(b []byte) (int, error) { return r.body.Write(b) }

func npub(key string) string {
	text, err := nip19.EncodePublicKey(key)
	if err != nil {
		panic(err)
	}
	return text
}
