package relayhttp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/httpauth"
	"engramd/internal/relay/store/sqlite/storetest"
	"engramd/nips/nip01"
)

// manager is a Management that says what it was asked.
type manager struct {
	key   string
	calls []string
	fail  error
}

func (m *manager) Manages(key string) bool { return key == m.key }

func (m *manager) Manage(_ context.Context, key, auth string, _ netip.Addr, body []byte) (any, error) {
	if key != m.key || len(auth) != 64 {
		return nil, errors.New("error: called for " + key)
	}
	m.calls = append(m.calls, string(body))
	return []int{len(m.calls)}, m.fail
}

// managed is a world with a manager, the owner.
func managed(t *testing.T, most int) (*world, *manager) {
	m := &manager{key: owner.Pub}
	var clock *storetest.Clock
	w := newWorld(t, func(o *Options) {
		o.Management = m
		o.Used = httpauth.New(time.Minute, most, most, func() time.Time { return clock.Now() })
	})
	clock = w.clock
	return w, m
}

const aCall = `{"method":"supportedmethods","params":[]}`

// manageAs signs a call for the relay's own URL.
func (w *world) manageAs(k storetest.Key, body string, change ...func(*nostr.Event)) string {
	return authorization(k, w.clock.Now(), "POST", w.url, []byte(body), change...)
}

func nonce(s string) func(*nostr.Event) { return addTag("nonce", s) }

func TestManagementAnswers(t *testing.T) {
	w, m := managed(t, 100)
	call := func(what, kind, url string) (status int, body string) {
		rec := w.do("POST", "/", []byte(aCall), "Content-Type", kind, "Authorization", w.manageAs(owner, aCall, nonce(what), setTag("u", url)))
		return rec.Code, strings.TrimSpace(rec.Body.String())
	}
	for i, c := range [][2]string{
		{managementType, w.url}, {managementType + "; charset=utf-8", w.url + "/"}, {"Application/Nostr+JSON+RPC", publicURL}, {managementType, "wss://RELAY.example:443/nostr/"},
	} {
		if status, body := call(c[0]+c[1], c[0], c[1]); status != 200 || body != `{"result":[`+string(rune('1'+i))+`]}` {
			t.Errorf("%v: %d %s", c, status, body)
		}
	}
	if status, _ := call("another type", "application/json", w.url); status != http.StatusMethodNotAllowed || len(m.calls) != 4 || m.calls[0] != aCall {
		t.Errorf("another type: %d, calls %q", status, m.calls)
	}
	for _, text := range []string{"invalid: no", "restricted: no", "error: no"} {
		m.fail = nip01.Parse(text)
		rec := w.do("POST", "/", []byte(aCall), "Content-Type", managementType, "Authorization", w.manageAs(owner, aCall, nonce(text)))
		wantProblem(t, text, rec, problemOf(nip01.Parse(text)).Status, text)
	}
	if pre := w.do("OPTIONS", "/", nil); pre.Code != 204 || !strings.Contains(pre.Header().Get("Access-Control-Allow-Methods"), "POST") {
		t.Errorf("preflight: %d %v", pre.Code, pre.Header())
	}
}

func TestManagementIsNotForOthers(t *testing.T) {
	w, m := managed(t, 100)
	old := w.clock.Now().Add(-61 * time.Second)
	other := sha256.Sum256([]byte("another body"))
	for what, c := range map[string]struct {
		auth, text string
		status     int
	}{
		"nobody":           {"", "auth-required: there is no Authorization", 401},
		"nonsense":         {"Nostr x", "auth-required: ", 401},
		"a stranger":       {w.manageAs(stranger, aCall), "restricted: this key does not manage this relay", 403},
		"an old signature": {authorization(owner, old, "POST", w.url, []byte(aCall)), "auth-required: created_at", 401},
		"another body":     {w.manageAs(owner, aCall, setTag("payload", hex.EncodeToString(other[:]))), "auth-required: the payload tag is not", 401},
		"no payload":       {w.manageAs(owner, aCall, dropTag("payload")), "auth-required: there is no payload tag", 401},
		"no u":             {w.manageAs(owner, aCall, dropTag("u")), "auth-required: there is no u tag", 401},
		"two u":            {w.manageAs(owner, aCall, addTag("u", w.url)), "auth-required: there are several u", 401},
		"another relay":    {w.manageAs(owner, aCall, setTag("u", "https://evil.example/nostr")), "auth-required: the u tag", 401},
		"an endpoint":      {w.manageAs(owner, aCall, setTag("u", w.url+"/events")), "auth-required: the u tag", 401},
		"a query":          {w.manageAs(owner, aCall, setTag("u", w.url+"?x")), "auth-required: the u tag", 401},
		"another method":   {w.manageAs(owner, aCall, setTag("method", "GET")), "auth-required: the method tag", 401},
		"another kind":     {w.manageAs(owner, aCall, func(ev *nostr.Event) { ev.Kind = 22242 }), "auth-required: ", 401},
	} {
		header := []string{"Content-Type", managementType}
		if c.auth != "" {
			header = append(header, "Authorization", c.auth)
		}
		wantProblem(t, what, w.do("POST", "/", []byte(aCall), header...), c.status, c.text)
	}
	large := strings.Repeat(" ", maxManagement+1)
	wantProblem(t, "too large", w.do("POST", "/", []byte(large), "Content-Type", managementType, "Authorization", w.manageAs(owner, large)), 413, "invalid: at most 65536")
	empty := w.do("POST", "/", nil, "Content-Type", managementType, "Authorization", w.manageAs(owner, "", nonce("empty")))
	wantProblem(t, "an empty body without its hash", empty, 401, "auth-required: there is no payload tag")
	if len(m.calls) != 0 {
		t.Errorf("calls %q", m.calls)
	}
}

