package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
	"engramd/nips/nipae"
)

// A memory that is rewritten over and over is never absent: every read and
// every list has one of its versions.
func TestRewrittenMemoryIsNeverAbsent(t *testing.T) {
	const memories, writes = 40, 400
	relay := rig.Start(t)
	agent := func() *memory.Memory {
		id, err := client.NewIdentity(relaytest.Agent().Secret)
		if err != nil {
			t.Fatal(err)
		}
		c := client.New(id, client.Options{Relays: []string{relay.URL}, Timeout: relaytest.Patience})
		t.Cleanup(c.Close)
		m, err := memory.AsAgent(c, relaytest.Owner().Pub)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	slug := func(i int) nipae.Slug { return nipae.Slug(fmt.Sprintf("mem/%02d", i%memories)) }
	writer, reader := agent(), agent()
	set := func(ctx context.Context, i int) error {
		_, _, err := writer.Set(ctx, slug(i), fmt.Sprint("version ", i), memory.SetOptions{})
		return err
	}
	for i := range memories {
		if err := set(t.Context(), i); err != nil {
			t.Fatal(err)
		}
	}
	ended := make(chan error, 1)
	go func() {
		for i := range writes {
			if err := set(t.Context(), i); err != nil {
				ended <- err
				return
			}
		}
		ended <- nil
	}()
	calls, agentKey := rig.NewCaller(t, relay), relaytest.Agent()
	filter := fmt.Appendf(nil, `[{"kinds":[30174],"authors":[%q]}]`, agentKey.Pub)
	for n := 0; ; n++ {
		select {
		case err := <-ended:
			if err != nil {
				t.Fatal(err)
			}
			return
		default:
		}
		if _, _, err := reader.Get(t.Context(), slug(n)); err != nil {
			t.Fatalf("read %d: %v", n, err)
		}
		if l, _, err := reader.ListAll(t.Context()); err != nil || len(l.Memories) != memories {
			t.Fatalf("list %d: %d of %d memories, %v", n, len(l.Memories), memories, err)
		}
		if n%4 > 0 {
			continue // HTTP calls are rate-limited
		}
		resp, err := calls.Signed(&agentKey, http.MethodPost, "/query", filter)
		var events []nostr.Event
		if err != nil || resp.Status != http.StatusOK || json.Unmarshal(resp.Body, &events) != nil || len(events) != memories {
			t.Fatalf("query %d: status %d, %d of %d memories, %v", n, resp.Status, len(events), memories, err)
		}
		if resp, err = calls.Signed(&agentKey, http.MethodPost, "/count", filter); err != nil || string(bytes.TrimSpace(resp.Body)) != fmt.Sprintf(`{"count":%d}`, memories) {
			t.Fatalf("count %d: %s, %v", n, resp.Body, err)
		}
	}
}
