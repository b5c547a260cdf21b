//go:build cgo

package contract_test

import (
	"bytes"
	"errors"
	"net/http"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/client/contract"
	"engramd/internal/e2e/inprocess"
	"engramd/internal/e2e/testkeys"
	"engramd/internal/relay/http/bridgetest"
	"engramd/nips/niptemp"
)

// openOf returns a signed offer to a worker under an id.
func openOf(t *testing.T, poster, worker, id string, more ...nostr.Tag) *nostr.Event {
	t.Helper()
	key := testkeys.New(poster)
	ev := &nostr.Event{Kind: niptemp.KindState, CreatedAt: nostr.Now(), Content: `{"contract_id":"` + id + `","status":"open","description":"` + poster + `'s"}`,
		Tags: append(nostr.Tags{{"d", id}, {"p", worker}}, more...)}
	if err := ev.Sign(key.Secret); err != nil {
		t.Fatal(err)
	}
	return ev
}

// TestSecondPairs: a contract that was displaced is found with its poster's
// key, on every relay, for reading and writing; the owner's contract without
// one.
func TestSecondPairs(t *testing.T) {
	for name, url := range map[string]string{"api": inprocess.Start(t, nil).URL, "websocket": bridgetest.Start(t).URL} {
		t.Run(name, func(t *testing.T) {
			owner, other, worker := contractsOf(t, "owner", url), contractsOf(t, "other", url), contractsOf(t, "worker", url)
			salt := make([]byte, niptemp.SaltSize)
			id, err := niptemp.NewID(owner.PubKey(), salt)
			if err != nil {
				t.Fatal(err)
			}
			offer := func(by *contract.Contracts, ev *nostr.Event, said string) {
				done[contract.Contract](t)(by.New(t.Context(), contract.Offer{Worker: worker.PubKey(), Description: said, Event: ev}))
			}
			offer(other, openOf(t, "other", worker.PubKey(), id), "other's")
			done[contract.Contract](t)(worker.Move(t.Context(), id, "", "accepted", "", nil))
			offer(owner, openOf(t, "owner", worker.PubKey(), id, niptemp.SaltTag(salt)), "owner's")
			if got := thread(t, worker, id).Contract.Poster.PubKey; got != other.PubKey() {
				t.Errorf("without a poster it is not that which he has accepted, but %s's", got)
			}
			for poster, status := range map[*contract.Contracts]string{owner: "open", other: "accepted"} {
				by := poster.PubKey()
				for _, reader := range []*contract.Contracts{worker, poster} {
					c := thread(t, reader.By(by), id).Contract
					if c.Poster.PubKey != by || c.Worker.PubKey != worker.PubKey() || c.Status != status {
						t.Errorf("%+v", c)
					}
				}
			}
			theirs := worker.By(owner.PubKey())
			if moved, _, err := theirs.Move(t.Context(), id, "", "accepted", "", nil); err != nil || moved.Poster.PubKey != owner.PubKey() || moved.Status == "open" {
				t.Fatalf("%+v, %v", moved, err)
			}
			done[contract.Entry](t)(theirs.Say(t.Context(), id, "", contract.Saying{Type: "message", Content: "for the owner"}))
			for poster, entries := range map[*contract.Contracts]int{owner: 1, other: 0} {
				if th := thread(t, worker.By(poster.PubKey()), id); th.Contract.Status != "accepted" || len(th.Entries) != entries {
					t.Errorf("%+v", th)
				}
			}
			if _, _, err := worker.By(contractsOf(t, "nobody", url).PubKey()).Thread(t.Context(), id, ""); !errors.Is(err, client.ErrNotFound) {
				t.Errorf("a poster who has none: %v", err)
			}
		})
	}
}

// TestUnproven: a contract whose offer is not known is marked so, by the
// relay's word or by its events.
func TestUnproven(t *testing.T) {
	unproven := inprocess.Start(t, func(h http.Handler) http.Handler {
		return rewriting(h, `"status":"accepted"`, `"unproven":true,"status":"accepted"`)
	}).URL
	poster, worker := contractsOf(t, "poster", unproven), contractsOf(t, "worker", unproven)
	id := example(t, poster, worker, true)
	if c := thread(t, poster, id).Contract; !c.Unproven {
		t.Errorf("%+v", c)
	}
	all, _, err := poster.List(t.Context(), "")
	if err != nil || len(all.Contracts) != 1 || !all.Contracts[0].Unproven {
		t.Errorf("%+v, %v", all, err)
	}
	plain := bridgetest.Start(t).URL
	poster, worker = contractsOf(t, "poster", plain), contractsOf(t, "worker", plain)
	id = example(t, poster, worker, false)
	if c := thread(t, poster, id).Contract; c.Unproven {
		t.Errorf("its offer is there: %+v", c)
	}
	done[contract.Contract](t)(worker.Move(t.Context(), id, "", "submitted", "", nil))
	done[contract.Contract](t)(poster.Move(t.Context(), id, "", "completed", "", nil))
	// A stranger is shown no superseded offer.
	if c := thread(t, contractsOf(t, "stranger", plain), id).Contract; !c.Unproven {
		t.Errorf("%+v", c)
	}
}

// rewriting replaces a text in the answers of the contract API.
func rewriting(h http.Handler, old, text string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") != "" {
			h.ServeHTTP(w, r)
			return
		}
		kept := &keptAnswer{header: http.Header{}, status: http.StatusOK}
		h.ServeHTTP(kept, r)
		for name, values := range kept.header {
			w.Header()[name] = values
		}
		w.Header().Del("Content-Length")
		w.WriteHeader(kept.status)
		w.Write(bytes.ReplaceAll(kept.body.Bytes(), []byte(old), []byte(text)))
	})
}

// keptAnswer holds an answer back.
type keptAnswer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (k *keptAnswer) Header() http.Header            { return k.header }
func (k *keptAnswer) WriteHeader(status int)         { k.status = status }
func (k *keptAnswer) Write(text []byte) (int, error) { return k.body.Write(text) }
