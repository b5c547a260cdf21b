package contracts

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"engramd/internal/e2e/pages"
	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
)

// writeInOneSecond has two agents make a contract and write the four entries of
// the example, all signed within one second.
func writeInOneSecond(t *testing.T, relay *relaytest.Child, poster, worker *rig.ContractAgent) (id string) {
	t.Helper()
	id = "25becee1-e170-42e3-b8aa-51d3e864ce60"
	at := rig.Now()
	rig.Dial(t, relay).Store(relaytest.State(poster.Key, worker.Key.Pub, id, "open", "", at), relaytest.State(worker.Key, poster.Key.Pub, id, "accepted", "open", at))
	c := &rig.ContractCalls{Caller: rig.NewCaller(t, relay), T: t}
	for i, s := range rig.ExampleSteps {
		by, to := poster, worker
		if i%2 == 1 {
			by, to = worker, poster
		}
		body := map[string]any{"type": s.Typ, "visibility": s.Visibility, "content": s.Text}
		if s.Visibility == "shared" {
			body["event"] = relaytest.Entry(by.Key, to.Key.Pub, id, s.Typ, s.Text, at)
		}
		c.Want(http.StatusCreated, by, http.MethodPost, rig.ContractsPath+"/"+id+"/memory", body, nil)
	}
	return id
}

// TestContracts_WorkedExampleInOrder: four entries of one second are shown in
// the order in which they were written, by the API, engramctl, MCP and an
// export.
func TestContracts_WorkedExampleInOrder(t *testing.T) {
	relay := rig.Start(t)
	c := &rig.ContractCalls{Caller: rig.NewCaller(t, relay), T: t}
	poster, worker := &rig.ContractAgent{Key: relaytest.NewKey(861)}, &rig.ContractAgent{Key: relaytest.NewKey(862)}
	id := writeInOneSecond(t, relay, poster, worker)
	bin, err := pages.Install(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for who, agent := range map[string]*rig.ContractAgent{"poster": poster, "worker": worker} {
		var all, signed []string
		for _, s := range rig.ExampleSteps {
			if s.Visibility == "shared" {
				signed = append(signed, s.Text)
			}
			if s.Visibility == "shared" || who == "poster" {
				all = append(all, s.Text)
			}
		}
		x := newSpeaker(t, bin, relay, agent.Key)
		for surface, it := range map[string]struct{ got, want []string }{
			"API": {overAPI(c, agent, id), all}, "engramctl": {x.read(id), all}, "MCP": {x.overMCP(id), all},
			"the events of an export": {x.exported(id), signed}, "its transcript": {x.transcript(id), all},
		} {
			if !slices.Equal(it.got, it.want) {
				t.Errorf("%s, %s: %q, want %q", who, surface, it.got, it.want)
			}
		}
	}
}

// texts are the contents of a list of entries in JSON.
type texts struct {
	Entries []struct {
		Content string `json:"content"`
	} `json:"entries"`
}

func (l texts) all() (out []string) {
	for _, e := range l.Entries {
		out = append(out, e.Content)
	}
	return out
}

func overAPI(c *rig.ContractCalls, a *rig.ContractAgent, id string) []string {
	var page texts
	c.Want(http.StatusOK, a, http.MethodGet, rig.ContractsPath+"/"+id+"/memory", nil, &page)
	return page.all()
}

// speaker runs engramctl with an agent's key.
type speaker struct {
	t        *testing.T
	bin, dir string
	env      []string
	out      string // folder of the export
}

func newSpeaker(t *testing.T, bin string, relay *relaytest.Child, key relaytest.Key) *speaker {
	t.Helper()
	x := &speaker{t: t, bin: bin, dir: t.TempDir()}
	file := filepath.Join(x.dir, "agent.key")
	if err := os.WriteFile(file, []byte(key.Secret), 0o600); err != nil {
		t.Fatal(err)
	}
	x.env = append(relaytest.CleanEnv(), "HOME="+x.dir, "ENGRAM_KEY_FILE="+file, "ENGRAM_RELAYS="+relay.URL)
	return x
}

func (x *speaker) run(stdin string, args ...string) []byte {
	x.t.Helper()
	cmd := exec.Command(filepath.Join(x.bin, "engramctl"), append([]string{"--timeout", "2m"}, args...)...)
	cmd.Dir, cmd.Stdin = x.dir, strings.NewReader(stdin)
	cmd.Env = x.env
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		x.t.Fatalf("engramctl %v: %v\n%s", args, err, &stderr)
	}
	return out
}

func (x *speaker) read(id string) []string {
	var page texts
	if err := json.Unmarshal(x.run("", "contract", "read", id, "--json"), &page); err != nil {
		x.t.Fatal(err)
	}
	return page.all()
}

// overMCP asks the MCP server as a harness does.
func (x *speaker) overMCP(id string) []string {
	session := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
` + fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"contract_read","arguments":{"contract_id":%q}}}`, id) + "\n"
	for line := range bytes.Lines(x.run(session, "mcp", "--tools", "contracts")) {
		var answer struct {
			ID     int `json:"id"`
			Result struct {
				Content texts `json:"structuredContent"`
			} `json:"result"`
		}
		if err := json.Unmarshal(line, &answer); err != nil {
			x.t.Fatalf("%v\n%s", err, line)
		}
		if answer.ID == 2 {
			return answer.Result.Content.all()
		}
	}
	x.t.Error("the MCP server did not answer")
	return nil
}

// export makes an export, once, and returns its folder.
func (x *speaker) export(id string) string {
	if x.out == "" {
		x.out = filepath.Join(x.dir, "export")
		x.run("", "contract", "export", id, "--to", x.out)
		x.run("", "contract", "verify", x.out)
	}
	return x.out
}

func (x *speaker) file(id, name string) string {
	text, err := os.ReadFile(filepath.Join(x.export(id), name))
	if err != nil {
		x.t.Fatal(err)
	}
	return string(text)
}

// exported returns the texts of an export's signed entries.
func (x *speaker) exported(id string) (out []string) {
	for line := range strings.Lines(x.file(id, "events.jsonl")) {
		var ev struct {
			Kind    int    `json:"kind"`
			Content string `json:"content"`
		}
		var said struct {
			Content string `json:"content"`
		}
		if err := json.Unmarshal([]byte(line), &ev); err != nil {
			x.t.Fatal(err)
		}
		if ev.Kind != 30090 {
			continue
		}
		if err := json.Unmarshal([]byte(ev.Content), &said); err != nil {
			x.t.Fatal(err)
		}
		out = append(out, said.Content)
	}
	return out
}

// transcript returns the texts of the example in the transcript's order.
func (x *speaker) transcript(id string) (out []string) {
	text := x.file(id, "transcript.md")
	at := map[string]int{}
	for _, s := range rig.ExampleSteps {
		if i := strings.Index(text, "    "+s.Text+"\n"); i >= 0 {
			at[s.Text] = i
			out = append(out, s.Text)
		}
	}
	slices.SortFunc(out, func(a, b string) int { return at[a] - at[b] })
	return out
}
