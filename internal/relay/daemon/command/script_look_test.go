package command

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// get reads a URL.
func get(url string, header http.Header) (string, error) {
	req, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	req.Header = header
	client := http.Client{Timeout: patience}
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}

// info is `info NAME`: it writes a daemon's NIP-11 document to the file answer.
func info(ts *testscript.TestScript, _ bool, args []string) {
	text, err := get(ts.Getenv(args[0]+"_HTTP"), http.Header{"Accept": {"application/nostr+json"}})
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs("answer"), []byte(text), 0o600))
}

// waitMetric is `metric NAME METRIC VALUE`: it waits until a daemon's metric
// has a value.
func waitMetric(ts *testscript.TestScript, _ bool, args []string) {
	line := fmt.Sprintf("%s %s", args[1], args[2])
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for {
		text, err := get(ts.Getenv(args[0]+"_METRICS"), nil)
		ts.Check(err)
		if strings.Contains(text, line+"\n") {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			ts.Fatalf("no line %q:\n%s", line, text)
		}
	}
}
