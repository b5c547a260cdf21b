package contract

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr/nip19"

	"engramd/internal/client"
)

// An API that returns one item per page and always announces more is asked a
// bounded number of times, and its answers count as incomplete.
func TestPagesOfOneThing(t *testing.T) {
	var mu sync.Mutex
	asked := map[string]int{} // by the last word of the path
	me := who(t, "poster")
	npub, err := nip19.EncodePublicKey(me.PubKey())
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		what := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
		mu.Lock()
		asked[what]++
		mu.Unlock()
		offset, _ := strconv.Atoi(r.URL.Query().Get("offset"))
		w.Header().Set("Content-Type", "application/json")
		contract := func(id string) string {
			return fmt.Sprintf(`{"contract_id":%q,"poster_npub":%q,"description":"x","status":"open","created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-01T00:00:00Z"}`, id, npub)
		}
		switch what {
		case "memory":
			fmt.Fprintf(w, `{"entries":[{"entry_id":"mem_%012x","contract_id":"c","author_npub":%q,"type":"message","visibility":"poster_only","content":"x","created_at":"2026-01-01T00:00:00Z"}],"total":99999999}`, offset, npub)
		case "transitions":
			fmt.Fprintf(w, `{"transitions":[{"n":%d}],"total":99999999}`, offset)
		case "contracts":
			fmt.Fprintf(w, `{"contracts":[%s],"total":99999999}`, contract(fmt.Sprint("c", offset)))
		default:
			fmt.Fprint(w, contract("c"))
		}
	}))
	t.Cleanup(srv.Close)
	c := clientFor(t, me, []string{"ws" + strings.TrimPrefix(srv.URL, "http")}, func(o *client.Options) { o.Timeout = time.Minute })
	th, status, err := Of(c).Thread(t.Context(), "c", "")
	if err != nil || !status.Partial || len(th.Entries) != maxContractPages {
		t.Errorf("%d entries, %+v, %v", len(th.Entries), status, err)
	}
	if list, complete, err := apiList(t.Context(), Of(c), c.Targets()[0], ""); err != nil || complete || len(list) != maxContractPages {
		t.Errorf("%d contracts, all %v, %v", len(list), complete, err)
	}
	for _, what := range []string{"memory", "transitions", "contracts"} {
		if asked[what] != maxContractPages {
			t.Errorf("%s was asked for %d times", what, asked[what])
		}
	}
}
