package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/nbd-wtf/go-nostr/nip19"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"

	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/root"
	"engramd/internal/cli/settings"
	"engramd/internal/e2e/relaytest"
	"engramd/internal/platform/processes"
	"engramd/nips/nipae"
)

func TestMain(m *testing.M) {
	testscript.Main(relaytest.Tests{M: m, Parallel: 4}, map[string]func(){"engramctl": func() {
		m := ofProcess()
		m.Slack, m.Near = slack, anywhere
		os.Exit(runProcess(m))
	}})
}

// slack is what the program is given beyond its times where nothing hangs: the
// machine is shared.
const slack = 30 * time.Second

// anywhere lets relays that only lists name be on this machine, where tests have them all.
func anywhere(netip.AddrPort) bool { return true }

// near is anywhere, unless a script sets FENCED.
func near(ts *testscript.TestScript) func(netip.AddrPort) bool {
	if ts.Getenv("FENCED") != "" {
		return nil
	}
	return anywhere
}

// TestScripts runs the command-line tests in testdata/script. Each has the key
// files agent.key, owner.key and stranger.key, their public keys in AGENT,
// OWNER and STRANGER (npub) and AGENT_HEX, …, and ENGRAM_KEY_FILE and
// ENGRAM_OWNER set for the agent. Besides testscript's commands there are
//
//	ctl CODE [-stdin FILE] [-tty] ARGS…  run engramctl in this process and compare the exit code;
//	                            -tty: its streams are terminals; a secret in its output fails the test
//	relay NAME ARGS…            run engramd; sets NAME to its URL. Again after halt: on the same port and data
//	halt NAME                   end it (stop is testscript's own: it ends the script, as passed)
//	wipe NAME                   remove the data of one that was ended
//	engramd NAME ARGS…          run engramd on its data, which must succeed
//	hang NAME                   something that takes connections and never says a word
//	page NAME                   a server that answers everything with a page for people
//	model FILE                  a model server that answers with what FILE holds; sets MODEL and ENGRAM_LLM_KEY
//	snapshotid VAR              set VAR to the last snapshot id in the last output
//	planid VAR                  set VAR to the first id of a plan in the last output
//	eventid VAR                 set VAR to the id of the event in the last output, see eventID
//	headsroot VAR               set VAR to the root over the heads in the last output's attestation
//	plant URL WHAT ARGS…        publish an event, see plant
//	publish URL FILE            publish the events in a file, one a line
//	keystore WHAT …             the key store of the system, see keystore
//	snapshot VAR FILE           set VAR to what FILE holds (or stdout)
func TestScripts(t *testing.T) { runScripts(t, "testdata/script", nil) }

// runScripts runs the scripts of a folder, with more commands than those above.
func runScripts(t *testing.T, dir string, more map[string]func(*testscript.TestScript, bool, []string)) {
	p := testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               setUpScript,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"ctl": runCtl, "relay": runRelay, "halt": haltRelay, "wipe": wipeRelay, "engramd": operate, "hang": runHang, "plant": plant, "publish": publishFile,
			"keystore": keystore, "snapshot": keepFile, "page": runPage, "model": runModel, "snapshotid": snapshotID, "planid": planID,
			"eventid": eventID, "headsroot": headsRoot,
		},
	}
	maps.Copy(p.Cmds, more)
	testscript.Run(t, p)
}

type relaysKey struct{}

func setUpScript(env *testscript.Env) error {
	env.Values[relaysKey{}] = map[string]*relaytest.Child{}
	env.Values[keysKey{}] = heldKeys{}
	env.Values[hangsKey{}] = &[]string{}
	for name, key := range map[string]relaytest.Key{"agent": relaytest.Agent(), "owner": relaytest.Owner(), "stranger": relaytest.Stranger()} {
		nsec, err := nip19.EncodePrivateKey(key.Secret)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(env.WorkDir, name+".key"), []byte(nsec+"\n"), 0o600); err != nil {
			return err
		}
		env.Setenv(strings.ToUpper(name), settings.Npub(key.Pub))
		env.Setenv(strings.ToUpper(name)+"_HEX", key.Pub)
	}
	env.Setenv("GORACE", "atexit_sleep_ms=0") // or each program that is started sleeps for a second at its end
	env.Setenv("ENGRAM_KEY_FILE", "agent.key")
	env.Setenv("XDG_CACHE_HOME", filepath.Join(env.WorkDir, ".cache"))
	env.Setenv("XDG_STATE_HOME", filepath.Join(env.WorkDir, ".state"))
	env.Setenv("ENGRAM_OWNER", settings.Npub(relaytest.Owner().Pub))
	return nil
}

