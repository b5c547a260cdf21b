package relay

import (
	"context"
	"net/netip"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/storetest"
)

// BenchmarkAuthorize is what the decision about a REQ takes, hooks and gate.
func BenchmarkAuthorize(b *testing.B) {
	names, err := NewNames(nil, netip.MustParseAddrPort("127.0.0.1:7447"))
	if err != nil {
		b.Fatal(err)
	}
	r, err := New(Config{Names: names}, storetest.MustTable(b, gate.Options{}))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(r.Close)
	if err := r.Attach(storetest.MustOpen(b, func(o *sqlite.Options) { o.OnCommit = r.Committed })); err != nil {
		b.Fatal(err)
	}
	agent := storetest.NewKey("agent")
	ctx := WithReader(context.Background(), gate.NewReader(agent.Pub))
	own := nostr.Filter{Kinds: []int{30174}, Authors: []string{agent.Pub}}
	for name, filters := range map[string][]nostr.Filter{
		"open": {{Kinds: []int{1}}}, "own": {own}, "three": {own, own, own}, "refused": {{Kinds: []int{30174}}},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = r.Authorize(ctx, gate.SurfaceReq, filters)
			}
		})
	}
}
