package command

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/relay/contracts/vault"
	"engramd/internal/relay/keys"

	"github.com/mattn/go-sqlite3"
	"github.com/nbd-wtf/go-nostr"
	"github.com/rogpeppe/go-internal/testscript"
)

// ask sends JSON to a path of a daemon and returns the answer, which must have
// this status. auth may be "".
func ask(ts *testscript.TestScript, name, method, path, auth string, in any, status int) map[string]any {
	var body []byte
	if in != nil {
		var err error
		body, err = json.Marshal(in)
		ts.Check(err)
	}
	url := ts.Getenv(name+"_HTTP") + path
	req, err := http.NewRequest(method, url, bytes.NewReader(body))
	ts.Check(err)
	req.Header.Set("Accept", "application/nostr+json, application/json")
	switch {
	case auth == "operator":
		req.Header.Set("Authorization", relaytest.HTTPAuth(managingKey(), method, url, body, time.Now().Unix()))
	case auth != "":
		req.Header.Set("Authorization", "Bearer "+auth)
	}
	client := http.Client{Timeout: patience}
	resp, err := client.Do(req)
	ts.Check(err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	ts.Check(err)
	if resp.StatusCode != status {
		ts.Fatalf("%s %s: %d %s, want %d", method, path, resp.StatusCode, text, status)
	}
	out := map[string]any{}
	ts.Check(json.Unmarshal(text, &out))
	return out
}

// contract is `contract NAME AGENT`: the operator ($MANAGER) provisions an
// agent of this name, which offers a contract and writes a shared entry and a
// private one to it. Its token is kept in the file AGENT.token, the contract in
// AGENT.id.
func contract(ts *testscript.TestScript, _ bool, args []string) {
	relay, agent := args[0], args[1]
	made := ask(ts, relay, http.MethodPost, "/api/identities", "operator", map[string]any{"agent_id": agent}, http.StatusCreated)
	token, _ := made["token"].(string)
	offer := ask(ts, relay, http.MethodPost, "/api/escrow/contracts", token, map[string]any{"description": "a summary"}, http.StatusCreated)
	id, _ := offer["contract_id"].(string)
	for _, entry := range []map[string]any{
		{"type": "message", "visibility": "shared", "content": "for everybody who knows it"},
		{"type": "note", "visibility": "poster_only", "content": "for the poster alone"},
	} {
		ask(ts, relay, http.MethodPost, "/api/escrow/contracts/"+id+"/memory", token, entry, http.StatusCreated)
	}
	ts.Check(os.WriteFile(ts.MkAbs(agent+".token"), []byte(token), 0o600))
	ts.Check(os.WriteFile(ts.MkAbs(agent+".id"), []byte(id), 0o600))
}

// recalls is `recalls NAME AGENT`: the agent of `contract` reads both of its
// entries, and moves its contract with the key that is kept for it.
func recalls(ts *testscript.TestScript, _ bool, args []string) {
	relay, token, id := args[0], ts.ReadFile(args[1]+".token"), ts.ReadFile(args[1]+".id")
	got := ask(ts, relay, http.MethodGet, "/api/escrow/contracts/"+id+"/memory", token, nil, http.StatusOK)
	text, err := json.Marshal(got)
	ts.Check(err)
	for _, want := range []string{"for everybody who knows it", "for the poster alone"} {
		if !strings.Contains(string(text), want) {
			ts.Fatalf("%q is not in %s", want, text)
		}
	}
	ask(ts, relay, http.MethodPost, "/api/escrow/contracts/"+id+"/transitions", token, map[string]any{"status": "cancelled"}, http.StatusOK)
}

// self is `self NAME DIR`: the relay's NIP-11 document has the key that
// `engramd relay-key` shows.
func self(ts *testscript.TestScript, _ bool, args []string) {
	told, _ := ask(ts, args[0], http.MethodGet, "/", "", nil, http.StatusOK)["self"].(string)
	ts.Check(ts.Exec("engramd", "relay-key", "--data", args[1]))
	if shown, _, _ := strings.Cut(ts.ReadFile("stdout"), " "); told == "" || told != shown {
		ts.Fatalf("NIP-11 says %q, relay-key %q", told, shown)
	}
}

// scrape is `scrape NAME`: it writes a daemon's metrics to the file metrics.
func scrape(ts *testscript.TestScript, _ bool, args []string) {
	client := http.Client{Timeout: patience}
	resp, err := client.Get(ts.Getenv(args[0] + "_METRICS"))
	ts.Check(err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs("metrics"), text, 0o600))
}

// documented is `documented FILE AFTER`: it writes the commands in the first
// block of docs/operating.md after a line AFTER to FILE, as a shell script,
// without systemctl, sudo and owners. /var/lib/engramd becomes the folder data,
// /backups the folder backups.
func documented(ts *testscript.TestScript, _ bool, args []string) {
	text, err := os.ReadFile(filepath.Join(ts.Getenv("STORES"), "..", "..", "docs", "operating.md"))
	ts.Check(err)
	_, rest, found := strings.Cut(string(text), "\n"+args[1]+"\n\n```\n")
	block, _, ended := strings.Cut(rest, "```")
	if !found || !ended {
		ts.Fatalf("docs/operating.md has no block after %q", args[1])
	}
	shims := "set -e\nsystemctl() { :; }\nsudo() { shift 2; \"$@\"; }\n"
	script := strings.NewReplacer("/var/lib/engramd", "data", "/backups", "backups", " -o engramd -g engramd", "").Replace(block)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(shims+script), 0o600))
}

// keyless is `keyless DIR`: it turns a data folder into one from before the
// relay had a key of its own, and sets $DERIVED to the key, derived from the
// master key, by which further relays knew it.
func keyless(ts *testscript.TestScript, _ bool, args []string) {
	dir := ts.MkAbs(args[0])
	ts.Check(os.Remove(filepath.Join(dir, keys.FileName)))
	db, err := (&sqlite3.SQLiteDriver{}).Open(filepath.Join(dir, "engramd.db"))
	ts.Check(err)
	_, err = db.(*sqlite3.SQLiteConn).Exec("DELETE FROM relay_keys", nil)
	ts.Check(errors.Join(err, db.Close()))
	v, err := vault.Open(vault.Options{Dir: dir})
	ts.Check(err)
	secret, err := v.Derive("outbox auth")
	ts.Check(err)
	public, err := nostr.GetPublicKey(hex.EncodeToString(secret))
	ts.Check(err)
	ts.Setenv("DERIVED", public)
}

// alike is `alike DIR`: it puts names that look the same into a database, as
// one from before they were refused may have.
func alike(ts *testscript.TestScript, _ bool, args []string) {
	db, err := (&sqlite3.SQLiteDriver{}).Open(filepath.Join(ts.MkAbs(args[0]), "engramd.db"))
	ts.Check(err)
	_, err = db.(*sqlite3.SQLiteConn).Exec(`INSERT INTO contract_agents(agent_id, pubkey, created_at, folded) VALUES
		('Trader-Joe', x'01', 1, 'traderjoe'), ('trader_joe.', x'02', 2, 'traderjoe')`, nil)
	ts.Check(errors.Join(err, db.Close()))
}
