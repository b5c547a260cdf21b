package operator

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
	"engramd/internal/web"
)

// TestOwnersPage: the daemon serves the owner's page, also below the path of
// its public URL, with every file that the page names, and tells it the public
// URLs.
func TestOwnersPage(t *testing.T) {
	relay := relaytest.Start(t, relaytest.Options{Build: rig.Watched, Args: []string{"--public-url", "wss://relay.example/nostr,ws://other.example"}})
	get := func(path string, header http.Header) relaytest.Response {
		t.Helper()
		resp, err := relay.Do(http.MethodGet, path, nil, header)
		if err != nil {
			t.Fatal(err)
		}
		return resp
	}
	for _, base := range []string{"", "/nostr"} {
		if moved := get(base+"/app", nil); moved.Status != http.StatusPermanentRedirect || moved.Header.Get("Location") != "app/" {
			t.Errorf("%s/app: %d %v", base, moved.Status, moved.Header)
		}
		page := get(base+"/app/", nil)
		if page.Status != 200 || page.Header.Get("Content-Security-Policy") != web.Policy || page.Header.Get("Cache-Control") != "no-cache" {
			t.Errorf("%s/app/: %d %v", base, page.Status, page.Header)
		}
		parts := regexp.MustCompile(`(?:src|href)="([^"]+)"`).FindAllSubmatch(page.Body, -1)
		if len(parts) != 3 {
			t.Errorf("the page names %d parts", len(parts))
		}
		for _, part := range parts {
			resp := get(base+"/app/"+string(part[1]), http.Header{"Origin": {"https://other.example"}})
			if resp.Status != 200 || len(resp.Body) == 0 || !strings.HasSuffix(resp.Header.Get("Cache-Control"), "immutable") || resp.Header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s: %d, %d bytes, %v", part[1], resp.Status, len(resp.Body), resp.Header)
			}
		}
		if urls := get(base+"/app/relay.json", nil); !strings.HasPrefix(string(urls.Body), `{"urls":["wss://relay.example/nostr","ws://other.example"],`) {
			t.Errorf("relay.json: %s", urls.Body)
		}
		if front := get(base+"/", http.Header{"Accept": {"text/html"}}); !strings.Contains(string(front.Body), `<a href="app/">`) {
			t.Errorf("%s/ does not lead a browser to the page", base)
		}
		if info := get(base+"/", http.Header{"Accept": {"application/nostr+json"}}); info.Header.Get("Content-Type") != "application/nostr+json" {
			t.Errorf("%s/ is no information document: %v", base, info.Header)
		}
	}
	for _, path := range []string{"/app/%2e%2e/%2e%2e/engramd.db", "/app/..%2f..%2fengramd.db", "/app/page.html", "/app/src/app.mjs"} {
		if resp := get(path, nil); resp.Status != http.StatusNotFound {
			t.Errorf("%s: %d", path, resp.Status)
		}
	}
	for _, method := range []string{http.MethodPost, http.MethodOptions} {
		if resp, err := relay.Do(method, "/app/", nil, nil); err != nil || resp.Status != http.StatusMethodNotAllowed {
			t.Errorf("%s /app/: %d, %v", method, resp.Status, err)
		}
	}
}

// TestOwnersPageIsTakenAway: with web.enabled = false the page does not exist.
func TestOwnersPageIsTakenAway(t *testing.T) {
	relay := relaytest.Start(t, relaytest.Options{Build: rig.Watched, Config: "[web]\nenabled = false\n"})
	for path, want := range map[string]int{"/app": 404, "/app/": 404, "/app/index.html": 404, "/app/relay.json": 404, "/": 200} {
		resp, err := relay.Do(http.MethodGet, path, nil, http.Header{"Accept": {"text/html"}})
		if err != nil || resp.Status != want || strings.Contains(string(resp.Body), "app/") {
			t.Errorf("%s: %d, %v", path, resp.Status, err)
		}
	}
}
