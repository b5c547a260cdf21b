package gate

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/gate/oracle"
)

// gateThread is a question about a contract; entries are the ids of single
// entries to ask for.
type gateThread struct {
	contract string
	entries  []string
}

// gatePrivate is a private entry, which only its author may see.
type gatePrivate struct {
	by                    relaytest.Key
	contract, id, visible string
}

// gateTablePrivate returns one entry of each party.
func gateTablePrivate() []gatePrivate {
	return []gatePrivate{
		{rig.GateAgent, "contract-5", "mem_00000000aaaa", "poster_only"},
		{rig.GateWorker, "contract-5", "mem_00000000bbbb", "worker_only"},
	}
}

// gateTableThreads asks for contracts with and without a state, each with every
// key of the reader. The number of contracts and the number of a reader's keys
// differ, so that the n-th request meets all.
func gateTableThreads(r gateReader, entries func(contract string) []string) (asks []gateAsk) {
	for range max(1, len(r.keys)) {
		for _, contract := range []string{"contract-1", "contract-3", "contract-4", "contract-5", "contract-0", gateCase, gateOffer, gateHalf} {
			asks = append(asks, gateAsk{name: "the memory of " + contract, thread: &gateThread{contract, entries(contract)}})
		}
	}
	return asks
}

// gateEntryID returns an entry's id in the API, without agentry:entry.
func gateEntryID(ev *nostr.Event) string { return "mem_" + ev.ID[:12] }

// entryIDs returns the ids of all entries of a contract, of one that does not
// exist, and of some entries of other contracts.
func (g *gateRun) entryIDs(contract string) []string {
	all := []string{"mem_000000000000"}
	add := func(of, id string, part int) {
		if of == contract || g.shares.has(part) {
			all = append(all, id)
		}
	}
	for i, ev := range g.events {
		if ev.Kind == relaytest.KindEntry {
			add(ev.Tags.GetD(), gateEntryID(ev), i)
		}
	}
	for i, p := range g.private {
		add(p.contract, p.id, i)
	}
	return all
}

// whisper writes the private entries.
func (g *gateRun) whisper(t *testing.T, c *rig.Caller) {
	t.Helper()
	for _, p := range g.private {
		body := fmt.Sprintf(`{"entry_id":%q,"type":"note","visibility":%q,"content":"private cedar"}`, p.id, p.visible)
		resp, err := c.Signed(&p.by, http.MethodPost, rig.ContractsPath+"/"+p.contract+"/memory", []byte(body))
		if err != nil || resp.Status != http.StatusCreated {
			t.Fatalf("a private entry: %d %s, %v", resp.Status, resp.Body, err)
		}
	}
}

// threadRead is how one surface asks: the requests of a question, and the
// answers as text that can be derived from the oracle.
type threadRead struct {
	requests func(th *gateThread) []threadRequest
	tell     func(bodies [][]byte) (string, error)
	want     func(g *gateRun, who string, th *gateThread, s scene) string
}

type threadRequest struct{ method, path, body string }

// threadReads are the reads of the surfaces that threadDriver drives.
var threadReads = map[gate.Surface]threadRead{
	gate.SurfaceContracts: readContracts, gate.SurfaceContract: readContract, gate.SurfaceThread: readThread,
	gate.SurfaceThreadEntry: readThreadEntries, gate.SurfaceThreadSummary: readThreadSummary, gate.SurfaceThreadSearch: readThreadSearch,
	gate.SurfaceThreadOrder: readThreadOrder, gate.SurfaceTransitions: readTransitions,
}

func threadDriver(read threadRead) gateDriver {
	return gateDriver{http: true, thread: true, ask: func(c *gateConn, _ gate.Surface, asks []gateAsk) ([]gateAnswer, error) {
		answers := make([]gateAnswer, len(asks))
		for n, ask := range asks {
			var bodies [][]byte
			for _, r := range read.requests(ask.thread) {
				var body []byte
				if r.body != "" {
					body = []byte(r.body)
				}
				resp, err := c.signed(n, r.method, r.path, body)
				if err != nil || resp.Aborted {
					return nil, fmt.Errorf("%s: aborted %v, %w", ask.name, resp.Aborted, err)
				}
				switch {
				case resp.Status == http.StatusOK:
					bodies = append(bodies, resp.Body)
				case resp.Status == http.StatusNotFound && strings.TrimSpace(string(resp.Body)) == `{"error":"invalid: there is no such entry"}`:
					bodies = append(bodies, nil)
				default:
					answers[n].closed = fmt.Sprint(resp.Status)
				}
			}
			if answers[n].closed != "" {
				if len(bodies) > 0 {
					answers[n].closed += " and an answer"
				}
				continue
			}
			var err error
			if answers[n].text, err = read.tell(bodies); err != nil {
				return nil, fmt.Errorf("%s: %w", ask.name, err)
			}
		}
		return answers, nil
	}}
}

