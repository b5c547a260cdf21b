package operator

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"engramd/internal/e2e/notrun"
	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
)

// policyProgram makes a program of shell commands, which run for each question,
// with the line in $line and the id in $id.
func policyProgram(t *testing.T, body string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "policy.sh")
	writeProgram(t, file, body)
	return file
}

func writeProgram(t *testing.T, file, body string) {
	t.Helper()
	text := `#!/bin/sh
while IFS= read -r line; do
	id=${line#*'"id":"'}
	id=${id%%'"'*}
` + body + `
done
`
	// Written beside and then moved, because a file that is open for writing
	// cannot be run.
	if err := os.WriteFile(file+".new", []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
}

// answering returns a command that prints an action.
func answering(action, msg string) string {
	return fmt.Sprintf(`	printf '{"id":"%%s","action":"%s","msg":"%s"}\n' "$id"`, action, msg)
}

// TestProgram_Decides: the program is asked over websocket and HTTP, after the
// lists, and told who asks; it is not asked about imports and requests to
// vanish.
func TestProgram_Decides(t *testing.T) {
	seen := filepath.Join(t.TempDir(), "seen")
	file := policyProgram(t, `	printf '%s\n' "$line" >>`+seen+`
	case $line in
	*good*) `+answering("accept", "")+` ;;
	*shadow*) `+answering("shadowReject", "")+` ;;
	*sign-in*) `+answering("reject", "auth-required: who are you?")+` ;;
	*) `+answering("reject", "not today")+` ;;
	esac`)
	relay := rig.Start(t, "ENGRAMD_WRITE_PROGRAM="+file, "ENGRAMD_WRITE_BAN_KINDS=7", "ENGRAMD_WRITE_PROGRAM_TIMEOUT=30s")
	agent, nobody := relaytest.Agent(), rig.Dial(t, relay)
	good, bad := relaytest.Note(agent, rig.Now(), "good"), relaytest.Note(agent, rig.Now(), "bad")
	nobody.Store(good)
	for content, want := range map[string]string{"bad": "blocked: not", "shadow": "blocked: ", "sign-in": "auth-required: who"} {
		nobody.Refused(relaytest.Note(agent, rig.Now(), content), want)
	}
	banned := relaytest.Sign(agent, 7, rig.Now(), "good")
	nobody.Refused(banned, "blocked: kind 7")
	proved := rig.Dial(t, relay, relaytest.Owner(), agent)
	proved.Store(relaytest.Note(agent, rig.Now(), "good, of one who proved it"))
	if got := nobody.MustQuery(relaytest.Filter{"authors": []string{agent.Pub}, "kinds": []int{1}}); len(got.Events) != 2 {
		t.Errorf("%d notes are stored, want 2", len(got.Events))
	}

	resp, err := relay.Post(agent, "/events", rig.JSONL(t, bad))
	if err != nil || resp.Status != http.StatusForbidden || !strings.Contains(string(resp.Body), "blocked: not today") {
		t.Errorf("POST /events: %d %s, %v", resp.Status, resp.Body, err)
	}
	if r := relay.Run(rig.JSONL(t, bad), "import", "--data", relay.Data, "-"); r.Code != 0 || !strings.Contains(r.Stderr, "1 stored") {
		t.Errorf("import: %d %s", r.Code, r.Stderr)
	}
	nobody.Store(relaytest.Sign(agent, 62, rig.Now(), "", rig.Tag("relay", "ALL_RELAYS")))

	if rig.LimitationOf(t, relay, "restricted_writes") != true {
		t.Error("NIP-11 does not say that writes are restricted")
	}

	text, err := os.ReadFile(seen)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), banned.ID) || strings.Contains(string(text), `"kind":62`) {
		t.Errorf("it was asked about what it should not be:\n%s", text)
	}
	for i, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		var q struct {
			Type, SourceType, SourceInfo, Authed string
			ReceivedAt                           int64
		}
		if err := json.Unmarshal([]byte(line), &q); err != nil || q.Type != "new" || q.SourceType != "IP4" || q.SourceInfo != "127.0.0.1" || q.ReceivedAt < good.CreatedAt.Time().Unix() {
			t.Errorf("question %d: %v %s", i, err, line)
		}
		if want := map[bool]string{true: agent.Pub}[i >= 4]; q.Authed != want {
			t.Errorf("question %d: authed %q, want %q", i, q.Authed, want)
		}
	}
}

