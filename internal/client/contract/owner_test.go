//go:build cgo

package contract_test

import (
	"errors"
	"testing"

	"engramd/internal/client"
	"engramd/internal/client/contract"
	"engramd/internal/e2e/inprocess"
	"engramd/internal/relay/store/sqlite/storetest"
	"engramd/nips/niptemp"
)

// An event that the poster signs for a contract made here proves that the id is
// the poster's, and no other poster can use the id.
func TestContractCommitsToItsPoster(t *testing.T) {
	url := inprocess.Start(t, nil).URL
	poster, worker := contractsOf(t, "poster", url), contractsOf(t, "worker", url)
	id := example(t, poster, worker, true)
	done[contract.Contract](t)(worker.Move(t.Context(), id, "", "submitted", "", nil))
	done[contract.Contract](t)(poster.Move(t.Context(), id, "", "accepted", "the sources are missing", nil))
	done[contract.Contract](t)(worker.Move(t.Context(), id, "", "submitted", "", nil))
	th := thread(t, worker, id)
	proofs := map[string]int{}
	for _, m := range th.Moves {
		if !m.Follows {
			t.Errorf("%s does not follow: %s", m.To, m.Why)
		}
		if niptemp.ProvenSalt(m.Event) != "" {
			proofs[m.By]++
		}
	}
	for _, e := range th.Entries {
		if e.Event != nil && niptemp.ProvenSalt(e.Event) != "" {
			proofs[e.Author.PubKey]++
		}
	}
	if len(proofs) != 1 || proofs[poster.PubKey()] != 3 {
		t.Errorf("proofs by %v, want three by %s", proofs, poster.PubKey())
	}
	last := th.Moves[len(th.Moves)-1]
	if th.Contract.Status != "submitted" || last.To != "submitted" || len(th.Moves) != 5 {
		t.Errorf("%+v", th.Contract)
	}
	thief, key := contractsOf(t, "thief", url), storetest.NewKey("thief")
	open := key.State(storetest.NewKey("worker"), last.CreatedAt-storetest.Start.Unix(), id, "", "open")
	if err := open.Sign(key.Secret); err != nil {
		t.Fatal(err)
	}
	if _, _, err := thief.New(t.Context(), contract.Offer{Worker: worker.PubKey(), Description: "mine", Event: open}); !errors.Is(err, client.ErrConflict) && !errors.Is(err, client.ErrInvalid) {
		t.Errorf("a contract under the same id: %v", err)
	}
	if got := thread(t, worker, id).Contract.Poster.PubKey; got != poster.PubKey() {
		t.Errorf("its poster is %s", got)
	}
}
