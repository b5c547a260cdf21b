package api_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/nbd-wtf/go-nostr/nip44"

	"engramd/internal/relay/contracts"
)

// generator makes requests from the OpenAPI document.
type generator struct {
	*rand.Rand
	w      *world
	doc    document
	agents []*agent
	ids    []string // contracts that there are
	mems   []string // entries that there are
	secret struct { // a sealed entry, and a party of its contract whose key is kept
		by              *agent
		contract, entry string
	}
	disclosures map[int]bool // statuses that were answered
	leaves      *agent       // takes its key away
}

// call is one operation of the document.
type call struct {
	path, method string
	doc          map[string]any
}

func (d document) calls() (all []call) {
	paths := obj(d["paths"])
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		item := obj(paths[path])
		for _, method := range slices.Sorted(maps.Keys(item)) {
			all = append(all, call{path, strings.ToUpper(method), obj(item[method])})
		}
	}
	return all
}

// TestGeneratedRequests sends requests made from the served document, good ones
// and spoiled ones, as all kinds of callers. Whatever comes: no 5xx, a status
// that the document lists, and a body that its schema describes. What the
// schema refuses must be refused. ENGRAMD_API_FUZZ is how many (make api-fuzz),
// ENGRAMD_API_SEED what they are made from.
func TestGeneratedRequests(t *testing.T) {
	count, seed := 3000, uint64(1)
	if n, err := strconv.Atoi(os.Getenv("ENGRAMD_API_FUZZ")); err == nil {
		count = n
	}
	if n, err := strconv.ParseUint(os.Getenv("ENGRAMD_API_SEED"), 10, 64); err == nil {
		seed = n
	}
	w := newWorld(t)
	rec := w.want(200, nil, "GET", "/api/openapi.json", nil)
	doc, err := readDocument(rec.Body.Bytes())
	must(t, err)
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 2)), w: w, doc: doc, disclosures: map[int]bool{}}
	poster, worker := w.provision("agent-0000"), w.provision("e4dd4d3eba02")
	own := w.bind("self-held")
	g.leaves = w.provision("leaves")
	g.agents = []*agent{nil, poster, poster, worker, worker, g.leaves, w.provision("goes"), own, held("stranger"), {key: w.operator}, {key: w.operator}, {token: "engramd_agent_no"}}
	for range 6 {
		g.ids = append(g.ids, w.offer(poster, worker, nil))
	}
	for _, id := range g.ids[:4] {
		w.move(worker, poster, id, "open", "accepted")
		g.mems = append(g.mems, w.say(poster, worker, id, "message", "shared", "cedar and elm").EntryID)
	}
	g.sealed(t, own, worker)
	succeeded := map[string]int{}
	calls := doc.calls()
	for n := range count {
		c := calls[n%len(calls)]
		if g.one(t, c, n) {
			succeeded[c.method+" "+c.path]++
		}
		if t.Failed() {
			t.Fatalf("seed %d, request %d", seed, n)
		}
	}
	for _, c := range calls {
		if succeeded[c.method+" "+c.path] == 0 {
			t.Errorf("%s %s never succeeded: the generator tests nothing of it", c.method, c.path)
		}
	}
	for _, status := range []int{200, 400, 401, 403, 404, 409} {
		if !g.disclosures[status] {
			t.Errorf("to disclose was never answered %d", status)
		}
	}
	t.Logf("seed %d, %d requests, succeeded %v", seed, count, succeeded)
}

// sealed makes a contract with an entry that only its two parties can read. The
// server keeps the worker's key.
func (g *generator) sealed(t *testing.T, poster, worker *agent) {
	t.Helper()
	id := g.w.offer(poster, worker, nil)
	g.w.move(worker, poster, id, "open", "accepted")
	key, err := nip44.GenerateConversationKey(worker.key.Pub, poster.key.Secret)
	must(t, err)
	payload, err := nip44.Encrypt("between us", key)
	must(t, err)
	ev := g.w.signed(poster, 30090, payload, nostr.Tag{"d", id}, nostr.Tag{"t", "message"}, nostr.Tag{"p", worker.key.Pub})
	body := map[string]any{"type": "message", "content": payload, "event": ev}
	g.secret.by, g.secret.contract = worker, id
	g.secret.entry = decode[contracts.Entry](t, g.w.want(http.StatusCreated, poster, "POST", "/api/escrow/contracts/"+id+"/memory", body)).EntryID
}

