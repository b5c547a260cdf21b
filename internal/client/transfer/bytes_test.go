package transfer

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/client/clienttest"
	"engramd/internal/protocol/wire"
	"engramd/nips/nipae"
)

// When 100 of 100,000 events differ, making two relays alike costs at most 2 %
// of the bytes of reading one of them. Events that both have need no signature
// here, because no client reads them.
func TestTransferIsCheap(t *testing.T) {
	const all, differing = 100_000, 100
	now := time.Now().Unix()
	var shared, onlyA, onlyB []*nostr.Event
	example := clienttest.EngramAt(t, "agent", "owner", "mem/example", "a memory of ordinary length, as agents write them", now)
	for i := range all - differing {
		ev := *example
		ev.CreatedAt = nostr.Timestamp(now - 1_000_000 + int64(i*7))
		ev.ID = fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, i)))
		ev.Tags = nostr.Tags{{"d", ev.ID}, ev.Tags[1]}
		shared = append(shared, &ev)
	}
	for i := range differing {
		ev := clienttest.EngramAt(t, "agent", "owner", nipae.Slug(fmt.Sprintf("mem/only/%d", i)), "x", now-900_000+int64(i*6000))
		if i%2 == 0 {
			onlyA = append(onlyA, ev)
		} else {
			onlyB = append(onlyB, ev)
		}
	}
	a, b := &syncing{Hoard: clienttest.Hoard{Events: slices.Concat(shared, onlyA)}}, &syncing{Hoard: clienttest.Hoard{Events: slices.Concat(shared, onlyB)}}
	var bytes, frames atomic.Int64
	tr := Transfer{Filters: EverythingOf(who(t, "agent").PubKey(), 0), Clock: time.Now}
	for _, url := range []string{startSyncing(t, a), startSyncing(t, b)} {
		p := peerFor(t, who(t, "agent"), url, func(o *client.Options) {
			o.Timeout = time.Minute
			o.Trace = func(_ string, _ bool, frame []byte) {
				bytes.Add(int64(len(frame)))
				frames.Add(1)
			}
		})
		tr.Sources, tr.Targets = append(tr.Sources, p), append(tr.Targets, p)
	}
	report, err := tr.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, to := range report.Targets {
		if !to.UpToDate() || to.Sent != differing/2 {
			t.Errorf("%+v", to)
		}
	}
	full := int64(all * len(wire.AppendEventFrame(nil, "q1", wire.AppendEvent(nil, example))))
	t.Logf("%d bytes in %d frames, %.2f %% of %d", bytes.Load(), frames.Load(), 100*float64(bytes.Load())/float64(full), full)
	if bytes.Load() > full/50 {
		t.Errorf("%d bytes, more than 2 %% of %d", bytes.Load(), full)
	}
}