// scene is what a reader may see of a contract id.
type scene struct {
	poster, worker, status string
	judge, decider         string         // on whom both parties agreed
	entries                []*nostr.Event // that the reader may see, in the order of arrival
	moves                  []*nostr.Event // the same
	private                []gatePrivate  // the reader's own
}

// pairs returns the contracts of the run in the order of arrival: two parties
// under an id, and their state.
func (g *gateRun) pairs() (ids []string, all []scene) {
	for _, ev := range g.events {
		if ev.Kind != relaytest.KindState {
			continue
		}
		d, p := ev.Tags.GetD(), gateNamed(ev)
		var said struct{ Status string }
		if err := json.Unmarshal([]byte(ev.Content), &said); err != nil {
			panic(err) // the relay took it
		}
		known := false
		for i := range all {
			if ids[i] == d && all[i].said(ev) {
				all[i].status, known = said.Status, true
			}
		}
		if !known {
			ids, all = append(ids, d), append(all, scene{poster: ev.PubKey, worker: p[0], status: said.Status})
		}
	}
	for i := range all {
		all[i].judge, all[i].decider = g.agreed(ids[i], all[i], "arbitrator"), g.agreed(ids[i], all[i], "decider")
	}
	return ids, all
}

// gateNamed returns the keys in an event's p tags.
func gateNamed(ev *nostr.Event) (keys []string) {
	for tag := range ev.Tags.FindAll("p") {
		keys = append(keys, tag[1])
	}
	return keys
}

// agreed returns the key that a contract's open names in a tag and its
// acceptance repeats, or "".
func (g *gateRun) agreed(contract string, s scene, name string) string {
	says := func(author, status string) string {
		for _, ev := range g.events {
			if tag := ev.Tags.Find(name); ev.Kind == relaytest.KindState && ev.Tags.GetD() == contract && ev.PubKey == author && tag != nil &&
				strings.Contains(ev.Content, `"status":"`+status+`"`) {
				return tag[1]
			}
		}
		return ""
	}
	if key := says(s.poster, "open"); key == says(s.worker, "accepted") {
		return key
	}
	return ""
}

// said reports whether an event is between the two parties of a scene: an entry
// or state of one for the other, or a decision about both.
func (s scene) said(ev *nostr.Event) bool {
	named := gateNamed(ev)
	if len(named) == 2 {
		return named[0] == s.poster && named[1] == s.worker
	}
	return s.has(ev.PubKey) && s.has(named[0])
}

// whole reports whether a key reads all of a thread: the parties, and their
// arbitrator.
func (s scene) whole(key string) bool { return s.has(key) || key != "" && key == s.judge }

// decides reports whether a key may decide a dispute as a relay's operator
// does, and reads it then.
func (s scene) decides(key string) bool { return key != "" && key == s.decider }

// talks returns the contracts of which only entries are known, in the order of
// arrival: two keys under an id without a state, the first author as the
// poster.
func (g *gateRun) talks() (ids []string, all []scene) {
	known, _ := g.pairs()
	for _, ev := range g.events {
		if ev.Kind != relaytest.KindEntry || slices.Contains(known, ev.Tags.GetD()) {
			continue
		}
		d, p, heard := ev.Tags.GetD(), ev.Tags.Find("p")[1], false
		for i := range all {
			heard = heard || ids[i] == d && all[i].has(ev.PubKey) && all[i].has(p)
		}
		if !heard {
			ids, all = append(ids, d), append(all, scene{poster: ev.PubKey, worker: p})
		}
	}
	return ids, all
}

// talkOf returns a key's first talk under an id.
func (g *gateRun) talkOf(who, contract string) (scene, bool) {
	ids, all := g.talks()
	for i := range all {
		if ids[i] == contract && all[i].has(who) {
			return all[i], true
		}
	}
	return scene{}, false
}

func (s scene) has(key string) bool { return key != "" && (s.poster == key || s.worker == key) }

