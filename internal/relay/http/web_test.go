package relayhttp

import (
	"net/http"
	"strings"
	"testing"
)

// leaf is a page that says which file was asked for.
type leaf struct{}

func (leaf) ServePage(w http.ResponseWriter, _ *http.Request, name string) {
	_, _ = w.Write([]byte("file " + name))
}

func (leaf) Moved(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Location", "app/")
	w.WriteHeader(http.StatusPermanentRedirect)
}

func served(urls ...string) func(*fakeRelay, *Options) {
	return func(_ *fakeRelay, o *Options) { o.Web, o.URLs = leaf{}, urls }
}

func TestOwnersPageIsBelowEveryPath(t *testing.T) {
	h, _ := newHandler(t, served("wss://relay.example", "wss://relay.example/nostr/one/"))
	for _, c := range []struct {
		path string
		code int
		text string
	}{
		{"/app", 308, ""}, {"/nostr/one/app", 308, ""},
		{"/app/", 200, "file "}, {"/nostr/one/app/", 200, "file "},
		{"/app/a.js", 200, "file a.js"}, {"/nostr/one/app/a.js", 200, "file a.js"},
		{"/app/a/b", 200, "file a/b"}, {"/app/a%2fb", 200, "file a/b"},
		{"/app/../page", 404, "invalid: "}, {"/app/%2e%2e/page", 404, "invalid: "}, {"/app//a.js", 404, "invalid: "}, {"/app/.git", 404, "invalid: "},
		{"/nostr/app/", 404, "invalid: "}, {"/apps/", 404, "invalid: "}, {"/app.js", 404, "invalid: "},
	} {
		w := get(h, "GET", c.path)
		if w.Code != c.code || !strings.Contains(w.Body.String(), c.text) {
			t.Errorf("%s: %d %s, want %d %s", c.path, w.Code, w.Body, c.code, c.text)
		}
		if c.code != 404 && w.Header().Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s may be read by other origins", c.path)
		}
	}
	if w := get(h, "GET", "/app/", "Accept", infoType, "Connection", "Upgrade", "Upgrade", "websocket"); w.Body.String() != "file " {
		t.Errorf("a websocket at /app/: %s", w.Body)
	}
}

// TestTheRelaysPathBeatsTheOwnersPage: a relay that is called /app stays where
// its clients look for it.
func TestTheRelaysPathBeatsTheOwnersPage(t *testing.T) {
	h, _ := newHandler(t, served("wss://relay.example/app"))
	for _, path := range []string{"/", "/app", "/app/"} {
		if w := get(h, "GET", path, "Connection", "Upgrade", "Upgrade", "websocket"); !strings.HasPrefix(w.Body.String(), "socket ") {
			t.Errorf("websocket at %s: %d %s", path, w.Code, w.Body)
		}
		if w := get(h, "GET", path, "Accept", infoType); w.Header().Get("Content-Type") != infoType {
			t.Errorf("NIP-11 at %s: %v", path, w.Header())
		}
	}
	if w := get(h, "GET", "/app/app/a.js"); w.Body.String() != "file a.js" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestRelaysPageLinksToTheOwners: relative to where a browser is, so that a path
// which a proxy takes away does no harm.
func TestRelaysPageLinksToTheOwners(t *testing.T) {
	h, _ := newHandler(t, served("wss://relay.example/nostr/one"))
	for path, href := range map[string]string{"/": `"app/"`, "/nostr/one/": `"app/"`, "/nostr/one": `"./one/app/"`} {
		if w := get(h, "GET", path, "Accept", "text/html"); !strings.Contains(w.Body.String(), "<a href="+href+">") {
			t.Errorf("%s does not link to %s", path, href)
		}
		w := get(h, "GET", path, "Accept", infoType)
		if w.Header().Get("Content-Type") != infoType || strings.Contains(w.Body.String(), "app/") {
			t.Errorf("NIP-11 at %s: %s", path, w.Body)
		}
		if w := get(h, "GET", path, "Connection", "Upgrade", "Upgrade", "websocket", "Accept", "text/html"); !strings.HasPrefix(w.Body.String(), "socket ") {
			t.Errorf("websocket at %s: %d %s", path, w.Code, w.Body)
		}
	}
}

func TestWithoutOwnersPage(t *testing.T) {
	h, _ := newHandler(t, nil)
	for _, path := range []string{"/app", "/app/", "/app/a.js"} {
		if w := get(h, "GET", path); w.Code != 404 {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	if body := get(h, "GET", "/", "Accept", "text/html").Body.String(); strings.Contains(body, "app/") {
		t.Error("the page links to what is not there")
	}
}
