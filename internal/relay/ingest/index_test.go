package ingest

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/nips/nipae"
)

// TestReplacementKeepsNoEvents: the memory of a replacement grows with the
// number of events, not with their size (docs/operating.md has the figure).
func TestReplacementKeepsNoEvents(t *testing.T) {
	const events, most = 20_000, 256 // bytes for each
	f, err := os.Create(filepath.Join(t.TempDir(), "events"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	x := &replacement{file: f, out: bufio.NewWriter(f), authors: map[string]*replaced{}}
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	content := strings.Repeat("x", 2_000)
	before := heap()
	for i := range events {
		line := wire.AppendEvent(nil, &nostr.Event{ID: fmt.Sprintf("%064x", i), PubKey: fmt.Sprintf("%064x", i%10), Kind: nipae.Kind, CreatedAt: nostr.Timestamp(i),
			Tags: nostr.Tags{{"d", fmt.Sprintf("%064x", i)}, {"p", strings.Repeat("0", 64)}}, Content: content, Sig: strings.Repeat("0", 128)})
		ev, err := wire.ParseEvent(line)
		if err != nil {
			t.Fatal(err)
		}
		if err := x.take(item{line: int64(i + 1), event: ev}); err != nil {
			t.Fatal(err)
		}
	}
	each := (heap() - before) / events
	t.Logf("%d bytes for each event", each)
	if each > most {
		t.Errorf("%d bytes are kept for each event of %d, want %d at most", each, len(content), most)
	}
	if err := x.out.Flush(); err != nil {
		t.Fatal(err)
	}
	last := x.order[9].lines[len(x.order[9].lines)-1]
	if ev, err := x.event(last); err != nil || ev.ID != fmt.Sprintf("%064x", events-1) || last.line != events {
		t.Errorf("read back: %+v, %v", ev, err)
	}
}
