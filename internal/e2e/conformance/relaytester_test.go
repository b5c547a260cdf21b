package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr/nip19"

	"engramd/internal/e2e/notrun"
	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
)

// caseOf is one line of what relay-tester prints with --script.
type caseOf struct {
	Test           string
	Required, Pass bool
}

// reported reads such lines by the name of the case.
func reported(t *testing.T, text []byte) map[string]caseOf {
	t.Helper()
	cases := map[string]caseOf{}
	for line := range bytes.Lines(text) {
		var c caseOf
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		cases[c.Test] = c
	}
	return cases
}

// recorded returns relay-tester's recorded report for a mode of gate.wildcard.
func recorded(t *testing.T, mode string) map[string]caseOf {
	t.Helper()
	root, err := relaytest.Root()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "testdata", "conformance", mode+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return reported(t, text)
}

// TestConformancePageIsComplete: docs/conformance.md names every case that
// relay-tester reports as not passed, in the words of relay-tester, and no other;
// with gate.wildcard = "exclude" no required one is among them.
func TestConformancePageIsComplete(t *testing.T) {
	root, err := relaytest.Root()
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "conformance.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "<!-- relay-tester -->\n")
	table, _, _ = strings.Cut(table, "<!-- end -->")
	var listed []string
	for _, row := range regexp.MustCompile(`(?m)^\| (.*?) \| `).FindAllStringSubmatch(table, -1)[1:] {
		listed = append(listed, strings.Split(row[1], "<br>")...)
	}
	failed := map[string]bool{}
	for _, mode := range []string{"reject", "exclude"} {
		cases := recorded(t, mode)
		if len(cases) != 81 {
			t.Errorf("%s: %d cases are recorded", mode, len(cases))
		}
		for name, c := range cases {
			if !c.Pass {
				failed[name] = true
			}
			if !c.Pass && c.Required && mode == "exclude" {
				t.Errorf("%q is required and does not pass", name)
			}
		}
	}
	for name := range failed {
		if !slices.Contains(listed, name) {
			t.Errorf("docs/conformance.md does not name %q, which does not pass", name)
		}
	}
	for _, name := range listed {
		if !failed[name] {
			t.Errorf("docs/conformance.md names %q, which passes or is no case", name)
		}
	}
}

// TestRelayTester runs relay-tester, named by ENGRAMD_RELAY_TESTER, against a
// new relay in each mode, and compares with what is recorded. The program waits
// a second for each answer that does not come, a hundred in all.
func TestRelayTester(t *testing.T) {
	program := os.Getenv("ENGRAMD_RELAY_TESTER")
	if program == "" {
		notrun.Skip(t, "ENGRAMD_RELAY_TESTER does not name a binary of relay-tester")
	}
	for _, mode := range []string{"reject", "exclude"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			relay := rig.Start(t, "ENGRAMD_GATE_WILDCARD="+mode)
			args := []string{"--script", relay.URL}
			for n := range uint64(2) {
				nsec, err := nip19.EncodePrivateKey(relaytest.NewKey(3000 + n).Secret)
				if err != nil {
					t.Fatal(err)
				}
				args = append(args, nsec)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			out, err := exec.CommandContext(ctx, program, args...).Output()
			if err != nil && len(out) == 0 {
				t.Fatal(err)
			}
			got, want := reported(t, out), recorded(t, mode)
			for name, c := range want {
				if got[name] != c {
					t.Errorf("%s: pass %v, recorded is %v", name, got[name].Pass, c.Pass)
				}
			}
			if len(got) != len(want) {
				t.Errorf("%d cases, recorded are %d", len(got), len(want))
			}
		})
	}
}