// caller returns one of the callers, and a path that is filled in or not. Some
// of those who ask to open a sealed entry, to move a contract or to claim their
// key are parties of it, and name it.
func (g *generator) caller(c call) (who *agent, path string) {
	path, who = c.path, g.agents[g.IntN(len(g.agents))]
	fill := func(names ...string) string { return strings.NewReplacer(names...).Replace(c.path) }
	switch n := g.IntN(4); {
	case strings.HasSuffix(c.path, "/claim") && n == 0:
		return g.leaves, fill("{agent_id}", g.leaves.name)
	case strings.HasSuffix(c.path, "/transitions") && c.method == http.MethodPost && n > 0:
		return g.agents[1+g.IntN(4)], fill("{id}", g.ids[g.IntN(min(len(g.ids), 8))])
	case !strings.HasSuffix(c.path, "/disclose"):
		return who, path
	case n == 0:
		return g.secret.by, fill("{id}", g.secret.contract, "{entry_id}", g.secret.entry)
	case n == 1:
		return who, fill("{id}", g.secret.contract, "{entry_id}", g.secret.entry)
	case n == 2:
		return g.secret.by, fill("{id}", g.ids[0], "{entry_id}", g.mems[0])
	}
	return who, path
}

// one sends a request and judges the answer; it reports whether it was a
// success.
func (g *generator) one(t *testing.T, c call, n int) bool {
	query := url.Values{}
	who, path := g.caller(c)
	spoiled := false // the document refuses it
	for _, p := range arr(c.doc["parameters"]) {
		p := obj(p)
		name := p["name"].(string)
		if p["in"] == "path" {
			path = strings.ReplaceAll(path, "{"+name+"}", url.PathEscape(g.pathValue(name, c)))
			continue
		}
		if g.IntN(4) == 0 {
			v := fmt.Sprint(g.value(obj(p["schema"]), name))
			if g.IntN(4) == 0 {
				v = g.text()
			}
			query.Set(name, v)
			spoiled = spoiled || g.badParam(obj(p["schema"]), v)
		}
	}
	if g.IntN(30) == 0 {
		query.Set("no_such_parameter", "1")
		spoiled = true
	}
	var body []byte
	if schema := g.bodySchema(c); schema != nil {
		v := g.value(schema, "")
		if g.IntN(3) == 0 {
			v = g.spoil(v)
		}
		spoiled = spoiled || g.doc.check(schema, roundTrip(t, v), "body") != ""
		var err error
		body, err = json.Marshal(v)
		must(t, err)
		if g.IntN(20) == 0 {
			body = slices.Concat(body[:g.IntN(len(body))], []byte{byte(g.IntN(256))}) // cut off
			spoiled = false                                                           // it may be whole by chance
		}
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	rec := g.w.do(who, c.method, path, body)
	if strings.HasSuffix(c.path, "/disclose") {
		g.disclosures[rec.Code] = true
	}
	what := fmt.Sprintf("%s %s %.300s: %d %.300s", c.method, path, body, rec.Code, rec.Body)
	if rec.Code >= 500 {
		t.Errorf("%s", what)
	}
	if rec.Code < 300 && spoiled {
		t.Errorf("what the document refuses was taken: %s", what)
	}
	var got any
	if err := json.Unmarshal(rec.Body.Bytes(), &got); err != nil || rec.Header().Get("Content-Type") != "application/json" {
		t.Errorf("no JSON: %s", what)
	}
	answer := obj(obj(c.doc["responses"])[strconv.Itoa(rec.Code)])
	if answer == nil {
		if rec.Code == http.StatusNotFound && strings.Contains(path, "%2F") {
			return false // a path that the mux does not take
		}
		t.Errorf("a status that is not in the document: %s", what)
		return false
	}
	schema := obj(obj(obj(g.doc.resolve(answer)["content"])["application/json"])["schema"])
	if fault := g.doc.check(schema, got, "answer"); fault != "" {
		t.Errorf("%s: %s", fault, what)
	}
	if m := obj(got); rec.Code == http.StatusCreated {
		if id, ok := m["entry_id"].(string); ok {
			g.mems = append(g.mems, id)
		} else if id, ok := m["contract_id"].(string); ok {
			g.ids = append(g.ids, id)
		}
	}
	if m := obj(got); rec.Code == http.StatusOK && m["token"] != nil {
		for _, a := range g.agents {
			if a != nil && a.name == m["agent_id"] {
				a.token = m["token"].(string) // the one before is void
			}
		}
	}
	if n%7 == 0 {
		g.w.clock.Add(1e9)
	}
	return rec.Code < 300
}

func roundTrip(t *testing.T, v any) (out any) {
	raw, err := json.Marshal(v)
	must(t, err)
	must(t, json.Unmarshal(raw, &out))
	return out
}

func (g *generator) bodySchema(c call) map[string]any {
	return obj(obj(obj(obj(c.doc["requestBody"])["content"])["application/json"])["schema"])
}

// badParam reports whether a parameter's text is against its schema.
func (g *generator) badParam(schema map[string]any, text string) bool {
	var v any = text
	switch schema["type"] {
	case "integer":
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return true
		}
		v = float64(n)
	case "boolean":
		return text != "true" && text != "false"
	}
	return g.doc.check(schema, v, "parameter") != ""
}