// runCtl runs engramctl with the script's environment and folder.
func runCtl(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: ctl CODE [-stdin FILE] [-tty] ARGS…")
	}
	if r := ctlOnce(ts, args); r.code != r.want {
		ts.Fatalf("%s", r)
	}
}

// ctlResult is how a run of engramctl ended, and how it should have.
type ctlResult struct {
	code, want     int
	stdout, stderr string
}

func (r ctlResult) String() string {
	return fmt.Sprintf("exit code %d, want %d\nstdout: %s\nstderr: %s", r.code, r.want, r.stdout, r.stderr)
}

// ctlOnce is runCtl without the check of the exit code.
func ctlOnce(ts *testscript.TestScript, args []string) ctlResult {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	args = args[1:]
	stdin, tty := "", false
	if len(args) > 1 && args[0] == "-stdin" {
		stdin, args = ts.ReadFile(args[1]), args[2:]
	}
	if len(args) > 0 && args[0] == "-tty" {
		tty, args = true, args[1:]
	}
	var stdout, stderr bytes.Buffer
	m := &root.Main{
		Args: args, Dir: ts.MkAbs("."), Stdin: strings.NewReader(stdin), Stdout: &stdout, Stderr: &stderr,
		Terminal: cliutil.Terminal{Stdout: tty, Stderr: tty},
		KeyCost:  4, // the default takes seconds under the race detector
		Slack:    slackOf(ts, args),
		Near:     near(ts),
		// One harness runs them all, whatever runs the test.
		Ancestors: func() []processes.Process {
			return []processes.Process{{ID: "3@1", Name: "sh"}, {ID: "2@1", Name: "claude"}}
		},
		Keychain: ts.Value(keysKey{}).(heldKeys), Services: servicesOf(ts), Self: installed(ts),
	}
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "ENGRAM_CONFIG", "ENGRAM_PROFILE", "ENGRAM_KEY", "ENGRAM_KEY_FILE",
		"ENGRAM_KEY_PASSWORD_FILE", "ENGRAM_OWNER", "ENGRAM_AGENT", "ENGRAM_RELAYS", "ENGRAM_TOKEN", "ENGRAM_TOKEN_RELAY",
		"ENGRAM_SNAPSHOTS", "ENGRAM_HOOKS", "ENGRAM_LLM_KEY", "XDG_STATE_HOME", "XDG_CACHE_HOME", "EDITOR", "TMPDIR", "PATH", "GORACE", "CLAUDE_CODE_SESSION_ID"} {
		if value := ts.Getenv(name); value != "" {
			m.Env = append(m.Env, name+"="+value)
		}
	}
	code := m.Run(context.Background())
	fmt.Fprint(ts.Stdout(), stdout.String())
	fmt.Fprint(ts.Stderr(), stderr.String())
	for _, secret := range secretsOf(ts) {
		if strings.Contains(strings.ToLower(stdout.String()+stderr.String()), secret) {
			ts.Fatalf("a secret is in the output")
		}
	}
	return ctlResult{code, want, stdout.String(), stderr.String()}
}

type hangsKey struct{}

// slackOf is slack for a command that asks no relay that hangs.
func slackOf(ts *testscript.TestScript, args []string) time.Duration {
	asked := append(slices.Clone(args), strings.Split(ts.Getenv("ENGRAM_RELAYS"), ",")...)
	for _, url := range *ts.Value(hangsKey{}).(*[]string) {
		if slices.Contains(asked, url) {
			return 0
		}
	}
	return slack
}

// secretsOf is every secret that lies in the script's folder or environment, in
// all forms: what must never come out.
func secretsOf(ts *testscript.TestScript) []string {
	texts := []string{ts.Getenv("ENGRAM_KEY")}
	ts.Check(filepath.WalkDir(ts.MkAbs("."), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".key") && !strings.HasSuffix(path, ".password") {
			return err
		}
		text, err := os.ReadFile(path)
		texts = append(texts, string(text))
		return err
	}))
	var secrets []string
	for _, text := range texts {
		text = strings.ToLower(strings.TrimSpace(text))
		if len(text) < 8 || strings.HasPrefix(text, "npub1") {
			continue
		}
		secrets = append(secrets, text)
		if secret, encrypted, err := settings.ParseSecret(text); err == nil && encrypted == "" {
			nsec, err := settings.EncodeSecret(secret)
			ts.Check(err)
			secrets = append(secrets, secret, nsec)
		}
	}
	return secrets
}

