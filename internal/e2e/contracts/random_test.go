package contracts

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"engramd/internal/e2e/inprocess/model"
	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
	"engramd/internal/protocol/wire"
	"engramd/internal/snapshot/bundle"

	"github.com/nbd-wtf/go-nostr"
)

// playSeed is the environment variable that repeats the round of one seed only.
const playSeed = "ENGRAMD_PLAY_SEED"

// playSteps is the number of steps in a round.
const playSteps = 60

// TestRandomContracts plays random contracts against the program, as package
// contracts does in one process: websocket, HTTP, API and an export show what a
// model says, and so do relays that got the events by import, by EVENT or from
// a snapshot.
func TestRandomContracts(t *testing.T) {
	seeds := []uint64{1, 2}
	if os.Getenv("ENGRAMD_SOAK") == "1" {
		for len(seeds) < 40 {
			seeds = append(seeds, uint64(len(seeds))+1)
		}
	}
	if one, err := strconv.ParseUint(os.Getenv(playSeed), 10, 64); err == nil {
		seeds = []uint64{one}
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Logf("to play this round alone: %s=%d", playSeed, seed)
			playContracts(t, seed)
		})
	}
}

// contractPlay is a relay beside its model. Times of arrival are not compared,
// because the relay's clock is its own.
type contractPlay struct {
	t      *testing.T
	relay  *relaytest.Child
	calls  *rig.ContractCalls
	socket *rig.Peer
	model  *model.Relay
	cast   model.Cast
	byName bool
	env    []string
}

func newContractPlay(t *testing.T, byName bool) *contractPlay {
	p := &contractPlay{t: t, model: model.New(), cast: model.NewCast(), byName: byName, env: []string{rig.AllowRestore}}
	if !byName {
		p.env = append(p.env, "ENGRAMD_GATE_CONTRACTS=parties")
	}
	p.connect(rig.Start(t, p.env...))
	return p
}

func (p *contractPlay) connect(relay *relaytest.Child) {
	p.relay, p.socket = relay, rig.Dial(p.t, relay)
	p.calls = &rig.ContractCalls{Caller: rig.NewCaller(p.t, relay), T: p.t}
}

func playContracts(t *testing.T, seed uint64) {
	p := newContractPlay(t, seed%2 == 1)
	o := model.Options{Imports: true, Strays: true, Vanish: seed%3 == 0, Committed: true}
	made := model.NewPlay(seed, rig.Now()-20*playSteps, p.model, o)
	for range playSteps {
		s := made.Next()
		if s.Restart {
			p.relay.Stop()
			p.connect(rig.Again(t, p.relay, p.env...))
		}
		if s.Event != nil {
			p.give(s.Event, s.Import)
		}
		if t.Failed() {
			t.FailNow()
		}
	}
	for _, id := range made.IDs() {
		p.compare(id)
	}
	p.export(made.IDs())
	if t.Failed() {
		t.FailNow()
	}
	p.again(made.IDs())
	p.imported(seed, made.IDs())
	if !o.Vanish {
		p.restored(made.IDs())
	}
}

// give sends or imports an event, and compares the answers.
func (p *contractPlay) give(ev *nostr.Event, imported bool) {
	p.t.Helper()
	want := p.model.Take(ev, rig.Now(), imported)
	if imported {
		if got := p.bring(ev); got != want.OK {
			p.t.Errorf("import of %v: %v, want %v", ev, got, want)
		}
		return
	}
	ok := p.socket.MustPublish(ev)
	word, _, _ := strings.Cut(ok.Message, ":")
	if ok.True != want.OK || !ok.True && !slices.Contains(want.Because, word) || ok.True && word != strings.Join(want.Because, "") {
		p.t.Errorf("%v: answered %v %q, want %v", ev, ok.True, ok.Message, want)
	}
}

// bring imports events, and reports whether all were accepted.
func (p *contractPlay) bring(events ...*nostr.Event) bool {
	p.t.Helper()
	var lines []byte
	for _, ev := range events {
		lines = append(wire.AppendEvent(lines, ev), '\n')
	}
	r := p.relay.Run(lines, "import", "--data", p.relay.Data)
	return r.Code == 0 && strings.Contains(r.Stderr, " 0 deleted before")
}

