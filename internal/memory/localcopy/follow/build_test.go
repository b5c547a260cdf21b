package follow

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/client/transfer"
	"engramd/internal/e2e/testkeys"
	"engramd/internal/memory/localcopy"
	"engramd/internal/relay/http/bridgetest"
)

// TestFirstBuild builds a copy of 500 memories from a relay, or of 10,000 with
// ENGRAMD_SOAK, within ten seconds then; a comparison that finds nothing takes
// no part of that.
func TestFirstBuild(t *testing.T) {
	n := 500
	switch {
	case os.Getenv("ENGRAMD_SOAK") != "":
		n = 10_000
	case testing.Short():
		n = 50
	}
	home := bridgetest.Start(t).URL
	w := &world{t: t, all: map[string]bool{}}
	fill(t, home, w, n)
	var built, compared time.Duration
	for try := 0; try == 0 || try < 3 && built > 10*time.Second; try++ {
		c, m := memory(t, time.Minute, home)
		kept := open(t, m, t.TempDir(), nil)
		f := followerOf(c, m, kept, time.Now)
		start, last := time.Now(), 0
		out, err := f.CatchUp(t.Context(), Ask{Progress: func(done, of int) { last = done * 100 / of }})
		if err != nil || out[0].Err != nil || out[0].Took != n || last != 100 {
			t.Fatalf("%+v, %v, %d %%", out, err, last)
		}
		heads := 0
		shown(t, kept, func(localcopy.Head) { heads++ })
		if built = time.Since(start); heads != n {
			t.Errorf("%d heads", heads)
		}
		start = time.Now()
		if out, err := f.CatchUp(t.Context(), Ask{}); err != nil || out[0].Err != nil || out[0].Took > 0 {
			t.Fatalf("%+v, %v", out, err)
		}
		compared = time.Since(start)
		kept.Close()
	}
	t.Logf("%d memories: built in %v, compared in %v", n, built, compared)
	if n == 10_000 && built > 10*time.Second {
		t.Errorf("building took %v", built)
	}
}

// fill stores memories of 500 to 1,000 bytes at a relay.
func fill(t *testing.T, url string, w *world, n int) {
	t.Helper()
	id, err := client.NewIdentity(testkeys.New("agent").Secret)
	if err != nil {
		t.Fatal(err)
	}
	p, err := transfer.NewPeer(id, url, client.Options{Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	r := rand.New(rand.NewPCG(3, 4))
	words := strings.Fields("atlas keeps its ledger in a small file beside the river while nobody asks why the port was moved to autumn")
	rows := make([][]*nostr.Event, n)
	for i := range rows {
		var text strings.Builder
		for size := 500 + r.IntN(500); text.Len() < size; {
			fmt.Fprintf(&text, "%s%d ", words[r.IntN(len(words))], r.IntN(500))
		}
		rows[i] = []*nostr.Event{w.write(fmt.Sprint("mem/notes/n", i), text.String(), time.Now().Unix()-int64(n-i))}
	}
	taken := 0
	if err := p.PublishAll(t.Context(), rows, func(_ *nostr.Event, s client.PublishStatus) {
		if s.Accepted {
			taken++
		}
	}); err != nil || taken != n {
		t.Fatalf("%d of %d stored, %v", taken, n, err)
	}
}
