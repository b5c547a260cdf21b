package crash

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
	"engramd/internal/protocol/wire"
	"engramd/internal/snapshot/bundle"
)

// BenchmarkSnapshot makes, verifies and restores a snapshot of 100,000 engrams and
// reports the seconds and the peak of anonymous memory (MiB) of each process; the
// restore is once by a command of its own, once through a running daemon, of which the
// peak counts and by how much it grew.
//
//	go test -tags "sqlite_fts5 libsecp256k1" ./internal/e2e -run '^$' -bench Snapshot -benchtime 1x
func BenchmarkSnapshot(b *testing.B) {
	const events = 100_000
	bin, err := relaytest.Binary(rig.Plain)
	if err != nil {
		b.Fatal(err)
	}
	agent, owner := relaytest.Agent(), relaytest.Owner()
	in := &bytes.Buffer{}
	first := relaytest.Memory(agent, owner.Pub, "mem/bench", strings.Repeat("x", 100), 1_700_000_000)
	for i := range events {
		ev := relaytest.Sign(agent, relaytest.KindEngram, 1_700_000_000+int64(i), first.Content,
			nostr.Tag{"d", fmt.Sprintf("%064x", i)}, nostr.Tag{"p", owner.Pub})
		in.Write(append(wire.AppendEvent(nil, ev), '\n'))
	}
	dir, fresh := filepath.Join(b.TempDir(), "data"), filepath.Join(b.TempDir(), "fresh")
	measure := func(name string, stdin []byte, args ...string) {
		cmd := exec.Command(bin, args...)
		cmd.Env = append(relaytest.CleanEnv(), rig.AllowRestore)
		if stdin != nil {
			cmd.Stdin = bytes.NewReader(stdin)
		}
		out := &bytes.Buffer{}
		cmd.Stdout, cmd.Stderr = out, out
		began := time.Now()
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		stop := relaytest.WatchProcess(cmd.Process.Pid)
		if err := cmd.Wait(); err != nil {
			b.Fatalf("%v: %v\n%s", args, err, out)
		}
		b.ReportMetric(time.Since(began).Seconds(), name+"-s")
		peak, _ := stop() // it is gone, which is the error
		b.ReportMetric(float64(peak)/(1<<20), name+"-MiB")
	}
	for b.Loop() {
		measure("import", in.Bytes(), "import", "--data", dir)
		measure("create", nil, "snapshot", "--data", dir, "--agent", agent.Pub)
		files, err := filepath.Glob(filepath.Join(dir, "tenants", "default", "snapshots", "*", "*"+bundle.Extension))
		if err != nil || len(files) != 1 {
			b.Fatal(files, err)
		}
		measure("verify", nil, "snapshot", "verify", "--data", dir, "--bundle", files[0])
		measure("repair", nil, "snapshot", "restore", "--data", fresh, "--agent", agent.Pub, "--from", files[0], "--allow-unsigned")
		measure("rollback", nil, "snapshot", "restore", "--data", fresh, "--agent", agent.Pub, "--from", files[0], "--allow-unsigned", "--rollback")
		relay := relaytest.Start(b, relaytest.Options{Build: rig.Plain})
		idle, err := relay.WatchMemory()()
		if err != nil {
			b.Fatal(err)
		}
		stop := relay.WatchMemory()
		measure("client", nil, "snapshot", "restore", "--data", relay.Data, "--agent", agent.Pub, "--from", files[0], "--allow-unsigned")
		peak, err := stop()
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(peak-idle)/(1<<20), "daemon-growth-MiB")
		b.ReportMetric(float64(peak)/(1<<20), "daemon-peak-MiB")
	}
}
