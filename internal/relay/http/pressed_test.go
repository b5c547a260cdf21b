package relayhttp

import (
	"net/http"
	"strings"
	"testing"
)

// While the process is short of memory nothing is queried or counted over HTTP,
// as over websockets.
func TestNothingIsQueriedWithoutMemory(t *testing.T) {
	short := true
	w := newWorld(t, func(o *Options) { o.Pressed = func() bool { return short } })
	for _, path := range []string{"/query", "/count"} {
		got := w.ask(agent, http.MethodPost, path, `[{"kinds":[1],"authors":["`+agent.Pub+`"]}]`)
		if got.Code != http.StatusServiceUnavailable || !strings.Contains(got.Body.String(), "short of memory") {
			t.Errorf("%s: %d %s", path, got.Code, got.Body)
		}
	}
	short = false
	if got := w.ask(agent, http.MethodPost, "/query", `[{"kinds":[1],"authors":["`+agent.Pub+`"]}]`); got.Code != http.StatusOK {
		t.Errorf("/query: %d %s", got.Code, got.Body)
	}
}