// TestProgram_RefusalIsNotTheAuthors: a key that resends another's events,
// which the program refuses, does not use up their author's rate.
func TestProgram_RefusalIsNotTheAuthors(t *testing.T) {
	file := policyProgram(t, `	case $line in
	*good*) `+answering("accept", "")+` ;;
	*) `+answering("reject", "not today")+` ;;
	esac`)
	relay := rig.Start(t, "ENGRAMD_WRITE_PROGRAM="+file, "ENGRAMD_WRITE_PROGRAM_TIMEOUT=30s", "ENGRAMD_LIMITS_EVENTS_PER_KEY=0.001/s, burst 2")
	author, stranger := rig.Dial(t, relay), rig.Dial(t, relay)
	bad := relaytest.Note(relaytest.Agent(), rig.Now(), "bad")
	for range 5 {
		stranger.Refused(bad, "blocked: not")
	}
	author.Store(relaytest.Note(relaytest.Agent(), rig.Now(), "good"), relaytest.Note(relaytest.Agent(), rig.Now(), "as good"))
	author.Refused(relaytest.Note(relaytest.Agent(), rig.Now(), "too good"), "rate-limited: one key")
}

// TestProgram_Fails: while a program hangs its writers get error: within its
// time limit, and nobody else is affected; then it runs again.
func TestProgram_Fails(t *testing.T) {
	file := policyProgram(t, `	case $line in *hang*) exec sleep 1000 ;; *die*) exit 7 ;; esac
`+answering("accept", ""))
	relay := rig.Start(t, "ENGRAMD_WRITE_PROGRAM="+file, "ENGRAMD_WRITE_PROGRAM_TIMEOUT=1s")
	agent, p := relaytest.Agent(), rig.Dial(t, relay)
	stored := relaytest.Note(agent, rig.Now(), "fine")
	persist(p, stored)
	for i, content := range []string{"hang", "die"} {
		p.Refused(relaytest.Note(agent, rig.Now(), content), "error: ")
		// On a busy machine the second over which the program is ended may come first.
		for again := 0; content == "die" && !strings.Contains(relay.Log.Text(), "exit status 7") && again < 60; again++ {
			persist(p, relaytest.Note(agent, rig.Now(), fmt.Sprint("fine again ", again)))
			p.Refused(relaytest.Note(agent, rig.Now(), fmt.Sprint("die again ", again)), "error: ")
		}
		reader := rig.Dial(t, relay)
		if got := reader.MustQuery(rig.ByID(stored)); len(got.Events) != 1 {
			t.Errorf("after %s nothing can be read", content)
		}
		persist(p, relaytest.Note(agent, rig.Now(), fmt.Sprint("fine ", i)))
	}
	if log := relay.Log.Text(); !strings.Contains(log, "exit status 7") || strings.Contains(log, "fine") {
		t.Errorf("the log must say how it ended, and no content:\n%s", log)
	}
	if n, err := relay.Metric("engramd_write_program_failures_total"); err != nil || n < 2 {
		t.Errorf("engramd_write_program_failures_total is %v, %v", n, err)
	}
}

// persist publishes an event again while the answer is error:, as a client
// does.
func persist(p *rig.Peer, ev any) {
	p.T.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), relaytest.Patience)
	defer cancel()
	for ctx.Err() == nil {
		p.MustSend("EVENT", ev)
		switch ok := p.Expect("OK").OK(); {
		case ok.True:
			return
		case !strings.HasPrefix(ok.Message, "error: "):
			p.T.Fatalf("refused: %q", ok.Message)
		}
	}
	p.T.Fatal("the program does not come up")
}