// sceneOf returns what a reader with one proved key, or none, learns of a
// contract by its id, and with which status the reader is refused. It asks the
// oracle the filters that stand for the question: the contract named, and, for
// the parties, entries of their own and to them.
func (g *gateRun) sceneOf(who, contract string) (found scene, status int) {
	reader := []string{}
	if who != "" {
		reader = append(reader, who)
	}
	named := nostr.Filter{Kinds: []int{relaytest.KindEntry}, Tags: nostr.TagMap{"d": {contract}}}
	mine, toMe := named, named
	mine.Authors = reader
	toMe.Tags = nostr.TagMap{"d": {contract}, "p": reader}
	capable := oracle.Refused(g.options, reader, named) == ""
	// A contract is no event: a replica sees its memory like anybody who names it,
	// where naming it is enough.
	o := g.options
	if slices.Contains(o.Replicas, who) {
		o.Replicas, o.Contracts = nil, ""
	}
	if who == "" && !capable {
		return scene{}, http.StatusUnauthorized
	}
	ids, all := g.pairs()
	at := -1
	for i := range all {
		if ids[i] == contract && (at < 0 || all[i].has(who) && !all[at].has(who)) {
			at = i
		}
	}
	known := at >= 0
	if known {
		found = all[at]
	} else {
		found, known = g.talkOf(who, contract)
	}
	if !known {
		return scene{}, http.StatusNotFound
	}
	if !capable && !found.whole(who) && !(found.decides(who) && found.status == "disputed") {
		return found, http.StatusNotFound
	}
	for _, ev := range g.events {
		if ev.Kind != relaytest.KindState || ev.Tags.GetD() != contract || !found.said(ev) {
			continue
		}
		if found.whole(who) || found.decides(who) || slices.ContainsFunc([]nostr.Filter{named, mine, toMe}, func(f nostr.Filter) bool {
			f.Kinds = []int{relaytest.KindState}
			return oracle.Visible(o, reader, f, ev)
		}) {
			found.moves = append(found.moves, ev)
		}
	}
	for _, ev := range g.events {
		if ev.Kind != relaytest.KindEntry || ev.Tags.GetD() != contract || !found.said(ev) {
			continue
		}
		reads := found.whole(who) || found.decides(who) && found.status == "disputed"
		if oracle.TakenBack(ev, g.events) && !reads {
			continue
		}
		// The arbitrator sees a sealed entry listed as sealed.
		sealed := !strings.HasPrefix(ev.Content, "{")
		if reads && (!sealed || found.whole(who)) || slices.ContainsFunc([]nostr.Filter{named, mine, toMe}, func(f nostr.Filter) bool { return oracle.Visible(o, reader, f, ev) }) {
			found.entries = append(found.entries, ev)
		}
	}
	for _, p := range g.private {
		if p.by.Pub == who && p.contract == contract {
			found.private = append(found.private, p)
		}
	}
	return found, http.StatusOK
}

// judgeThread describes what is wrong with an answer about a contract.
func (g *gateRun) judgeThread(s gate.Surface, reader []string, th *gateThread, got gateAnswer) string {
	who := strings.Join(reader, "")
	found, status := g.sceneOf(who, th.contract)
	switch {
	case (s == gate.SurfaceThreadSearch || s == gate.SurfaceThreadOrder) && who == "": // searching is work, which only a proved key may cause
		status = http.StatusUnauthorized
	case s == gate.SurfaceThreadOrder && !found.whole(who) && !(found.decides(who) && found.status == "disputed"):
		status = http.StatusNotFound
	case s != gate.SurfaceContracts && s != gate.SurfaceContract:
	case who == "": // naming a contract shows its entries, not the API's own data about it
		status = http.StatusUnauthorized
	case s == gate.SurfaceContracts:
		status = http.StatusOK
	case found.decides(who):
		status = http.StatusOK
	case !found.whole(who):
		status = http.StatusNotFound
	}
	if status != http.StatusOK {
		if got.closed != fmt.Sprint(status) {
			return fmt.Sprintf("answered %s %s, want %d", got.closed, got.text, status)
		}
		return ""
	}
	if want := threadReads[s].want(g, who, th, found); got.closed != "" || got.text != want {
		return fmt.Sprintf("answered %s %s, want %s", got.closed, got.text, want)
	}
	return ""
}

func oneRequest(method, tail, body string) func(*gateThread) []threadRequest {
	return func(th *gateThread) []threadRequest {
		return []threadRequest{{method, rig.ContractsPath + "/" + th.contract + tail, body}}
	}
}

