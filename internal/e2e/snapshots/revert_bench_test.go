package snapshots

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
	"engramd/internal/protocol/wire"
)

// BenchmarkRevert goes back to a snapshot of 5,000 memories, all of which have changed,
// with engramctl, and reports the seconds it takes, the snapshot before it included.
//
//	go test -tags "sqlite_fts5 libsecp256k1" ./internal/e2e -run '^$' -bench Revert -benchtime 1x
func BenchmarkRevert(b *testing.B) {
	const memories = 5_000
	agent, owner := relaytest.Agent(), relaytest.Owner()
	relay := relaytest.Start(b, relaytest.Options{Build: rig.Plain})
	write := func(text string, at int64) {
		in := &bytes.Buffer{}
		for i := range memories {
			ev := relaytest.Memory(agent, owner.Pub, fmt.Sprintf("mem/bench/%d", i), text, at+int64(i/100))
			in.Write(append(wire.AppendEvent(nil, ev), '\n'))
		}
		if put := relay.Run(in.Bytes(), "import", "--data", relay.Data); put.Code != 0 {
			b.Fatal(string(put.Stderr))
		}
	}
	x := newCtl(b, relay)
	for b.Loop() {
		now := time.Now().Unix()
		write("then "+strings.Repeat("x", 100), now-2000)
		id := x.create()
		write("now "+strings.Repeat("x", 100), now-1000)
		began := time.Now()
		x.Run(0, "snapshot", "restore", "--id", id)
		b.ReportMetric(time.Since(began).Seconds(), "s")
	}
}
