// Command genstore writes testdata/stores/<version>: a small database made by
// this version, and what later versions must find in it. Run it once for each
// format of the database, from the module's root:
//
//	go run -tags "sqlite_fts5 libsecp256k1" ./internal/e2e/genstore v1
//
// Keys, times and contents are fixed, so that the ids are the same at every run.
// An existing folder is never overwritten: what was written is the past.
package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"engramd/internal/e2e/relaytest"
)

func main() {
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: genstore NAME")
		os.Exit(2)
	}
	if err := run(flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "genstore:", err)
		os.Exit(1)
	}
}

func run(name string) (err error) {
	root, err := relaytest.Root()
	if err != nil {
		return err
	}
	folder := filepath.Join(root, "testdata", "stores", name)
	if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is kept as it is (%v)", folder, err)
	}
	p := relaytest.NewProgram("genstore")
	defer func() { err = errors.Join(err, p.Finish()) }()
	data := filepath.Join(p.TempDir(), "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(data, "relay.key"), []byte(relaytest.NewKey(relaytest.StoreKey).Secret+"\n"), 0o600); err != nil {
		return err
	}
	relay, err := relaytest.Launch(p, relaytest.Options{Data: data, Env: []string{"ENGRAMD_CONTRACTS_ANY_ID=true"}})
	if err != nil {
		return err
	}
	script := plot()
	if err := publish(relay, script); err != nil {
		return err
	}
	want := script.want
	version := relay.Run(nil, "version")
	want.Version = strings.TrimSpace(string(version.Stdout))
	if want.Heads, want.History, err = stored(relay, data); err != nil {
		return err
	}
	if code, _ := relay.Stop(); code != 0 {
		return fmt.Errorf("the daemon ended with %d:\n%s", code, relay.Log.Text())
	}
	return keep(folder, filepath.Join(data, "engramd.db"), want)
}

// publish sends every event and wants the answer that the plot foresees.
func publish(relay *relaytest.Child, script story) error {
	c, err := relaytest.Dial(relay.URL)
	if err != nil {
		return err
	}
	defer c.Close()
	for _, ev := range script.events {
		ok, err := c.Publish(ev)
		if err != nil {
			return err
		}
		if !ok.True {
			return fmt.Errorf("kind %d of %d: OK false %q", ev.Kind, ev.CreatedAt, ok.Message)
		}
	}
	return nil
}

// stored asks the daemon what it holds, sorted by id.
func stored(relay *relaytest.Child, data string) (heads, history []string, err error) {
	if heads, err = exportedIDs(relay, data); err != nil {
		return nil, nil, err
	}
	all, err := exportedIDs(relay, data, "--history")
	if err != nil {
		return nil, nil, err
	}
	for _, id := range all {
		if !slices.Contains(heads, id) {
			history = append(history, id)
		}
	}
	return heads, history, nil
}

func exportedIDs(relay *relaytest.Child, data string, flags ...string) ([]string, error) {
	r := relay.Run(nil, append([]string{"export", "--data", data}, flags...)...)
	if r.Code != 0 {
		return nil, fmt.Errorf("export: %s", r.Stderr)
	}
	var ids []string
	lines := bufio.NewScanner(bytes.NewReader(r.Stdout))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var ev struct{ ID string }
		if err := json.Unmarshal(lines.Bytes(), &ev); err != nil {
			return nil, fmt.Errorf("export: %w", err)
		}
		ids = append(ids, ev.ID)
	}
	slices.Sort(ids)
	return ids, lines.Err()
}

// keep packs the database and writes beside it what it holds.
func keep(folder, database string, want relaytest.StoreExpectation) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	file, err := os.ReadFile(database)
	if err != nil {
		return err
	}
	var packed bytes.Buffer
	out, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := out.Write(file); err != nil {
		return err
	}
	if err := out.Close(); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, "engramd.db.gz"), packed.Bytes(), 0o644); err != nil {
		return err
	}
	text, err := json.MarshalIndent(want, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "expect.json"), append(text, '\n'), 0o644)
}