// readContracts lists the reader's own contracts.
var readContracts = threadRead{
	requests: func(*gateThread) []threadRequest {
		return []threadRequest{{http.MethodGet, rig.ContractsPath + "?limit=500", ""}}
	},
	tell: func(bodies [][]byte) (string, error) {
		var page struct {
			Contracts []gateContract
			Total     int
		}
		err := json.Unmarshal(bodies[0], &page)
		lines := []string{}
		for _, c := range page.Contracts {
			lines = append(lines, c.line())
		}
		slices.Sort(lines)
		return fmt.Sprint(page.Total, lines), err
	},
	want: func(g *gateRun, who string, _ *gateThread, _ scene) string {
		lines := []string{}
		ids, all := g.pairs()
		for i, s := range all {
			if s.whole(who) {
				lines = append(lines, gateContract{ids[i], s.status, s.poster, s.worker}.line())
			}
		}
		talked, talks := g.talks()
		for i, s := range talks {
			if first, _ := g.talkOf(who, talked[i]); s.has(who) && first.poster == s.poster && first.worker == s.worker {
				lines = append(lines, gateContract{talked[i], "", s.poster, s.worker}.line())
			}
		}
		slices.Sort(lines)
		return fmt.Sprint(len(lines), lines)
	},
}

// gateContract is the part of a contract that the table compares.
type gateContract struct {
	ID     string `json:"contract_id"`
	Status string
	Poster string `json:"poster_pubkey"`
	Worker string `json:"worker_pubkey"`
}

func (c gateContract) line() string {
	return fmt.Sprintf("%s %s %.8s %.8s", c.ID, c.Status, c.Poster, c.Worker)
}

var readContract = threadRead{
	requests: oneRequest(http.MethodGet, "", ""),
	tell: func(bodies [][]byte) (string, error) {
		var c gateContract
		err := json.Unmarshal(bodies[0], &c)
		return c.line(), err
	},
	want: func(_ *gateRun, _ string, th *gateThread, s scene) string {
		return gateContract{th.contract, s.status, s.poster, s.worker}.line()
	},
}

// tellEntries returns the ids of entries in their order, and their number, as
// text.
func tellEntries(bodies [][]byte) (string, error) {
	var page struct {
		Entries []struct {
			ID string `json:"entry_id"`
		}
		Total int
	}
	err := json.Unmarshal(bodies[0], &page)
	ids := []string{}
	for _, e := range page.Entries {
		ids = append(ids, e.ID)
	}
	return fmt.Sprint(page.Total, ids), err
}

// ids returns the ids of the events in the scene that pass.
func (s scene) ids(pass func(*nostr.Event) bool) []string {
	ids := []string{}
	for _, ev := range s.entries {
		if pass(ev) {
			ids = append(ids, gateEntryID(ev))
		}
	}
	for _, p := range s.private {
		ids = append(ids, p.id)
	}
	return ids
}

func everyEntry(*nostr.Event) bool { return true }

var readThread = threadRead{
	requests: oneRequest(http.MethodGet, "/memory?limit=500", ""),
	tell:     tellEntries,
	want: func(_ *gateRun, _ string, _ *gateThread, s scene) string {
		ids := s.ids(everyEntry)
		return fmt.Sprint(len(ids), ids)
	},
}

// readThreadEntries asks for each entry of the run by its id.
var readThreadEntries = threadRead{
	requests: func(th *gateThread) (all []threadRequest) {
		for _, id := range th.entries {
			all = append(all, threadRequest{http.MethodGet, rig.ContractsPath + "/" + th.contract + "/memory/" + id, ""})
		}
		return all
	},
	tell: func(bodies [][]byte) (string, error) {
		ids := []string{}
		for _, body := range bodies {
			var e struct {
				ID string `json:"entry_id"`
			}
			if body == nil {
				continue
			}
			if err := json.Unmarshal(body, &e); err != nil {
				return "", err
			}
			ids = append(ids, e.ID)
		}
		slices.Sort(ids)
		return fmt.Sprint(ids), nil
	},
	want: func(_ *gateRun, _ string, _ *gateThread, s scene) string {
		ids := s.ids(everyEntry)
		slices.Sort(ids)
		return fmt.Sprint(ids)
	},
}

var readThreadSummary = threadRead{
	requests: oneRequest(http.MethodGet, "/memory/summary", ""),
	tell: func(bodies [][]byte) (string, error) {
		var s rig.GateSummary
		err := json.Unmarshal(bodies[0], &s)
		return fmt.Sprintf("%+v", s), err
	},
	want: func(_ *gateRun, who string, _ *gateThread, s scene) string {
		sum := rig.GateSummary{Total: len(s.entries) + len(s.private), ByType: map[string]int{}, ByAuthor: map[string]int{}, ByVisibility: map[string]int{}, Published: len(s.entries)}
		sum.Transitions = len(s.moves)
		for _, note := range s.notes() {
			sum.Notes = append(sum.Notes, struct{ Note string }{note})
		}
		for _, ev := range s.entries {
			sum.ByType[ev.Tags.Find("t")[1]]++
			sum.ByAuthor[ev.PubKey]++
			sum.ByVisibility["shared"]++
		}
		for _, p := range s.private {
			sum.ByType["note"]++
			sum.ByAuthor[who]++
			sum.ByVisibility[p.visible]++
		}
		return fmt.Sprintf("%+v", sum)
	},
}

