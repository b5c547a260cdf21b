package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"engramd/internal/e2e/relaytest"

	"github.com/nbd-wtf/go-nostr"
	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"engramd": func() { os.Exit(Run("dev")) }})
}

// TestScripts runs the command-line tests in testdata/script against the real
// program. Besides testscript's commands they have
//
//	daemon NAME ARGS…      run `engramd serve` on free ports and wait until it is ready;
//	                       sets NAME_URL (ws), NAME_HTTP, NAME_METRICS and NAME_PID;
//	                       its environment has nothing but PATH, $MASTER and a
//	                       timeouts.shutdown that a busy machine does not reach
//	master FILE            set MASTER to what FILE holds
//	signal NAME SIGNAL     HUP or TERM
//	kill9 NAME             kill it, and wait for its end
//	word DIR               set WORD to the word of the loss that check refuses a data folder for
//	ends NAME CODE         wait for its end and compare the exit code
//	logs NAME REGEXP       wait until its log has a line that matches
//	! logs NAME REGEXP     its log has no such line so far
//	events FILE WHAT…      write signed events as JSON lines, see writeEvents
//	contract NAME AGENT    provision an agent and have it write a contract, see contract
//	recalls NAME AGENT     it reads what it wrote, and writes
//	self NAME DIR          NIP-11 tells the relay's identity key
//	scrape NAME            write its metrics to the file metrics
//	documented FILE AFTER  write the commands that docs/operating.md shows after a line to FILE, see documented
//	keyless DIR            make a data folder one of before there was a relay key
//	manage NAME BODY       call the management API with the key $MANAGER; the file
//	                       answer has the status and the answer
//	info NAME              write the NIP-11 document to the file answer
//	metric NAME METRIC N   wait until a metric, with its labels, has a value
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Values[daemonsKey{}] = map[string]*running{}
			env.Setenv("MANAGER", managingKey().Pub)
			stores, err := filepath.Abs(filepath.Join("..", "..", "..", "..", "testdata", "stores"))
			if err != nil {
				return err
			}
			env.Setenv("STORES", stores) // databases of older versions
			env.Setenv("GORACE", noSleepAtExit)
			return snapshotKeys(env)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"daemon": startDaemon, "signal": signalDaemon, "ends": endsDaemon, "logs": logsDaemon, "events": writeEvents, "manage": manage,
			"master": setMaster, "contract": contract, "recalls": recalls, "self": self, "scrape": scrape, "documented": documented, "keyless": keyless, "alike": alike,
			"info": info, "metric": waitMetric, "kill9": killDaemon, "word": lossWord, "flip": flip,
		},
	})
}

// snapshotKeys sets $AGENT and $OWNER, the keys of the engrams that `events`
// writes, and $RECIPIENT, an age recipient whose identity is in the file
// identity.
func snapshotKeys(env *testscript.Env) error {
	env.Setenv("AGENT", relaytest.Agent().Pub)
	env.Setenv("OWNER", relaytest.Owner().Pub)
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "testdata", "bundles", "identity.txt"))
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(text)) {
		if _, public, ok := strings.Cut(line, "public key: "); ok {
			env.Setenv("RECIPIENT", strings.TrimSpace(public))
		}
	}
	return os.WriteFile(filepath.Join(env.WorkDir, "identity"), text, 0o600)
}

// noSleepAtExit are options of the race detector: without them every process
// sleeps for a second before it exits.
const noSleepAtExit = "atexit_sleep_ms=0"

type daemonsKey struct{}

