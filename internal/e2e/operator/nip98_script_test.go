package operator

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/nbd-wtf/go-nostr/nip19"

	"engramd/internal/e2e/notrun"
	"engramd/internal/e2e/relaytest"
)

// pythonProgram is the path of the interpreter itself, not of a wrapper in
// PATH.
var pythonProgram = sync.OnceValue(func() string {
	path, err := exec.Command("python3", "-c", "import sys; print(sys.executable)").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(path))
})

// nip98Script runs docs/nip98.py with nothing in its environment but env.
func nip98Script(t *testing.T, env []string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	python := pythonProgram()
	if python == "" {
		notrun.Skip(t, "no python3")
	}
	root, err := relaytest.Root()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python, append([]string{filepath.Join(root, "docs", "nip98.py")}, args...)...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}, env...)
	var out, diag bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &diag
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), diag.String(), cmd.ProcessState.ExitCode()
}

// scriptSecret is NIP-19's example.
const scriptSecret = "67dea2ed018072d675f5415ecfaed7d2597555e202d85b3d65ea4e58d2d92ffa"

func nsecOf(t *testing.T, secret string) string {
	t.Helper()
	nsec, err := nip19.EncodePrivateKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	return nsec
}

// TestNIP98Script_TakesEveryFormOfAKey: from a file and from the environment,
// and its signatures are valid.
func TestNIP98Script_TakesEveryFormOfAKey(t *testing.T) {
	pub, err := nostr.GetPublicKey(scriptSecret)
	if err != nil {
		t.Fatal(err)
	}
	key := relaytest.Key{Secret: scriptSecret, Pub: pub}
	nsec := nsecOf(t, key.Secret)
	for _, text := range []string{key.Secret, strings.ToUpper(key.Secret), nsec, strings.ToUpper(nsec), "  " + nsec + "\r\n"} {
		file := filepath.Join(t.TempDir(), "key")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, env := range []string{"NOSTR_KEY_FILE=" + file, "NOSTR_KEY=" + text} {
			out, diag, code := nip98Script(t, []string{env}, "POST", "http://127.0.0.1:7447/query", file)
			head, found := strings.CutPrefix(strings.TrimSpace(out), "Authorization: Nostr ")
			raw, err := base64.StdEncoding.DecodeString(head)
			var ev nostr.Event
			if code != 0 || diag != "" || !found || err != nil || json.Unmarshal(raw, &ev) != nil {
				t.Fatalf("%s: exit code %d, %s%s", env[:12], code, out, diag)
			}
			if good, err := ev.CheckSignature(); !good || err != nil || !ev.CheckID() || ev.PubKey != key.Pub || ev.Kind != 27235 {
				t.Errorf("%s: %v, %v", env[:12], ev, err)
			}
		}
	}
}

// TestNIP98Script_NeverShowsAKey: any wrong input in place of a key, and a key
// in any wrong place, ends with one line that repeats none of it.
func TestNIP98Script_NeverShowsAKey(t *testing.T) {
	t.Parallel() // beside tests that wait
	secret := scriptSecret
	nsec := nsecOf(t, secret)
	encrypted := "ncryptsec1" + strings.Repeat("q", 150)
	garbage := map[string]string{
		"a damaged nsec": nsec[:62] + "q", "a short nsec": nsec[:40], "a long nsec": nsec + "q", "an nsec in mixed case": "NSEC1" + nsec[5:],
		"an nsec with a character that is none": nsec[:20] + "b" + nsec[21:], "two keys": secret + "\n" + secret, "a key in quotes": `"` + nsec + `"`,
		"short hex": secret[:63], "long hex": secret + "0", "no hex": secret[:63] + "g", "hex with 0x": "0x" + secret, "hex with _": secret[:31] + "_" + secret[32:],
		"digits that are no ASCII": strings.Repeat("٣", 64), "zero": strings.Repeat("0", 64), "too large a number": strings.Repeat("f", 64),
		"a public key": "npub1" + nsec[5:], "an encrypted key": encrypted, "JSON": `{"secret":"` + secret + `"}`,
		"bytes that are no text": "\xff\xfe" + secret, "words": "my key: " + nsec, "much of it": strings.Repeat(secret, 100), "an expression": secret + "+1",
		"nothing": "", "white space": " \n",
	}
	pieces := []string{secret[:32], nsec[5:30], encrypted[10:40], secret[32:63]}
	check := func(what, out, diag string, code int) {
		t.Helper()
		if code == 0 || out != "" || diag == "" || strings.Contains(diag, "Traceback") || strings.Contains(diag, "failed: ") {
			t.Errorf("%s: exit code %d, %q, %q", what, code, out, diag)
		}
		for _, piece := range pieces {
			if strings.Contains(strings.ToLower(out+diag), piece) {
				t.Errorf("%s: the key is shown: %s%s", what, out, diag)
			}
		}
	}
	good := []string{"POST", "http://127.0.0.1:7447/"}
	dir := t.TempDir()
	for what, text := range garbage {
		file := filepath.Join(dir, "garbage")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		out, diag, code := nip98Script(t, []string{"NOSTR_KEY_FILE=" + file}, good...)
		check(what+" in the file", out, diag, code)
		if out, diag, code = nip98Script(t, []string{"NOSTR_KEY=" + text}, good...); text != "" {
			check(what+" in the variable", out, diag, code)
		}
		// A key in the variable that is meant for a file.
		out, diag, code = nip98Script(t, []string{"NOSTR_KEY_FILE=" + text}, good...)
		check(what+" as the name of the file", out, diag, code)
	}
	key, body := filepath.Join(dir, "key"), filepath.Join(dir, "body")
	for file, text := range map[string]string{key: nsec, body: "my key is " + secret} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for what, args := range map[string][]string{
		"an nsec as method": {nsec, good[1]}, "an nsec as URL": {"POST", nsec}, "an nsec as body": append(good, nsec), "a key as body": append(good, secret),
		"an nsec as kind": {"event", nsec}, "a key as kind": {"event", secret}, "an nsec in a tag": {"event", "1", "d=" + nsec}, "its key in a tag": {"event", "1", "d=" + secret},
		"a key as content": {"event", "1", secret}, "its key in the content": {"event", "1", body}, "an nsec alone": {nsec}, "many words": {nsec, nsec, nsec, nsec},
		"no kind": {"event", "x"}, "a folder as body": append(good, dir), "a tag that is no text": {"event", "1", "x=\xff"},
	} {
		out, diag, code := nip98Script(t, []string{"NOSTR_KEY_FILE=" + key}, args...)
		check(what, out, diag, code)
	}
	out, diag, code := nip98Script(t, []string{"NOSTR_KEY_FILE=" + key, "NOSTR_KEY=" + secret}, good...)
	check("two places for a key", out, diag, code)
	out, diag, code = nip98Script(t, nil, good...)
	check("no key", out, diag, code)
}
