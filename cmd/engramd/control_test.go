package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/gate"
	"engramd/internal/policy"
	"engramd/internal/relay"
	"engramd/internal/store"
	"engramd/internal/store/sqlite"
)

// openImporter makes an importer over a new store in a folder of its own.
func openImporter(t *testing.T, live store.Live) (*importer, string) {
	t.Helper()
	dir := t.TempDir()
	table, err := gate.NewTable(gate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := sqlite.Open(t.Context(), sqlite.Options{Path: sqlite.File(dir), Table: table, Live: live})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	judge, err := newJudge(relay.Names{"ws://127.0.0.1:7447"}, policy.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return newImporter(s, judge), dir
}

func jsonLine(t testing.TB, at int64, content string) []byte {
	t.Helper()
	text, err := json.Marshal(relaytest.Note(relaytest.Agent(), at, content))
	if err != nil {
		t.Fatal(err)
	}
	return append(text, '\n')
}

// reports collects what an import says; seen gets a value for each skipped line.
type reports struct {
	skipped []skipped
	agents  []replacedAgent
	seen    chan skipped
}

func (r *reports) skip(s skipped) error {
	r.skipped = append(r.skipped, s)
	if r.seen != nil {
		r.seen <- s
	}
	return nil
}

func (r *reports) agent(a replacedAgent) error {
	r.agents = append(r.agents, a)
	return nil
}

func (r *reports) tick(tally) error { return nil }

// TestShutdownEndsAnImport stops the daemon's side while the command still
// sends: what was begun is stored and counted, and the command learns that its
// import is unfinished.
func TestShutdownEndsAnImport(t *testing.T) {
	im, dir := openImporter(t, store.Live{})
	c, err := startControl(t.Context(), dir, im, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	in, out := io.Pipe()
	p := &reports{seen: make(chan skipped, 1)}
	type answer struct {
		tally
		err error
	}
	answered := make(chan answer, 1)
	go func() {
		tl, err := importThroughDaemon(t.Context(), dir, false, in, p)
		answered <- answer{tl, err}
	}()
	for _, text := range [][]byte{jsonLine(t, 1, "first"), []byte("nonsense\n")} {
		if _, err := out.Write(text); err != nil {
			t.Fatal(err)
		}
	}
	<-p.seen // the daemon has come to line 2
	c.close()
	got := <-answered
	if got.err == nil || !strings.Contains(got.err.Error(), "shutting down; run the import again") {
		t.Errorf("error %v", got.err)
	}
	if got.Stored != 1 || got.Skipped != 1 || got.Lines != 2 {
		t.Errorf("tally %v", got.tally)
	}
	if _, err := os.Stat(filepath.Join(dir, controlName)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is left: %v", err)
	}
}

// TestControlRefusesWhatItDoesNotKnow talks to the socket as another version
// would.
func TestControlRefusesWhatItDoesNotKnow(t *testing.T) {
	im, dir := openImporter(t, store.Live{})
	c, err := startControl(t.Context(), dir, im, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	for _, first := range []string{`{"command":"explode"}`, `nonsense`, `[]`} {
		conn, err := net.Dial("unix", filepath.Join(dir, controlName))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, first+"\n"); err != nil {
			t.Fatal(err)
		}
		if _, err := readReplies(conn, &reports{}); err == nil || !strings.Contains(err.Error(), "another version") {
			t.Errorf("%s: %v", first, err)
		}
		conn.Close()
	}
	if info, err := os.Stat(filepath.Join(dir, controlName)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("socket %v, %v", info, err)
	}
}

// TestAStaleSocketIsReplaced: a daemon that was killed leaves its socket.
func TestAStaleSocketIsReplaced(t *testing.T) {
	im, dir := openImporter(t, store.Live{})
	if err := os.WriteFile(filepath.Join(dir, controlName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := startControl(t.Context(), dir, im, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	got, err := importThroughDaemon(t.Context(), dir, false, bytes.NewReader(jsonLine(t, 1, "x")), &reports{})
	if err != nil || got.Stored != 1 {
		t.Errorf("%v, %v", got, err)
	}
}

func TestImportStopsWhenTheStoreFails(t *testing.T) {
	im, _ := openImporter(t, store.Live{MaxBytes: 1 << 20})
	var in bytes.Buffer
	for i := range int64(300) {
		in.Write(jsonLine(t, i, strings.Repeat("x", 10_000)))
	}
	got, err := im.run(t.Context(), &in, &reports{})
	if !errors.Is(err, store.ErrFull) || !strings.HasPrefix(err.Error(), "line ") {
		t.Errorf("error %v, want the line at which the database was full", err)
	}
	if got.Stored == 0 || got.Stored > 110 || got.Skipped != 0 {
		t.Errorf("tally %v", got)
	}
}

func TestImportOfAnInputThatFails(t *testing.T) {
	im, _ := openImporter(t, store.Live{})
	broken := io.MultiReader(bytes.NewReader(jsonLine(t, 1, "x")), &failing{errors.New("device gone")})
	got, err := im.run(t.Context(), broken, &reports{})
	if err == nil || !strings.Contains(err.Error(), "device gone") {
		t.Errorf("error %v", err)
	}
	if got.Stored > 1 {
		t.Errorf("tally %v", got)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("ended by a signal"))
	endless, _ := io.Pipe()
	if _, err := im.run(ctx, endless, &reports{}); err == nil || err.Error() != "ended by a signal" {
		t.Errorf("an import that was ended: %v", err)
	}
}

type failing struct{ err error }

func (f *failing) Read([]byte) (int, error) { return 0, f.err }

func TestLines(t *testing.T) {
	im, _ := openImporter(t, store.Live{})
	var in bytes.Buffer
	in.WriteString("\n  \r\n")                          // 1, 2: empty
	in.Write(bytes.TrimSuffix(jsonLine(t, 3, "x"), nl)) // 3: CRLF
	in.WriteString("\r\n")
	in.WriteString(strings.Repeat("x", maxLine+1) + "\n") // 4: too long
	in.WriteString("\xff\xfe\n")                          // 5
	in.Write(bytes.TrimSuffix(jsonLine(t, 6, "y"), nl))   // 6: no newline at the end
	p := &reports{}
	got, err := im.run(t.Context(), &in, p)
	if err != nil || got.Lines != 4 || got.Stored != 2 || got.Skipped != 2 {
		t.Errorf("%v, %v", got, err)
	}
	if len(p.skipped) != 2 || p.skipped[0].Line != 4 || p.skipped[1].Line != 5 || !strings.Contains(p.skipped[0].Reason, "longer than") {
		t.Errorf("skipped %v", p.skipped)
	}
	text, tooLong, err := readLine(bufio.NewReader(strings.NewReader("")))
	if len(text) != 0 || tooLong || !errors.Is(err, io.EOF) {
		t.Errorf("empty input: %q %v %v", text, tooLong, err)
	}
}

var nl = []byte("\n")