func (g *generator) pathValue(name string, c call) string {
	switch n := g.IntN(10); {
	case name == "id" && n < 8:
		return g.ids[g.IntN(min(len(g.ids), 8))]
	case name == "entry_id" && n < 8:
		return g.mems[g.IntN(len(g.mems))]
	case name == "agent_id" && n < 8 && c.method == http.MethodDelete:
		return []string{"goes", "self-held", "nobody"}[g.IntN(3)]
	case name == "agent_id" && n < 8 && strings.HasSuffix(c.path, "/claim"):
		return []string{"leaves", "self-held", "nobody"}[g.IntN(3)] // the others go on writing
	case name == "agent_id" && n < 8:
		return []string{"agent-0000", "e4dd4d3eba02", "self-held", "nobody", g.w.operator.Pub}[g.IntN(5)]
	case n == 8:
		return "a" + g.text()
	}
	return uuid()
}

// value returns a value that a schema usually accepts.
func (g *generator) value(schema map[string]any, name string) any {
	schema = g.doc.resolve(schema)
	if choices := arr(schema["anyOf"]); choices != nil {
		return g.value(obj(choices[g.IntN(len(choices))]), name)
	}
	if enum := arr(schema["enum"]); enum != nil {
		return enum[g.IntN(len(enum))]
	}
	switch schema["type"] {
	case "null":
		return nil
	case "boolean":
		return g.IntN(2) == 0
	case "integer":
		least, _ := schema["minimum"].(float64)
		return int64(least) + []int64{0, 1, 3, 50, 499}[g.IntN(5)]
	case "array":
		list := []any{}
		for range g.IntN(4) {
			list = append(list, g.value(obj(schema["items"]), name))
		}
		return list
	case "object":
		m := map[string]any{}
		required := arr(schema["required"])
		properties := obj(schema["properties"])
		for _, member := range slices.Sorted(maps.Keys(properties)) {
			if slices.Contains(required, any(member)) || g.IntN(4) == 0 {
				m[member] = g.value(obj(properties[member]), member)
			}
		}
		return m
	}
	return g.textFor(schema, name)
}

func (g *generator) textFor(schema map[string]any, name string) string {
	switch {
	case schema["format"] == "date-time":
		return g.w.clock.Now().Add(1e9 * 3600 * 24).UTC().Format("2006-01-02T15:04:05Z07:00")
	case name == "contract_id":
		return uuid()
	case name == "entry_id":
		return entryID()
	case strings.HasSuffix(name, "pubkey") || name == "id":
		return g.agents[5].key.Pub
	case name == "sig":
		return strings.Repeat("0", 128)
	case name == "agent_id":
		return fmt.Sprintf("agent-%d", g.IntN(1000))
	case strings.HasSuffix(name, "agent_id") || name == "author":
		return []string{"agent-0000", "e4dd4d3eba02", "self-held"}[g.IntN(3)]
	case name == "attachments":
		return "https://example.com/" + strconv.Itoa(g.IntN(9))
	case name == "query":
		return "cedar"
	}
	return "x" + g.text()
}

// text returns any text that a client may send, often an awkward one.
func (g *generator) text() string {
	return []string{"", " ", "0", "-1", "cedar", "null", "é", "日本語", "😀", "\u0000", "a/b", "..", "%", "\"", "' OR 1=1 --", "* NEAR(", "<b>",
		strings.Repeat("x", 65), strings.Repeat("y", 70_000), "\u202e", "1e9", "99999999999999999999", "true"}[g.IntN(23)]
}

// spoil returns a value that is probably invalid.
func (g *generator) spoil(v any) any {
	junk := []any{nil, true, 1.5, -1, "", g.text(), []any{}, map[string]any{}, []any{nil}, 1e300}
	m, ok := v.(map[string]any)
	if !ok || len(m) == 0 || g.IntN(8) == 0 {
		return junk[g.IntN(len(junk))]
	}
	names := slices.Sorted(maps.Keys(m))
	name := names[g.IntN(len(names))]
	switch g.IntN(4) {
	case 0:
		delete(m, name)
	case 1:
		m["no_such_member"] = junk[g.IntN(len(junk))]
	case 2:
		m[name] = g.spoil(m[name])
	default:
		m[name] = junk[g.IntN(len(junk))]
	}
	return m
}