// TestProgram_Reload: SIGHUP restarts a program whose file has changed, and
// ends one that is no longer configured; shutdown leaves no process behind.
func TestProgram_Reload(t *testing.T) {
	pids := filepath.Join(t.TempDir(), "pids")
	file := policyProgram(t, `	echo $$ >>`+pids+"\n"+answering("accept", ""))
	config := func(program string) string {
		return "[write]\nprogram = [" + program + "]\nprogram_timeout = \"30s\"\n"
	}
	relay := relaytest.Start(t, relaytest.Options{Build: rig.Watched, Config: config(fmt.Sprintf("%q", file))})
	agent, p := relaytest.Agent(), rig.Dial(t, relay)
	p.Store(relaytest.Note(agent, rig.Now(), "one"))

	reloads := 0
	reload := func() {
		reloads++
		relay.Signal(syscall.SIGHUP)
		if _, err := relay.AwaitMetric(`engramd_config_reloads_total{outcome="ok"}`, relaytest.Patience, func(n float64) bool { return n == float64(reloads) }); err != nil {
			t.Fatalf("%v\n%s", err, relay.Log.Text())
		}
	}
	writeProgram(t, file, `	echo $$ >>`+pids+"\n"+answering("reject", "new rules"))
	reload()
	p.Refused(relaytest.Note(agent, rig.Now(), "two"), "blocked: new")
	if err := os.WriteFile(relay.Config, []byte(config(`"/nowhere/policy"`)), 0o600); err != nil {
		t.Fatal(err)
	}
	reload()
	p.Refused(relaytest.Note(agent, rig.Now(), "three"), "error: ")
	if err := os.WriteFile(relay.Config, []byte(config("")), 0o600); err != nil {
		t.Fatal(err)
	}
	reload()
	p.Store(relaytest.Note(agent, rig.Now(), "four"))
	if err := os.WriteFile(relay.Config, []byte(config(fmt.Sprintf("%q, \"an argument\"", file))), 0o600); err != nil {
		t.Fatal(err)
	}
	reload()
	p.Refused(relaytest.Note(agent, rig.Now(), "five"), "blocked: new")
	if code, _ := relay.Stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	text, err := os.ReadFile(pids)
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Fields(string(text))
	if len(all) != 3 {
		t.Errorf("processes %v answered, want 3", all)
	}
	for _, pid := range all {
		if _, err := os.Stat("/proc/" + pid); err == nil {
			t.Errorf("process %s outlived the daemon", pid)
		}
	}
}

// TestProgram_Killed: a program that hangs does not outlive a daemon that was
// killed.
func TestProgram_Killed(t *testing.T) {
	pid := filepath.Join(t.TempDir(), "pid")
	file := policyProgram(t, `	echo $$ >`+pid+`.new; mv `+pid+`.new `+pid+`; exec sleep 1000`)
	relay := rig.Start(t, "ENGRAMD_WRITE_PROGRAM="+file, "ENGRAMD_WRITE_PROGRAM_TIMEOUT=1m")
	rig.Dial(t, relay).MustSend("EVENT", relaytest.Note(relaytest.Agent(), rig.Now(), "hello"))
	ctx, cancel := context.WithTimeout(t.Context(), relaytest.Patience)
	defer cancel()
	until := func(what string, done func() bool) {
		t.Helper()
		for tick := time.Tick(time.Millisecond); !done(); {
			select {
			case <-tick:
			case <-ctx.Done():
				t.Fatal(what)
			}
		}
	}
	var id []byte
	until("the program was not asked", func() bool { id, _ = os.ReadFile(pid); return len(id) > 0 })
	relay.Kill()
	until("the program outlives the daemon", func() bool {
		text, err := os.ReadFile("/proc/" + strings.TrimSpace(string(id)) + "/stat")
		return err != nil || strings.Contains(string(text), ") Z ")
	})
}

// TestProgram_Secrets: the program's environment contains neither the daemon's
// options nor variables that hold keys.
func TestProgram_Secrets(t *testing.T) {
	file := policyProgram(t, `	if env | grep -q -e ENGRAMD_ -e THE_MASTER; then `+answering("reject", "a secret")+`
	elif test "$VISIBLE" != yes; then `+answering("reject", "no environment")+`
	else `+answering("accept", "")+`; fi`)
	relay := rig.Start(t, "ENGRAMD_WRITE_PROGRAM="+file, "ENGRAMD_WRITE_PROGRAM_TIMEOUT=30s", "VISIBLE=yes",
		"ENGRAMD_CONTRACTS_MASTER_KEY=env:THE_MASTER", "THE_MASTER="+"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08")
	rig.Dial(t, relay).Store(relaytest.Note(relaytest.Agent(), rig.Now(), "hello"))
}

// TestProgram_Docs runs the program in docs/write-policy.md.
func TestProgram_Docs(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		notrun.Skip(t, "no python3")
	}
	root, err := relaytest.Root()
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "write-policy.md"))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?s)```python\n(.*?)```").FindSubmatch(page)
	if found == nil {
		t.Fatal("the page shows no program")
	}
	file := filepath.Join(t.TempDir(), "policy.py")
	if err := os.WriteFile(file, found[1], 0o700); err != nil {
		t.Fatal(err)
	}
	relay := rig.Start(t, "ENGRAMD_WRITE_PROGRAM="+file, "ENGRAMD_WRITE_PROGRAM_TIMEOUT=30s")
	agent := relaytest.Agent()
	rig.Dial(t, relay).Refused(relaytest.Note(agent, rig.Now(), "hello"), "auth-required: prove a key")
	rig.Dial(t, relay, agent).Store(relaytest.Note(agent, rig.Now(), "hello\u2028again"))
}
