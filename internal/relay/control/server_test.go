package control_test

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"engramd/internal/relay/control"
	"engramd/internal/relay/ingest"
	"engramd/internal/relay/ingest/ingesttest"
	"engramd/internal/relay/snapshots"
	"engramd/internal/relay/store"
)

// listen serves a world's control socket until the test ends.
func listen(t *testing.T, w ingesttest.World, service *snapshots.Service, orders ...control.Order) *control.Server {
	t.Helper()
	s, err := control.Listen(t.Context(), control.Options{
		Dir: w.Dir, Importer: w.Importer, Snapshots: service, Orders: orders, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// TestShutdownEndsAnImport stops the daemon's side while the command still
// sends: what was read is stored and counted, and the command learns that its
// import is incomplete.
func TestShutdownEndsAnImport(t *testing.T) {
	w := ingesttest.Open(t, store.Live{})
	c := listen(t, w, nil)
	in, out := io.Pipe()
	p := &ingesttest.Reports{Seen: make(chan ingest.Skipped, 1)}
	type answer struct {
		ingest.Tally
		err error
	}
	answered := make(chan answer, 1)
	go func() {
		tl, err := control.Import(t.Context(), w.Dir, false, in, p)
		answered <- answer{tl, err}
	}()
	for _, text := range [][]byte{ingesttest.Line(t, 1, "first"), []byte("nonsense\n")} {
		if _, err := out.Write(text); err != nil {
			t.Fatal(err)
		}
	}
	<-p.Seen // the daemon has come to line 2
	c.Close()
	got := <-answered
	if got.err == nil || !strings.Contains(got.err.Error(), "shutting down; run the import again") {
		t.Errorf("error %v", got.err)
	}
	if got.Stored != 1 || got.Skipped != 1 || got.Lines != 2 {
		t.Errorf("tally %v", got.Tally)
	}
	if _, err := os.Stat(filepath.Join(w.Dir, control.Name)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is left: %v", err)
	}
}

// TestControlRefusesWhatItDoesNotKnow sends what another version would.
func TestControlRefusesWhatItDoesNotKnow(t *testing.T) {
	w := ingesttest.Open(t, store.Live{})
	listen(t, w, nil)
	for _, first := range []string{`{"command":"explode"}`, `nonsense`, `[]`} {
		conn, err := net.Dial("unix", filepath.Join(w.Dir, control.Name))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, first+"\n"); err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(conn); err != nil || !strings.Contains(string(text), `{"done":{"error":"this daemon does not know the command: it is another version`) {
			t.Errorf("%s: %s, %v", first, text, err)
		}
		conn.Close()
	}
	if info, err := os.Stat(filepath.Join(w.Dir, control.Name)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("socket %v, %v", info, err)
	}
}

// TestAStaleSocketIsReplaced: a killed daemon leaves its socket file behind.
func TestAStaleSocketIsReplaced(t *testing.T) {
	w := ingesttest.Open(t, store.Live{})
	if err := os.WriteFile(filepath.Join(w.Dir, control.Name), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	listen(t, w, nil)
	got, err := control.Import(t.Context(), w.Dir, false, bytes.NewReader(ingesttest.Line(t, 1, "x")), &ingesttest.Reports{})
	if err != nil || got.Stored != 1 {
		t.Errorf("%v, %v", got, err)
	}
}
