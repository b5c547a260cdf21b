package command

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"engramd/internal/e2e/relaytest"

	"github.com/rogpeppe/go-internal/testscript"
)

// managingKey is the key that `manage` signs with; its public half is in
// $MANAGER.
func managingKey() relaytest.Key { return relaytest.NewKey(1986) }

// manage is `manage NAME BODY`: it sends a call of the management API to a
// daemon and writes "STATUS ANSWER" to the file answer.
func manage(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: manage NAME BODY")
	}
	url, body := ts.Getenv(args[0]+"_HTTP"), []byte(args[1])
	req, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(body))
	ts.Check(err)
	req.Header.Set("Content-Type", "application/nostr+json+rpc")
	req.Header.Set("Authorization", relaytest.HTTPAuth(managingKey(), http.MethodPost, url, body, time.Now().Unix()))
	client := http.Client{Timeout: patience}
	resp, err := client.Do(req)
	ts.Check(err)
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs("answer"), fmt.Appendf(nil, "%d %s\n", resp.StatusCode, strings.TrimSpace(string(answer))), 0o600))
}
