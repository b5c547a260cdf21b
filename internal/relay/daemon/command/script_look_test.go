package command

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
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

// flip is `flip FILE TEXT [BYTES]`: it flips a bit of the text in the file where
// it first stands, or so many bytes behind it.
func flip(ts *testscript.TestScript, _ bool, args []string) {
	path := ts.MkAbs(args[0])
	file, err := os.ReadFile(path)
	ts.Check(err)
	at := bytes.Index(file, []byte(args[1]))
	if at < 0 {
		ts.Fatalf("%s does not have %s", args[0], args[1])
	}
	at += len(args[1]) - 2 // a digit stays none, and JSON stays JSON
	if len(args) > 2 {
		behind, err := strconv.Atoi(args[2])
		ts.Check(err)
		at += behind
	}
	file[at] ^= 1 << 4
	ts.Check(os.WriteFile(path, file, 0o600))
}