var readThreadSearch = threadRead{
	requests: oneRequest(http.MethodPost, "/memory/search", `{"query":"`+gateWord+`","limit":500}`),
	tell: func(bodies [][]byte) (string, error) {
		var page struct{ Transitions []struct{ Note string } }
		err := json.Unmarshal(bodies[0], &page)
		text, failed := tellEntries(bodies)
		return fmt.Sprint(text, page.Transitions), errors.Join(err, failed)
	},
	want: func(_ *gateRun, _ string, _ *gateThread, s scene) string {
		ids := s.ids(func(ev *nostr.Event) bool { return strings.Contains(ev.Content, gateWord) })
		found := []struct{ Note string }{}
		for _, note := range s.notes() {
			if strings.Contains(note, gateWord) {
				found = append(found, struct{ Note string }{note})
			}
		}
		return fmt.Sprint(fmt.Sprint(len(ids), ids), found)
	},
}

// notes returns the notes of the scene's moves.
func (s scene) notes() (all []string) {
	for _, ev := range s.moves {
		var said struct{ Note string }
		if err := json.Unmarshal([]byte(ev.Content), &said); err != nil {
			panic(err) // the relay took it
		}
		if said.Note != "" {
			all = append(all, said.Note)
		}
	}
	return all
}

var readTransitions = threadRead{
	requests: oneRequest(http.MethodGet, "/transitions?limit=500", ""),
	tell: func(bodies [][]byte) (string, error) {
		var page struct {
			Transitions []struct {
				ID    string `json:"nostr_event_id"`
				Event *nostr.Event
			}
			Total int
		}
		err := json.Unmarshal(bodies[0], &page)
		ids := []string{}
		for _, m := range page.Transitions {
			ids = append(ids, m.ID)
			if m.Event == nil || m.Event.ID != m.ID {
				err = errors.Join(err, errors.New("a move without its event"))
			}
		}
		return fmt.Sprint(page.Total, ids), err
	},
	want: func(_ *gateRun, _ string, _ *gateThread, s scene) string {
		ids := []string{}
		for _, ev := range s.moves {
			ids = append(ids, ev.ID)
		}
		return fmt.Sprint(len(ids), ids)
	},
}

// readThreadOrder asks for the numbers of all states and entries.
var readThreadOrder = threadRead{
	requests: oneRequest(http.MethodGet, "/order", ""),
	tell: func(bodies [][]byte) (string, error) {
		var o struct{ Lines string }
		err := json.Unmarshal(bodies[0], &o)
		lines := []string{}
		for line := range strings.Lines(o.Lines) {
			words := strings.Fields(line)
			lines = append(lines, words[0]+" "+words[2][:8])
		}
		return fmt.Sprint(lines), err
	},
	want: func(g *gateRun, _ string, th *gateThread, s scene) string {
		lines := []string{}
		for _, ev := range g.events {
			if ev.Kind != relaytest.KindEntry && ev.Kind != relaytest.KindState || ev.Tags.GetD() != th.contract || !s.said(ev) {
				continue
			}
			lines = append(lines, fmt.Sprint(len(lines)+1, " ", ev.ID[:8]))
		}
		return fmt.Sprint(lines)
	},
}

// TestGateThreadsAreReached: every kind of answer occurs for some reader of the
// table's contracts.
func TestGateThreadsAreReached(t *testing.T) {
	run := gateRun{events: gateTableEvents(), private: gateTablePrivate()}
	statuses, sizes := map[int]int{}, map[int]int{}
	for _, who := range []string{"", rig.GateStranger.Pub, rig.GateAgent.Pub, rig.GateWorker.Pub, rig.GateOwner.Pub, rig.GateJudge.Pub} {
		for _, contract := range []string{"contract-5", "contract-6", "contract-0", gateCase, gateOffer, gateHalf} {
			for _, contracts := range []string{"contract", "parties"} {
				run.options.Contracts = contracts
				s, status := run.sceneOf(who, contract)
				statuses[status]++
				sizes[len(s.entries)+len(s.private)]++
			}
		}
	}
	if statuses[200] == 0 || statuses[401] == 0 || statuses[404] == 0 || len(sizes) < 4 {
		t.Errorf("statuses %v, sizes %v", statuses, slices.Sorted(maps.Keys(sizes)))
	}
}