// view returns what the API shows a key; nil for nothing.
func (p *contractPlay) view(id string, k model.Key) *model.View {
	p.t.Helper()
	a, path := &rig.ContractAgent{Key: relaytest.Key{Secret: k.Secret, Pub: k.Pub}}, rig.ContractsPath+"/"+id
	var entries struct {
		Entries []playedLine `json:"entries"`
	}
	status, body := p.calls.Call(a, http.MethodGet, path+"/memory?limit=500", nil)
	if status == http.StatusNotFound {
		return nil
	}
	p.read(status, body, &entries)
	v := &model.View{}
	for _, e := range entries.Entries {
		v.Entries = append(v.Entries, e.line())
	}
	var moves struct {
		Transitions []playedLine `json:"transitions"`
	}
	status, body = p.calls.Call(a, http.MethodGet, path+"/transitions?limit=500", nil)
	p.read(status, body, &moves)
	for _, m := range moves.Transitions {
		v.Moves = append(v.Moves, m.line())
	}
	var contract struct {
		Status string  `json:"status"`
		Poster string  `json:"poster_pubkey"`
		Worker *string `json:"worker_pubkey"`
	}
	if status, body = p.calls.Call(a, http.MethodGet, path, nil); status == http.StatusOK {
		p.read(status, body, &contract)
		v.Status, v.Poster = contract.Status, contract.Poster
		if contract.Worker != nil {
			v.Worker = *contract.Worker
		}
	}
	return v
}

func (p *contractPlay) read(status int, body []byte, v any) {
	p.t.Helper()
	if err := json.Unmarshal(body, v); status != http.StatusOK || err != nil {
		p.t.Fatalf("%d %s: %v", status, body, err)
	}
}

// playedLine is an entry or a move of the API, or a version of /history.
type playedLine struct {
	N         *int64  `json:"n"`
	ID        string  `json:"id"`
	EventID   *string `json:"nostr_event_id"`
	EntryID   string  `json:"entry_id"`
	Withdrawn *struct {
		Event json.RawMessage `json:"event"`
	} `json:"withdrawn"`
}

func (l playedLine) line() string {
	id := strings.TrimPrefix(l.EntryID, "mem_")
	switch {
	case l.EventID != nil:
		id = *l.EventID
	case l.ID != "":
		id = l.ID
	case id == "":
		return model.LocalMove
	}
	if l.N == nil {
		return model.Line(false, 0, 0, id, "")
	}
	withdrawn := ""
	if l.Withdrawn != nil {
		var request string
		if json.Unmarshal(l.Withdrawn.Event, &request) == nil && len(request) == 64 {
			withdrawn = "withdrawn by " + request[:12]
		} else if ev, err := wire.ParseEvent(l.Withdrawn.Event); err == nil {
			withdrawn = "withdrawn signed " + ev.ID[:12]
		}
	}
	return model.Line(true, *l.N, 0, id, withdrawn)
}

// timeless returns lines without the time of arrival.
func timeless(lines []string) (out []string) {
	for _, line := range lines {
		if f := strings.Fields(line); len(f) > 1 {
			f[1] = "0"
			line = strings.Join(f, " ")
		}
		out = append(out, line)
	}
	return out
}

// compare fails unless each surface shows of a contract what the model says.
func (p *contractPlay) compare(id string) {
	p.t.Helper()
	for _, k := range p.cast.All() {
		want, got := p.model.View(id, k.Pub, p.byName), p.view(id, k)
		p.model.Name(got, want)
		if (want == nil) != (got == nil) {
			p.t.Errorf("contract %s is to %s %+v, want %+v", id, k.Name, got, want)
			continue
		}
		if want != nil {
			p.wantView(id, k, got, want)
		}
		p.compareRequests(id, k)
	}
}

func (p *contractPlay) wantView(id string, k model.Key, got, want *model.View) {
	p.t.Helper()
	if got.Poster != "" && (got.Poster != want.Poster || got.Worker != want.Worker || got.Status != want.Status) {
		p.t.Errorf("contract %s is to %s\n%+v, want\n%+v", id, k.Name, got, want)
	}
	for _, of := range [][2][]string{{got.Entries, want.Entries}, {got.Moves, want.Moves}} {
		if !slices.Equal(timeless(of[0]), timeless(of[1])) {
			p.t.Errorf("%s reads of contract %s\n%q, want\n%q", k.Name, id, of[0], of[1])
		}
	}
}

