package contracts

import (
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
	"engramd/internal/snapshot/bundle"
)

// leaks looks for private entries in everything that leaves a relay.
type leaks struct {
	t       *testing.T
	secrets []string
	looked  int
}

// in searches a text, which must have at least size bytes: an empty text would
// prove nothing.
func (l *leaks) in(what, text string, size int) {
	l.t.Helper()
	l.looked++
	if len(text) < size {
		l.t.Errorf("%s: %d bytes only: %s", what, len(text), text)
	}
	for _, secret := range l.secrets {
		if strings.Contains(text, secret) {
			l.t.Errorf("%s has %q: %.600s", what, secret, text)
		}
	}
}

// TestContracts_PrivateEntriesLeaveByNoWay looks for a private entry of each
// party in everything that leaves, for every other reader, and in all files; a
// crash in between loses none.
func TestContracts_PrivateEntriesLeaveByNoWay(t *testing.T) {
	env := []string{"ENGRAMD_LOG_LEVEL=debug", "ENGRAMD_ADMIN_KEYS=" + rig.ManagerKey().Pub}
	relay := rig.Start(t, env...)
	poster, worker := &rig.ContractAgent{Key: relaytest.NewKey(841)}, &rig.ContractAgent{Key: relaytest.NewKey(842)}
	operator, stranger := &rig.ContractAgent{Key: rig.ManagerKey()}, &rig.ContractAgent{Key: relaytest.Stranger()}
	id := "25becee1-0000-4000-8000-0000000000ff"
	path, at := rig.ContractsPath+"/"+id, rig.Now()-100
	rig.Dial(t, relay).Store(
		relaytest.State(poster.Key, worker.Key.Pub, id, "open", "", at), relaytest.State(worker.Key, poster.Key.Pub, id, "accepted", "open", at+1),
		relaytest.Entry(poster.Key, worker.Key.Pub, id, "message", "plain talk", at+2), relaytest.Entry(worker.Key, poster.Key.Pub, id, "message", "plain answer", at+3),
		relaytest.Entry(worker.Key, poster.Key.Pub, id, "message", "plain answer again", at+4),
	)
	c := &rig.ContractCalls{Caller: rig.NewCaller(t, relay), T: t}
	private := map[*rig.ContractAgent]rig.ContractEntry{}
	for by, e := range map[*rig.ContractAgent]rig.ContractEntry{poster: {ID: "mem_a1b2c3d4e5f6", Content: "xylophone"}, worker: {ID: "mem_f6e5d4c3b2a1", Content: "quicksilver"}} {
		visibility := map[*rig.ContractAgent]string{poster: "poster_only", worker: "worker_only"}[by]
		c.Want(http.StatusCreated, by, http.MethodPost, path+"/memory", map[string]any{
			"entry_id": e.ID, "type": "note", "visibility": visibility, "content": e.Content, "attachments": []string{"https://example.com/" + e.Content}}, nil)
		private[by] = e
	}
	before := relay.Log
	relay.Kill()
	relay = rig.Again(t, relay, env...)
	c = &rig.ContractCalls{Caller: rig.NewCaller(t, relay), T: t}

	l := &leaks{t: t}
	for by, e := range private {
		if thread := c.Thread(by, id); len(thread) != 4 || thread[3].ID != e.ID || thread[3].Content != e.Content {
			t.Errorf("after a crash its author reads %+v", thread)
		}
		l.secrets = append(l.secrets, e.ID, e.Content)
	}
	all := l.secrets
	for _, who := range []*rig.ContractAgent{poster, worker, operator, stranger, nil} {
		l.secrets = nil
		for by, e := range private {
			if by != who {
				l.secrets = append(l.secrets, e.ID, e.Content, map[*rig.ContractAgent]string{poster: "poster_only", worker: "worker_only"}[by])
			}
		}
		l.overHTTP(c, who, id, poster.Key, private)
		l.onSocket(relay, who, id, all)
	}
	l.secrets = all
	history := string(relay.Run(nil, "export", "--history", "--data", relay.Data).Stdout)
	l.in("export --history", history, 1000)
	for _, agent := range []*rig.ContractAgent{poster, worker, stranger} {
		rig.Engramd(t, relay, "snapshot", "--allow-empty", "--agent", agent.Key.Pub)
	}
	l.inBundles(relay, poster.Key, worker.Key)
	file := filepath.Join(t.TempDir(), "copy.db")
	rig.Engramd(t, relay, "backup", file)
	l.in("the log before the crash", before.Text(), 100)
	l.in("the log", relay.Log.Text(), 100)
	resp, err := http.Get(relay.Metrics)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	metrics, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	l.in("the metrics", string(metrics), 1000)
	// On disk the ids are plain, and the contents are not.
	l.secrets = []string{private[poster].Content, private[worker].Content}
	l.inFiles(filepath.Dir(file))
	l.inFiles(relay.Data)
	if l.looked < 60 {
		t.Errorf("looked in %d places only", l.looked)
	}
}

