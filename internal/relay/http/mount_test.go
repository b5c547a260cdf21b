package relayhttp

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"engramd/internal/relay/httpauth"
	"engramd/nips/nip01"
)

// echo is an API that answers who asks and what.
type echo struct{ used map[string]bool }

func (e *echo) Route(segments []string) *Resource {
	if segments[len(segments)-1] == "nothing" {
		return nil
	}
	answer := func(ctx context.Context, a *Asked) (int, any, error) {
		switch string(a.Body) {
		case "fail":
			return 0, nil, errors.New("the disk's own words")
		case "panic":
			panic("no")
		case "refuse":
			return 0, nil, &Problem{Status: 409, Why: nip01.Refusal{Text: "Contract is in 'open' state."}, Fields: map[string]string{"a": "b"}}
		case "change":
			if err := a.Once(ctx); err != nil {
				return 0, nil, err
			}
		}
		return 201, map[string]any{"body": string(a.Body), "key": a.Key, "path": segments}, nil
	}
	return &Resource{Endpoint: "contracts", Operations: map[string]Operation{"POST": answer, "GET": answer}}
}

func (e *echo) Bearer(_ context.Context, token string) (string, error) {
	switch token {
	case "good":
		return agent.Pub, nil
	case "broken":
		return "", errors.New("the disk's own words")
	}
	return "", nil
}

func (e *echo) Use(_ context.Context, id, _ string) error {
	if e.used[id] {
		return httpauth.ErrUsed
	}
	e.used[id] = true
	return nil
}

func (e *echo) Used(id string) bool { return e.used[id] }

func TestMountedAPI(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.API = &echo{used: map[string]bool{}} })
	for _, c := range []struct {
		path, body, authorization string
		status                    int
		text                      string
	}{
		{"/api/a%2Fb/c", "", "", 201, `{"body":"","key":"","path":["api","a/b","c"]}`},
		{"/api/x", "unread", "", 201, `{"body":"","key":"","path":["api","x"]}`},
		{"/api/x", "read", "Bearer good", 201, `"body":"read"`},
		{"/api/x", "", "Bearer good", 201, agent.Pub},
		{"/api/x", "", "Bearer bad", 401, "auth-required: "},
		{"/api/x", "", "Bearer broken", 503, "error: "},
		{"/api/x", "", "Bearer " + strings.Repeat("x", 600), 401, "auth-required: "},
		{"/api/x", "", "Basic good", 401, "auth-required: "},
		{"/api/x", "fail", "Bearer good", 503, "error: "},
		{"/api/x", "panic", "Bearer good", 503, "error: "},
		{"/api/x", "refuse", "Bearer good", 409, `{"error":"Contract is in 'open' state.","fields":{"a":"b"}}`},
		{"/api/nothing", "", "", 404, "invalid: "},
	} {
		var header []string
		if c.authorization != "" {
			header = []string{"Authorization", c.authorization}
		}
		rec := w.do("POST", c.path, []byte(c.body), header...)
		if rec.Code != c.status || !strings.Contains(rec.Body.String(), c.text) || strings.Contains(rec.Body.String(), "disk") {
			t.Errorf("%s %s %.20s: %d %s, want %d %s", c.path, c.body, c.authorization, rec.Code, rec.Body, c.status, c.text)
		}
		if rec.Header().Get("Cache-Control") != "no-store" && c.status != http.StatusNotFound {
			t.Errorf("%s: %v", c.path, rec.Header())
		}
	}
	proof := w.sign(agent, "POST", "/api/x", []byte("change"))
	for _, want := range []int{201, 401} {
		if rec := w.do("POST", "/api/x", []byte("change"), "Authorization", proof); rec.Code != want {
			t.Errorf("%d %s, want %d", rec.Code, rec.Body, want)
		}
	}
	if rec := w.do("DELETE", "/api/x", nil); rec.Code != http.StatusMethodNotAllowed || rec.Header().Get("Allow") != "GET, OPTIONS, POST" {
		t.Errorf("%d %v", rec.Code, rec.Header())
	}
}