// scriptT adapts a script to what relaytest needs of a test.
type scriptT struct{ ts *testscript.TestScript }

func (s scriptT) Helper()                           {}
func (s scriptT) Logf(format string, args ...any)   { s.ts.Logf(format, args...) }
func (s scriptT) Errorf(format string, args ...any) { s.ts.Fatalf(format, args...) }
func (s scriptT) Fatalf(format string, args ...any) { s.ts.Fatalf(format, args...) }
func (s scriptT) Cleanup(f func())                  { s.ts.Defer(f) }
func (s scriptT) TempDir() string {
	dir, err := os.MkdirTemp(s.ts.MkAbs("."), "relay-")
	s.ts.Check(err)
	return dir
}

func runRelay(ts *testscript.TestScript, _ bool, args []string) {
	name := args[0]
	relays := ts.Value(relaysKey{}).(map[string]*relaytest.Child)
	o := relaytest.Options{Args: args[1:]}
	if before := relays[name]; before != nil {
		o.Data, o.Listen = before.Data, strings.TrimPrefix(before.URL, "ws://")
	}
	relays[name] = relaytest.Start(scriptT{ts}, o)
	ts.Setenv(name, relays[name].URL)
}

func haltRelay(ts *testscript.TestScript, _ bool, args []string) {
	if code, _ := ts.Value(relaysKey{}).(map[string]*relaytest.Child)[args[0]].Stop(); code != 0 {
		ts.Fatalf("engramd ended with %d", code)
	}
}

func wipeRelay(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(os.RemoveAll(ts.Value(relaysKey{}).(map[string]*relaytest.Child)[args[0]].Data))
}

func operate(ts *testscript.TestScript, _ bool, args []string) {
	relay := ts.Value(relaysKey{}).(map[string]*relaytest.Child)[args[0]]
	r := relay.Run(nil, append(args[1:], "--data", relay.Data)...)
	if fmt.Fprintf(ts.Stdout(), "%s", r.Stdout); r.Code != 0 {
		ts.Fatalf("engramd ended with %d: %s", r.Code, r.Stderr)
	}
}

func runHang(ts *testscript.TestScript, _ bool, args []string) {
	url := relaytest.Silent(scriptT{ts})
	hangs := ts.Value(hangsKey{}).(*[]string)
	*hangs = append(*hangs, url)
	ts.Setenv(args[0], url)
}

func runPage(ts *testscript.TestScript, _ bool, args []string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<!DOCTYPE html><title>Welcome</title>")
	})}
	ts.Defer(func() { srv.Close() })
	go srv.Serve(l)
	ts.Setenv(args[0], "ws://"+l.Addr().String())
}

func snapshotID(ts *testscript.TestScript, _ bool, args []string) {
	ids := regexp.MustCompile(`[0-9]{8}T[0-9]{6}Z-[0-9a-f]{16}`).FindAllString(ts.ReadFile("stdout"), -1)
	if len(ids) == 0 {
		ts.Fatalf("no snapshot in the output")
	}
	ts.Setenv(args[0], ids[len(ids)-1])
}

func planID(ts *testscript.TestScript, _ bool, args []string) {
	id := regexp.MustCompile(`p-[0-9a-f]{16}(-[0-9]+)?`).FindString(ts.ReadFile("stdout"))
	if id == "" {
		ts.Fatalf("no plan in the output")
	}
	ts.Setenv(args[0], id)
}

