package management_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"engramd/internal/relay/management"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/storetest"
	"engramd/nips/nip01"
)

var (
	manager = storetest.NewKey("manager").Pub
	alice   = storetest.NewKey("alice").Pub
	bob     = storetest.NewKey("bob").Pub
	listed  = storetest.NewKey("listed in the configuration").Pub
	banned  = storetest.NewKey("banned in the configuration").Pub
	eventA  = strings.Repeat("a", 64)
	eventB  = strings.Repeat("b", 64)
	home    = netip.MustParseAddr("203.0.113.7")
)

// world is a service over a real store.
type world struct {
	*management.Service
	t     *testing.T
	store *sqlite.Store
	rules management.Rules // in force
	sets  int              // how often rules were put into force
	fail  error            // of what prepares the rules
	calls int
}

func newWorld(t *testing.T, cfg management.Config, o management.Options) *world {
	t.Helper()
	w := &world{t: t, store: storetest.MustOpen(t)}
	w.open(cfg, o)
	return w
}

// open makes a service over the store, as a daemon that starts.
func (w *world) open(cfg management.Config, o management.Options) {
	w.t.Helper()
	if o.Store == nil {
		o.Store = w.store
	}
	s, err := management.New(w.t.Context(), o)
	if err != nil {
		w.t.Fatal(err)
	}
	w.Service = s
	w.configure(cfg)
}

func (w *world) configure(cfg management.Config) {
	w.t.Helper()
	cfg.Keys = append(cfg.Keys, manager)
	if err := w.Configure(cfg, w.prepare); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) prepare(r management.Rules) (func(), error) {
	return func() { w.rules = r; w.sets++ }, w.fail
}

// call makes a call and returns its result as JSON, or the error's text.
func (w *world) call(method string, params ...any) string {
	w.t.Helper()
	if params == nil {
		params = []any{}
	}
	body, err := json.Marshal(map[string]any{"method": method, "params": params})
	if err != nil {
		w.t.Fatal(err)
	}
	return w.raw(string(body))
}

func (w *world) raw(body string) string {
	w.t.Helper()
	w.calls++
	result, err := w.Do(context.Background(), management.Call{Key: manager, Auth: fmt.Sprintf("%064x", w.calls), Addr: home, Body: []byte(body)})
	if err != nil {
		var e *nip01.Refusal
		if !errors.As(err, &e) || e.Error() != err.Error() {
			w.t.Fatalf("%s: %v is no Error", body, err)
		}
		return err.Error()
	}
	text, err := json.Marshal(result)
	if err != nil {
		w.t.Fatal(err)
	}
	return string(text)
}

// want makes a call and wants this answer, or one that starts so before "…".
func (w *world) want(answer, method string, params ...any) {
	w.t.Helper()
	got := w.call(method, params...)
	if head, cut := strings.CutSuffix(answer, "…"); got != answer && !(cut && strings.HasPrefix(got, head)) {
		w.t.Errorf("%s %v: %s, want %s", method, params, got, answer)
	}
}

// audit reads the audit table.
func (w *world) audit() (out []store.AdminCall) {
	w.t.Helper()
	err := w.store.AdminAudit(w.t.Context(), 0, 0, func(c store.AdminCall) error {
		out = append(out, c)
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}
