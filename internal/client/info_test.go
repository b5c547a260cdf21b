package client

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestInfo reads information documents as relays write them, and pages that are
// no such documents.
func TestInfo(t *testing.T) {
	const date = "Sun, 22 Nov 2026 12:00:00 GMT"
	for name, c := range map[string]struct {
		status           int
		kind, body, want string
		nips             int
		err              error
	}{
		"one":      {200, "application/nostr+json", `{"name":"a","software":"engramd","version":"v1.2.3","supported_nips":[1,11,"x"]}`, "v1.2.3", 2, nil},
		"odd":      {200, "application/json", `{"software":7,"version":"v1\n\u001b[31m2"}`, "v1", 0, nil},
		"page":     {200, "text/html", "<html>", "", 0, ErrMisbehaved},
		"null":     {200, "application/json", "null", "", 0, ErrMisbehaved},
		"an error": {502, "application/json", "{}", "", 0, ErrMisbehaved},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Accept") != "application/nostr+json" || r.Header.Get("Authorization") != "" {
					t.Errorf("asked with %v", r.Header)
				}
				w.Header().Set("Date", date)
				w.Header().Set("Content-Type", c.kind)
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(c.body))
			}))
			defer server.Close()
			client := New(Identity{}, Options{Timeout: patience})
			defer client.Close()
			info, err := client.Info(context.Background(), "ws"+strings.TrimPrefix(server.URL, "http"))
			if !errors.Is(err, c.err) || !strings.HasPrefix(info.Version, c.want) || len(info.NIPs) != c.nips {
				t.Errorf("%+v, %v", info, err)
			}
			if strings.ContainsAny(info.Version, "\n\x1b") {
				t.Errorf("%q can be printed", info.Version)
			}
			if want, _ := time.Parse(http.TimeFormat, date); !info.Date.Equal(want) {
				t.Errorf("dated %v", info.Date)
			}
		})
	}
}

// TestPromise: a promise of history counts only if no retention rule
// contradicts it.
func TestPromise(t *testing.T) {
	promise := History{Versions: 100, Days: 365}
	for doc, want := range map[string]*History{
		`{"history":{"versions":100,"days":365}}`:                                                  &promise,
		`{"history":{"versions":100,"days":365},"retention":[{"kinds":[1,[4,7]],"time":60}]}`:      &promise,
		`{"history":{"versions":100,"days":365},"retention":[{"kinds":[[30000,39999]],"time":1}]}`: nil,
		`{"history":{"versions":100,"days":365},"retention":[{"kinds":[30174],"count":1}]}`:        nil,
		`{"history":{"versions":100,"days":365},"retention":[{"time":3600}]}`:                      nil,
		`{"history":{"versions":100,"days":365},"retention":[{"kinds":["all"]}]}`:                  nil,
		`{"history":{"versions":0,"days":365}}`:                                                    nil,
		`{"history":{"versions":100,"days":-1}}`:                                                   nil,
		`{"history":true}`:                                                                         nil, `{}`: nil, `[]`: nil,
	} {
		got := promised([]byte(doc))
		if (got == nil) != (want == nil) || got != nil && *got != *want {
			t.Errorf("%s: %+v", doc, got)
		}
	}
}