// compareRequests compares what REQ, COUNT, /query, /count and /history give.
func (p *contractPlay) compareRequests(id string, k model.Key) {
	p.t.Helper()
	key := relaytest.Key{Secret: k.Secret, Pub: k.Pub}
	socket := rig.Dial(p.t, p.relay, key)
	defer socket.Close()
	for q, filter := range map[model.Request]relaytest.Filter{
		model.ByContract: {"kinds": []int{model.KindEntry, model.KindState}, "#d": []string{id}},
		model.Mine:       {"kinds": []int{model.KindEntry, model.KindState}, "#d": []string{id}, "authors": []string{k.Pub}},
		model.ToMe:       {"kinds": []int{model.KindEntry, model.KindState}, "#d": []string{id}, "#p": []string{k.Pub}},
	} {
		want, refused := p.model.Heads(id, k.Pub, q, p.byName)
		body, err := json.Marshal([]any{filter})
		if err != nil {
			p.t.Fatal(err)
		}
		answer, err := p.calls.Signed(&key, http.MethodPost, "/query", body)
		if err != nil || (answer.Status == http.StatusForbidden) != refused {
			p.t.Errorf("%s: /query answers %d %s (%v), refused %v", k.Name, answer.Status, answer.Body, err, refused)
		}
		if refused {
			socket.Closed("restricted:", filter)
			continue
		}
		var events []nostr.Event
		p.read(answer.Status, answer.Body, &events)
		found := rig.IDs(pointers(events)...)
		stored := socket.MustQuery(filter).IDs()
		slices.Sort(found)
		slices.Sort(stored)
		if n := socket.MustCount(filter); !slices.Equal(found, want) || !slices.Equal(stored, want) || n != int64(len(want)) {
			p.t.Errorf("%s asks for %v: /query %v, REQ %v, COUNT %d, want %v", k.Name, filter, rig.Short(found), rig.Short(stored), n, rig.Short(want))
		}
		counted, err := p.calls.Signed(&key, http.MethodPost, "/count", body)
		if err != nil || strings.TrimSpace(string(counted.Body)) != fmt.Sprintf(`{"count":%d}`, len(want)) {
			p.t.Errorf("%s: /count answers %s (%v), want %d", k.Name, counted.Body, err, len(want))
		}
	}
	for _, author := range []model.Key{p.cast.Poster, p.cast.Rival, p.cast.Worker, p.cast.Second} {
		for _, kind := range []int{model.KindEntry, model.KindState} {
			answer, err := p.calls.Signed(&key, http.MethodGet, fmt.Sprintf("/history?kind=%d&author=%s&d=%s&arrival=true&limit=500", kind, author.Pub, id), nil)
			if err != nil {
				p.t.Fatal(err)
			}
			var versions []playedLine
			p.read(answer.Status, answer.Body, &versions)
			var lines []string
			for _, v := range versions {
				lines = append(lines, v.line())
			}
			if want := timeless(p.model.History(id, author.Pub, kind, k.Pub)); !slices.Equal(lines, want) {
				p.t.Errorf("%s reads as history of %s, kind %d\n%q, want\n%q", k.Name, author.Name, kind, lines, want)
			}
		}
	}
}

func pointers(events []nostr.Event) (out []*nostr.Event) {
	for i := range events {
		out = append(out, &events[i])
	}
	return out
}

// export has parties export their contracts, and a third party verify them.
func (p *contractPlay) export(ids []string) {
	p.t.Helper()
	x := rig.NewCtl(p.t, p.relay)
	for _, k := range []model.Key{p.cast.Poster, p.cast.Worker, p.cast.Arbitrator} {
		key := filepath.Join(x.Dir, k.Name+".key")
		if err := os.WriteFile(key, []byte(k.Secret), 0o600); err != nil {
			p.t.Fatal(err)
		}
		x.Env = []string{"HOME=" + x.Dir, "ENGRAM_KEY_FILE=" + key, "ENGRAM_RELAYS=" + p.relay.URL}
		for i, id := range ids {
			want := p.model.View(id, k.Pub, p.byName)
			if want == nil || want.Astray || want.Gaps || want.Role == "stranger" || len(want.Entries)+len(want.Moves) == 0 {
				continue
			}
			dir := filepath.Join(x.Dir, fmt.Sprint(k.Name, i))
			x.Run(0, "contract", "export", id, "--to", dir)
			var report struct {
				Status string `json:"status"`
				Poster string `json:"poster_pubkey"`
				Worker string `json:"worker_pubkey"`
			}
			if err := json.Unmarshal([]byte(x.Run(0, "contract", "verify", dir, "--json")), &report); err != nil {
				p.t.Fatal(err)
			}
			if want.Status != "" && (report.Status != want.Status || report.Poster != want.Poster || report.Worker != want.Worker) {
				p.t.Errorf("the export of %s by %s says %+v, want %+v", id, k.Name, report, want)
			}
			if want.Role != "arbitrator" { // whose sealed entries are listed apart, which verify compares with the order
				p.wantExported(dir, want)
			}
		}
	}
}