// running is a relay started by a script.
type running struct {
	cmd  *exec.Cmd
	log  *lockedBuffer
	done chan struct{}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

const patience = time.Minute

// await waits for something that only the log tells.
func (d *running) await(ts *testscript.TestScript, re *regexp.Regexp) []string {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for {
		if m := re.FindStringSubmatch(d.log.String()); m != nil {
			return m
		}
		select {
		case <-tick.C:
		case <-d.done:
			if m := re.FindStringSubmatch(d.log.String()); m != nil {
				return m
			}
			ts.Fatalf("the daemon ended before %q:\n%s", re, d.log)
		case <-deadline:
			ts.Fatalf("no line matches %q:\n%s", re, d.log)
		}
	}
}

var readyLine = regexp.MustCompile(`ready.* url=(ws://\S+) metrics=(http://\S+?/metrics|off)`)

func startDaemon(ts *testscript.TestScript, _ bool, args []string) {
	name := args[0]
	path, err := exec.LookPath("engramd")
	ts.Check(err)
	d := &running{log: &lockedBuffer{}, done: make(chan struct{})}
	d.cmd = exec.Command(path, append([]string{"serve", "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0"}, args[1:]...)...)
	d.cmd.Dir, d.cmd.Stdout, d.cmd.Stderr = ts.MkAbs("."), d.log, d.log
	d.cmd.Env = []string{"PATH=" + ts.Getenv("PATH"), "GORACE=" + noSleepAtExit, "MASTER=" + ts.Getenv("MASTER"), "ENGRAMD_TIMEOUTS_SHUTDOWN=50s"}
	ts.Check(d.cmd.Start())
	go func() {
		_ = d.cmd.Wait() // `ends` checks the exit code
		close(d.done)
	}()
	ts.Defer(func() {
		_ = d.cmd.Process.Kill()
		<-d.done
		if strings.Contains(d.log.String(), "DATA RACE") {
			ts.Fatalf("data race:\n%s", d.log)
		}
	})
	m := d.await(ts, readyLine)
	ts.Setenv(name+"_URL", m[1])
	ts.Setenv(name+"_HTTP", "http"+strings.TrimPrefix(m[1], "ws"))
	ts.Setenv(name+"_LISTEN", strings.TrimPrefix(m[1], "ws://"))
	ts.Setenv(name+"_METRICS", m[2])
	ts.Setenv(name+"_PID", strconv.Itoa(d.cmd.Process.Pid))
	ts.Value(daemonsKey{}).(map[string]*running)[name] = d
}

func find(ts *testscript.TestScript, name string) *running {
	d := ts.Value(daemonsKey{}).(map[string]*running)[name]
	if d == nil {
		ts.Fatalf("no daemon %q", name)
	}
	return d
}

func setMaster(ts *testscript.TestScript, _ bool, args []string) {
	ts.Setenv("MASTER", strings.TrimSpace(ts.ReadFile(args[0])))
}

func signalDaemon(ts *testscript.TestScript, _ bool, args []string) {
	sig, ok := map[string]syscall.Signal{"HUP": syscall.SIGHUP, "TERM": syscall.SIGTERM}[args[1]]
	if !ok {
		ts.Fatalf("signal %q", args[1])
	}
	ts.Check(find(ts, args[0]).cmd.Process.Signal(sig))
}

func endsDaemon(ts *testscript.TestScript, _ bool, args []string) {
	d := find(ts, args[0])
	select {
	case <-d.done:
	case <-time.After(patience):
		ts.Fatalf("it does not end:\n%s", d.log)
	}
	if got := strconv.Itoa(d.cmd.ProcessState.ExitCode()); got != args[1] {
		ts.Fatalf("exit code %s, want %s:\n%s", got, args[1], d.log)
	}
}

func logsDaemon(ts *testscript.TestScript, neg bool, args []string) {
	d, re := find(ts, args[0]), regexp.MustCompile(args[1])
	if !neg {
		d.await(ts, re)
	} else if re.MatchString(d.log.String()) {
		ts.Fatalf("the log has %q:\n%s", re, d.log)
	}
}

// writeEvents writes what the words name, one line each:
//
//	notes:N       N notes of one author
//	engrams:N     N engrams, each with an older version before it
//	forged        an event whose content is not what was signed
//	malformed     an engram with a bad payload, rightly signed
//	ephemeral     kind 20001
//	future        a note from next year
//	vanish:URL    a request to vanish, addressed to URL
//	deleted       a note and then its deletion
//	contracts     two posters' offers under one id, and a move that does not follow
//	text:TEXT     the line TEXT
func writeEvents(ts *testscript.TestScript, _ bool, args []string) {
	agent, owner := relaytest.Agent(), relaytest.Owner()
	const base = 1_700_000_000
	var out bytes.Buffer
	put := func(evs ...*nostr.Event) {
		for _, ev := range evs {
			text, err := json.Marshal(ev)
			ts.Check(err)
			out.Write(append(text, '\n'))
		}
	}
	for _, word := range args[1:] {
		what, param, _ := strings.Cut(word, ":")
		n, _ := strconv.Atoi(param) // stays 0 where it is no number
		switch what {
		case "notes":
			for i := range n {
				put(relaytest.Note(agent, base+int64(i), fmt.Sprint("note ", i)))
			}
		case "engrams":
			for i := range n {
				slug := fmt.Sprint("mem/script/", i)
				put(relaytest.Memory(agent, owner.Pub, slug, "old", base), relaytest.Memory(agent, owner.Pub, slug, "new", base+1))
			}
		case "forged":
			ev := relaytest.Note(agent, base, "signed")
			ev.Content = "forged"
			put(ev)
		case "malformed":
			put(relaytest.Sign(agent, relaytest.KindEngram, base, "not a payload", nostr.Tag{"d", owner.Pub}, nostr.Tag{"p", owner.Pub}))
		case "ephemeral":
			put(relaytest.Sign(agent, 20001, base, ""))
		case "future":
			put(relaytest.Note(agent, time.Now().Unix()+365*86400, "next year"))
		case "vanish":
			put(relaytest.Sign(relaytest.Stranger(), relaytest.KindVanish, base, "", nostr.Tag{"relay", param}))
		case "deleted":
			ev := relaytest.Note(agent, base-1, "to be deleted")
			put(ev, relaytest.Deletion(agent, base, nostr.Tag{"e", ev.ID}, nostr.Tag{"k", "1"}))
		case "contracts":
			put(relaytest.State(agent, owner.Pub, "job-17", "open", "", base), relaytest.State(relaytest.Stranger(), owner.Pub, "job-17", "open", "", base),
				relaytest.State(owner, agent.Pub, "job-17", "submitted", "accepted", base+9),
				relaytest.Sign(relaytest.NewKey(9), relaytest.KindState, base+10, `{"contract_id":"job-17","status":"cancelled","previous_status":"disputed"}`,
					nostr.Tag{"d", "job-17"}, nostr.Tag{"p", agent.Pub}, nostr.Tag{"p", owner.Pub}))
		case "text":
			out.WriteString(param + "\n")
		default:
			ts.Fatalf("events: %q", word)
		}
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), out.Bytes(), 0o600))
}

// TestEverySubcommandHasAScript: each subcommand is run by a script.
func TestEverySubcommandHasAScript(t *testing.T) {
	for _, d := range descriptions() {
		if _, err := os.Stat(filepath.Join("testdata/script", d.name+".txtar")); errors.Is(err, os.ErrNotExist) {
			t.Errorf("testdata/script/%s.txtar is missing", d.name)
		}
	}
}
