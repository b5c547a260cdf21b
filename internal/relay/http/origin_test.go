package relayhttp

import (
	"strings"
	"testing"
)

// TestLocalRelayAnswersPagesOfThisMachineOnly: nothing on its port is for a page of
// elsewhere, and such a page cannot read the refusal; a relay with a name of its own
// serves the pages of all.
func TestLocalRelayAnswersPagesOfThisMachineOnly(t *testing.T) {
	local, _ := newHandler(t, func(_ *fakeRelay, o *Options) { o.Local, o.Web = true, leaf{} })
	public, _ := newHandler(t, func(_ *fakeRelay, o *Options) { o.Web = leaf{} })
	socket := []string{"Connection", "Upgrade", "Upgrade", "websocket"}
	asked := map[string][]string{"/": socket, "/?": {"Accept", infoType}, "/app/": nil, "/healthz": nil, "/nothing": nil}
	for _, origin := range []string{"null", "https://web.example", "http://127.0.0.1.example", "http://localhost.example:7447", "chrome-extension://localhost", "file://", "http://10.0.0.1:7447", "http://[", "http://0.0.0.0:7447", ""} {
		for path, header := range asked {
			header := append([]string{"Origin", origin}, header...)
			if w := get(local, "GET", path, header...); w.Code != 403 || w.Header().Get("Access-Control-Allow-Origin") != "" || !strings.Contains(w.Body.String(), "restricted: ") {
				t.Errorf("origin %q, %s: %d %v %s", origin, path, w.Code, w.Header(), w.Body)
			}
			if w := get(public, "GET", path, header...); w.Code == 403 {
				t.Errorf("a relay with a name refuses origin %q at %s: %s", origin, path, w.Body)
			}
		}
		if w := get(local, "GET", "/", append([]string{"Origin", "http://localhost:7447", "Origin", origin}, socket...)...); w.Code != 403 {
			t.Errorf("origin %q behind one of this machine: %d", origin, w.Code)
		}
	}
	for _, header := range [][]string{nil, {"Origin", "http://127.0.0.1:7449"}, {"Origin", "http://localhost:3000"}, {"Origin", "https://[::1]"}, {"Origin", "http://127.1.2.3"}} {
		if w := get(local, "GET", "/", append(header, socket...)...); !strings.HasPrefix(w.Body.String(), "socket ") {
			t.Errorf("%v: %d %s", header, w.Code, w.Body)
		}
		if w := get(local, "GET", "/", append(header, "Accept", infoType)...); w.Code != 200 || w.Header().Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%v, information: %d", header, w.Code)
		}
	}
}
