package api_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
)

// TestEveryOperationIsTheLatest sends every operation of the document as a
// caller who may: each waits once for what other nodes acknowledged, and is
// answered 503 when that is unknown. The document itself does not wait.
func TestEveryOperationIsTheLatest(t *testing.T) {
	calls, fail := 0, error(nil)
	w := newWorld(t, func(s *settings) {
		s.latest = func(context.Context) error { calls++; return fail }
	})
	bound, provisioned := w.bind("agent"), w.provision("kept")
	document := decode[struct {
		Paths map[string]map[string]any `json:"paths"`
	}](t, w.want(http.StatusOK, nil, "GET", "/api/openapi.json", nil))
	asked := 0
	for path, methods := range document.Paths {
		at := strings.NewReplacer("{id}", uuid(), "{entry_id}", entryID(), "{agent_id}", "somebody").Replace(path)
		for method := range methods {
			method = strings.ToUpper(method)
			for name, by := range map[string]*agent{"nobody": nil, "a signature": bound, "a token": provisioned} {
				want := 1
				if path == "/api/openapi.json" {
					want = 0
				}
				calls, fail = 0, nil
				if rec := w.do(by, method, at, nil); calls != want || rec.Code == http.StatusServiceUnavailable {
					t.Errorf("%s %s by %s: waited %d times, want %d; %d", method, path, name, calls, want, rec.Code)
				}
				fail = errors.New("the log's own words")
				rec := w.do(by, method, at, nil)
				behind := rec.Code == http.StatusServiceUnavailable && strings.Contains(rec.Body.String(), `"error: this relay cannot tell now whether`)
				if behind != (want == 1) {
					t.Errorf("%s %s by %s: %d %s", method, path, name, rec.Code, rec.Body)
				}
				asked++
			}
		}
	}
	if asked < 60 {
		t.Errorf("only %d requests were sent", asked)
	}
}
