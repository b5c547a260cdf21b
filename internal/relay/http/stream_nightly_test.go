//go:build nightly

package relayhttp

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestSlowReaderIsWaitedFor: pages are read as the client takes them, and an
// answer may last longer than the server's limits for a request.
func TestSlowReaderIsWaitedFor(t *testing.T) {
	t.Parallel()
	// On a busy machine the request itself may take as long as the server's limits.
	var err error
	for limit := 2 * time.Second; limit < patience; limit *= 3 {
		if err = slowlyRead(t, limit); err == nil {
			return
		}
	}
	t.Error(err)
}

// slowlyRead says what is wrong with an answer that lasts longer than limit.
func slowlyRead(t *testing.T, limit time.Duration) error {
	t.Helper()
	b := &endless{rows: 400, size: 10_000, page: make(chan struct{}, 2)}
	w := overBackend(t, b)
	addr := serve(t, w.Handler, func(s *http.Server) { s.ReadTimeout, s.WriteTimeout = limit, limit })
	req, err := http.NewRequestWithContext(t.Context(), "POST", "http://"+addr+"/query", strings.NewReader(anything))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", w.sign(agent, "POST", "/query", []byte(anything)))
	start := time.Now()
	b.page <- struct{}{}
	b.page <- struct{}{}
	time.AfterFunc(limit*5/4, func() { close(b.page) }) // in the middle of the answer
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	if body, err := readAll(resp); err != nil || !json.Valid([]byte(body)) {
		return fmt.Errorf("%d bytes, %v", len(body), err)
	}
	if took := time.Since(start); took <= limit {
		t.Errorf("the answer took %v only: this tests nothing", took)
	}
	return nil
}