// overHTTP makes every read request.
func (l *leaks) overHTTP(c *rig.ContractCalls, who *rig.ContractAgent, id string, poster relaytest.Key, private map[*rig.ContractAgent]rig.ContractEntry) {
	l.t.Helper()
	memory := rig.ContractsPath + "/" + id + "/memory"
	for _, path := range []string{"", "?events=true", "?visibility=poster_only", "?visibility=worker_only", "?type=note", "?offset=3", "?author=" + poster.Pub, "/summary"} {
		_, text := c.Call(who, http.MethodGet, memory+path, nil)
		l.in(memory+path, string(text), 20)
	}
	for by, e := range private {
		_, none := c.Call(who, http.MethodGet, memory+"/mem_000000000000", nil)
		status, text := c.Call(who, http.MethodGet, memory+"/"+e.ID, nil)
		if by != who && (status != http.StatusNotFound || string(text) != string(none)) {
			l.t.Errorf("another's entry: %d %s, one that is not there: %s", status, text, none)
		}
		status, text = c.Call(who, http.MethodPost, memory+"/search", map[string]any{"query": e.Content})
		switch {
		case who == nil && status != http.StatusUnauthorized:
			l.t.Errorf("a search by nobody: %d %s", status, text)
		case who != nil && by != who && !strings.Contains(string(text), `"total":0`):
			l.t.Errorf("a search for another's entry: %s", text)
		}
	}
	for _, path := range []string{rig.ContractsPath, rig.ContractsPath + "/" + id, "/history?kind=30090&author=" + poster.Pub, "/api/openapi.json"} {
		_, text := c.Call(who, http.MethodGet, path, nil)
		if path == "/api/openapi.json" {
			continue // names the visibilities
		}
		l.in(path, string(text), 2)
	}
	for _, search := range []string{"", "xylophone", "quicksilver"} {
		filter := relaytest.Filter{"kinds": []int{relaytest.KindEntry}, "#d": []string{id}}
		if search != "" {
			filter["search"] = search
		}
		for _, path := range []string{"/query", "/count"} {
			_, text := c.Call(who, http.MethodPost, path, []any{filter})
			l.in(path, string(text), 2)
			if search != "" && who != nil && strings.TrimSpace(string(text)) != map[string]string{"/query": "[]", "/count": `{"count":0}`}[path] {
				l.t.Errorf("%s for %s: %s", path, search, text)
			}
		}
	}
	// A refusal does not reveal it either: for an id that is taken, and for a bad
	// one.
	for _, e := range private {
		_, text := c.Call(who, http.MethodPost, memory, map[string]any{"entry_id": e.ID, "type": "nonsense", "visibility": "poster_only", "content": "x"})
		l.in("a refusal", strings.ReplaceAll(string(text), "poster_only or worker_only", ""), 10)
	}
}

// onSocket makes every read on the websocket.
func (l *leaks) onSocket(relay *relaytest.Child, who *rig.ContractAgent, id string, secrets []string) {
	l.t.Helper()
	var keys []relaytest.Key
	if who != nil {
		keys = append(keys, who.Key)
	}
	p := rig.Dial(l.t, relay, keys...)
	filters := []relaytest.Filter{{"kinds": []int{relaytest.KindEntry, relaytest.KindState}, "#d": []string{id}}}
	for _, secret := range secrets {
		filters = append(filters, relaytest.Filter{"kinds": []int{relaytest.KindEntry}, "#d": []string{id}, "search": secret})
	}
	for i, f := range filters {
		a := p.MustQuery(f)
		if want := map[bool]int{true: 4, false: 0}[i == 0]; len(a.Events) != want {
			l.t.Errorf("%v: %d events, want %d", f, len(a.Events), want)
		}
		for _, ev := range a.Events {
			l.in("an event", ev.String(), 100)
		}
	}
}

// inBundles searches the snapshots after decompression.
func (l *leaks) inBundles(relay *relaytest.Child, parties ...relaytest.Key) {
	l.t.Helper()
	files, err := filepath.Glob(filepath.Join(relay.Data, "tenants", "default", "snapshots", "*", "*"+bundle.Extension))
	if err != nil || len(files) < len(parties) {
		l.t.Fatalf("%d snapshots, %v", len(files), err)
	}
	contract := 0
	for _, file := range files {
		b, _, err := bundle.Open(l.t.Context(), file, bundle.VerifyOptions{})
		if err != nil {
			l.t.Fatal(err)
		}
		for _, class := range bundle.Classes() {
			err := b.Events(l.t.Context(), class, func(event []byte) error {
				if class == bundle.Contracts {
					contract++
				}
				l.in(fmt.Sprint("a snapshot's ", class), string(event), 100)
				return nil
			})
			if err != nil {
				l.t.Fatal(err)
			}
		}
		b.Release()
	}
	if contract == 0 {
		l.t.Error("no snapshot has contract memory")
	}
}

// inFiles looks in all files below a folder.
func (l *leaks) inFiles(dir string) {
	l.t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		l.looked++
		for _, secret := range l.secrets {
			if strings.Contains(string(raw), secret) {
				l.t.Errorf("%s holds %q in the clear", filepath.Base(path), secret)
			}
		}
		return nil
	})
	if err != nil {
		l.t.Fatal(err)
	}
}
