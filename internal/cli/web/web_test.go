package web

import (
	"net/http/httptest"
	"strings"
	"testing"

	"engramd/internal/web"
)

// TestWebIsForThisMachine: the page is served under this machine's own names
// only.
func TestWebIsForThisMachine(t *testing.T) {
	h := webHandler(web.New(web.About{}), nil)
	for host, want := range map[string]int{
		"127.0.0.1:7449": 200, "127.0.0.2": 200, "localhost:1": 200, "LocalHost": 200, "[::1]:7449": 200, "[::1]": 200, "[::ffff:127.0.0.1]:1": 200,
		"relay.example:7449": 421, "127.0.0.1.example": 421, "10.0.0.1:7449": 421, "": 421, "0.0.0.0": 421, "localhost.example:1": 421,
	} {
		r := httptest.NewRequest("GET", "/app/", nil)
		r.Host = host
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != want {
			t.Errorf("Host %q: %d, want %d", host, w.Code, want)
		}
	}
	for path, want := range map[string][2]string{"/": {"302", "/app/"}, "/app": {"308", "app/"}, "/other": {"404", ""}, "/app/nothing": {"404", ""}, "/app/../web.go": {"404", ""}} {
		r := httptest.NewRequest("GET", path, nil)
		r.Host = "localhost"
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); !strings.HasPrefix(w.Result().Status, want[0]) || w.Header().Get("Location") != want[1] {
			t.Errorf("%s: %s %v", path, w.Result().Status, w.Header())
		}
	}
}