// TestManagementIsCalledOnce: a signature counts once, for as long as it is
// good.
func TestManagementIsCalledOnce(t *testing.T) {
	w, m := managed(t, 3)
	early := func(ev *nostr.Event) { ev.CreatedAt += 60 }
	auth := w.manageAs(owner, aCall, early)
	send := func() int {
		return w.do("POST", "/", []byte(aCall), "Content-Type", managementType, "Authorization", auth).Code
	}
	if status := send(); status != 200 {
		t.Fatal(status)
	}
	for _, later := range []time.Duration{0, 59 * time.Second, 61 * time.Second, time.Second} {
		w.clock.Add(later)
		rec := w.do("POST", "/", []byte(aCall), "Content-Type", managementType, "Authorization", auth)
		wantProblem(t, "again", rec, 401, "auth-required: ")
	}
	// A body that was refused for its hash has not used its signature up.
	fresh := w.manageAs(owner, aCall)
	if rec := w.do("POST", "/", []byte("x"), "Content-Type", managementType, "Authorization", fresh); rec.Code != 401 {
		t.Errorf("another body: %d", rec.Code)
	}
	for i, want := range []int{200, 401} {
		if rec := w.do("POST", "/", []byte(aCall), "Content-Type", managementType, "Authorization", fresh); rec.Code != want {
			t.Errorf("use %d: %d", i+1, rec.Code)
		}
	}
	for i, want := range []int{200, 200, 429} {
		rec := w.do("POST", "/", []byte(aCall), "Content-Type", managementType, "Authorization", w.manageAs(owner, aCall, nonce(string(rune('a'+i)))))
		if rec.Code != want {
			t.Errorf("call %d: %d %s, want %d", i, rec.Code, rec.Body, want)
		}
	}
	if len(m.calls) != 4 {
		t.Errorf("%d calls", len(m.calls))
	}
}

// TestManagementIsTheLatest: what a call of a managing key reads or decides is
// as new as the call; nobody else has the relay wait.
func TestManagementIsTheLatest(t *testing.T) {
	w, m := managed(t, 100)
	waits := &waiting{Relay: w.relay}
	w.Handler.in.relay = waits
	call := func(k storetest.Key, what string) int {
		return w.do("POST", "/", []byte(aCall), "Content-Type", managementType, "Authorization", w.manageAs(k, aCall, nonce(what))).Code
	}
	if got := call(owner, "a"); got != http.StatusOK || waits.calls != 1 || len(m.calls) != 1 {
		t.Errorf("%d, waited %d times, %d calls", got, waits.calls, len(m.calls))
	}
	if got := call(stranger, "b"); got != http.StatusForbidden || waits.calls != 1 {
		t.Errorf("a stranger: %d, waited %d times", got, waits.calls)
	}
	waits.fail = errors.New("the log's own words")
	if got := call(owner, "c"); got != http.StatusServiceUnavailable || waits.calls != 2 || len(m.calls) != 1 {
		t.Errorf("%d, waited %d times, %d calls", got, waits.calls, len(m.calls))
	}
}

// waiting is a relay that counts who waits for the latest.
type waiting struct {
	Relay
	calls int
	fail  error
}

func (w *waiting) Latest(context.Context) error {
	w.calls++
	return w.fail
}