// wantExported fails unless an export has all that the model lists, in its
// order.
func (p *contractPlay) wantExported(dir string, want *model.View) {
	p.t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "events.jsonl"))
	if err != nil {
		p.t.Fatal(err)
	}
	var got []string
	for line := range bytes.Lines(text) {
		ev, err := wire.ParseEvent(bytes.TrimSpace(line))
		if err != nil {
			p.t.Fatal(err)
		}
		if ev.Kind != model.KindDeletion {
			got = append(got, ev.ID[:12])
		}
	}
	var ids []string
	for _, line := range want.Order {
		if id := strings.Fields(line)[2]; id != "-" {
			ids = append(ids, id)
		}
	}
	if !slices.Equal(got, ids) {
		p.t.Errorf("%s has the events\n%v, want\n%v", dir, got, ids)
	}
}

// wantSame compares parties, status, thread and withdrawals with another relay,
// for several readers.
func (p *contractPlay) wantSame(b *contractPlay, ids []string, how string, moves bool, readers ...model.Key) {
	p.t.Helper()
	for _, id := range ids {
		for _, k := range readers {
			want, got := p.model.View(id, k.Pub, p.byName), b.view(id, k)
			p.model.Name(got, want)
			if (want == nil) != (got == nil) {
				p.t.Errorf("%s, contract %s is to %s %+v, want %+v", how, id, k.Name, got, want)
				continue
			}
			if want == nil || want.Second {
				continue
			}
			if got.Poster != "" && (!got.Between(want) || got.Status != want.Status) {
				p.t.Errorf("%s, contract %s is to %s\n%+v, want\n%+v", how, id, k.Name, got, want)
			}
			if !slices.Equal(bareLines(got.Entries), bareLines(want.Entries)) {
				p.t.Errorf("%s, %s reads of %s\n%q, want\n%q", how, k.Name, id, got.Entries, want.Entries)
			}
			if (moves || !want.Astray) && !slices.Equal(bareLines(got.Moves), bareLines(want.Moves)) {
				p.t.Errorf("%s, %s reads the moves of %s\n%q, want\n%q", how, k.Name, id, got.Moves, want.Moves)
			}
		}
	}
}

func bareLines(lines []string) (out []string) {
	for _, line := range lines {
		if !strings.HasPrefix(line, model.LocalMove) {
			line = model.Bare(line)
		}
		out = append(out, line)
	}
	slices.Sort(out)
	return out
}

// again feeds another relay by EVENT, in the order of the moves.
func (p *contractPlay) again(ids []string) {
	p.t.Helper()
	b := newContractPlay(p.t, p.byName)
	for _, taken := range p.model.Taken {
		if !taken.Astray {
			b.give(taken.Event, taken.Import)
		}
	}
	p.wantSame(b, ids, "by EVENT in the order of the moves", false, p.cast.All()...)
}

// imported feeds another relay by import, in any order; a request to vanish last.
func (p *contractPlay) imported(seed uint64, ids []string) {
	p.t.Helper()
	var early, late []*nostr.Event
	for _, taken := range p.model.Taken {
		if taken.Event.Kind == model.KindVanish {
			late = append(late, taken.Event)
		} else {
			early = append(early, taken.Event)
		}
	}
	rand.New(rand.NewPCG(seed, 13)).Shuffle(len(early), func(i, j int) { early[i], early[j] = early[j], early[i] })
	b := newContractPlay(p.t, p.byName)
	b.bring(slices.Concat(early, late)...)
	p.wantSame(b, ids, "by import in any order", true, p.cast.All()...)
}

// restored feeds another relay with snapshots of the two posters, taken here,
// which hold what they wrote and what names them.
func (p *contractPlay) restored(ids []string) {
	p.t.Helper()
	b := newContractPlay(p.t, p.byName)
	for _, k := range []model.Key{p.cast.Poster, p.cast.Rival} {
		rig.Engramd(p.t, p.relay, "snapshot", "--allow-empty", "--agent", k.Pub)
		bundles, err := filepath.Glob(filepath.Join(p.relay.Data, "tenants", "default", "snapshots", k.Pub, "*"+bundle.Extension))
		if err != nil || len(bundles) != 1 {
			p.t.Fatalf("%v, %v", bundles, err)
		}
		rig.Engramd(p.t, b.relay, "snapshot", "restore", "--agent", k.Pub, "--from", bundles[0], "--allow-unsigned")
	}
	p.wantSame(b, ids, "from snapshots", true, p.cast.Poster, p.cast.Rival)
}