// plant publishes what engramctl would not:
//
//	garbage SLUG       an event at the slug's place that does not decrypt
//	old SLUG TEXT AT   a version signed at a time
//	ahead SLUG TEXT    a version signed 14 minutes ahead of the clock
//	proposal ID TEXT   the owner's proposal to the agent
//	list URL…          the agent's list of relays (NIP-65)
//	deletion SLUG      a request to delete the agent's memory
//	vanish URL         a request to vanish from a relay
//	withdraw ID        a request to delete the agent's states and entries of a contract
func plant(ts *testscript.TestScript, _ bool, args []string) {
	agent, owner, now := relaytest.Agent(), relaytest.Owner(), time.Now().Unix()
	var ev *nostr.Event
	switch args[1] {
	case "garbage":
		ev = relaytest.Sign(agent, relaytest.KindEngram, now-60, relaytest.Seal(agent, relaytest.Stranger().Pub, "not for the owner"),
			nostr.Tag{"d", relaytest.Address(agent, owner.Pub, args[2])}, nostr.Tag{"p", owner.Pub})
	case "old":
		at, err := strconv.ParseInt(args[4], 10, 64)
		ts.Check(err)
		ev = relaytest.Memory(agent, owner.Pub, args[2], args[3], at)
	case "ahead":
		ev = relaytest.Memory(agent, owner.Pub, args[2], args[3], now+14*60)
	case "proposal":
		d, err := nipae.ProposalAddress(owner.Pub, agent.Pub, args[2])
		ts.Check(err)
		body, err := nipae.NewMemory(nipae.Slug(nipae.ProposalPrefix+args[2]), args[3])
		ts.Check(err)
		plain, err := body.Bytes()
		ts.Check(err)
		ev = relaytest.Sign(owner, relaytest.KindEngram, now, relaytest.Seal(owner, agent.Pub, string(plain)), nostr.Tag{"d", d}, nostr.Tag{"p", agent.Pub})
	case "list":
		tags := nostr.Tags{}
		for _, url := range args[2:] {
			tags = append(tags, nostr.Tag{"r", url})
		}
		ev = relaytest.Sign(agent, 10002, now, "", tags...)
	case "deletion":
		ev = relaytest.Deletion(agent, now, nostr.Tag{"a", relaytest.Coordinate(relaytest.KindEngram, agent.Pub, relaytest.Address(agent, owner.Pub, args[2]))})
	case "vanish":
		ev = relaytest.Sign(agent, relaytest.KindVanish, now-5, "", nostr.Tag{"relay", args[2]})
	case "withdraw":
		ev = relaytest.Deletion(agent, now, nostr.Tag{"a", relaytest.Coordinate(30091, agent.Pub, args[2])}, nostr.Tag{"a", relaytest.Coordinate(30090, agent.Pub, args[2])})
	default:
		ts.Fatalf("plant: %q", args[1])
	}
	c, err := relaytest.Dial(args[0])
	ts.Check(err)
	defer c.Close()
	answer, err := c.Publish(ev)
	ts.Check(err)
	if !answer.True {
		ts.Fatalf("plant: %s", answer.Message)
	}
}

// publishFile publishes the events in a file unchanged.
func publishFile(ts *testscript.TestScript, _ bool, args []string) {
	c, err := relaytest.Dial(args[0])
	ts.Check(err)
	defer c.Close()
	for line := range strings.Lines(ts.ReadFile(args[1])) {
		var ev nostr.Event
		ts.Check(json.Unmarshal([]byte(line), &ev))
		answer, err := c.Publish(&ev)
		ts.Check(err)
		if !answer.True {
			ts.Fatalf("publish: %s", answer.Message)
		}
	}
}

func keepFile(ts *testscript.TestScript, _ bool, args []string) {
	ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile(args[1])))
}

// TestEveryCommandAndExitCodeHasAScript: each command has a script, or a
// successful line in its group's script, and each exit code has a line "ctl
// CODE".
func TestEveryCommandAndExitCodeHasAScript(t *testing.T) {
	var all strings.Builder
	scripts, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(scripts) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, path := range scripts {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	for _, c := range exit.Codes() {
		if c.Code != exit.Interrupted && !regexp.MustCompile(fmt.Sprintf(`(?m)ctl %d `, c.Code)).MatchString(all.String()) {
			t.Errorf("no script expects exit code %d", c.Code)
		}
	}
	root := root.New(cliutil.New(&cliutil.System{}))
	walk(root, func(c *cobra.Command) {
		if c.HasSubCommands() {
			return
		}
		name := strings.ReplaceAll(strings.TrimPrefix(c.CommandPath(), "engramctl "), " ", "_")
		_, err := os.Stat("testdata/script/" + name + ".txtar")
		if !errors.Is(err, os.ErrNotExist) {
			return
		}
		group := strings.ReplaceAll(strings.TrimPrefix(c.Parent().CommandPath(), "engramctl "), " ", "_")
		text, _ := os.ReadFile("testdata/script/" + group + ".txtar") // there may be none
		run := regexp.MustCompile(`(?m)^ctl 0 .*` + regexp.QuoteMeta(strings.TrimPrefix(c.CommandPath(), "engramctl ")) + `( |$)`)
		if !run.Match(text) {
			t.Errorf("testdata/script/%s.txtar is missing, and %s.txtar does not run it", name, group)
		}
	})
}

// walk visits a command and all below it.
func walk(c *cobra.Command, visit func(*cobra.Command)) {
	if c.Hidden {
		return
	}
	visit(c)
	for _, sub := range c.Commands() {
		walk(sub, visit)
	}
}
