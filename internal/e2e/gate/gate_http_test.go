package gate

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/gate/oracle"
	"engramd/nips/nip01"
)

// gatePast is a question for superseded versions.
type gatePast struct {
	kind   int
	author string
	d      *string
	until  *nostr.Timestamp
	limit  int // 0: none
	// everybody asks for all authors' versions, by kinds (nil: all), in the order
	// of arrival
	everybody bool
	kinds     []int
	since     bool // the beginning: without contract memory
	arrival   bool // with what is known of each one's arrival
}

// path returns the question as a URL path.
func (p *gatePast) path() string {
	if p.everybody {
		return "/history?after=0" + p.more()
	}
	values := url.Values{"kind": {strconv.Itoa(p.kind)}, "author": {p.author}}
	if p.d != nil {
		values.Set("d", *p.d)
	}
	if p.until != nil {
		values.Set("until", strconv.FormatInt(int64(*p.until), 10))
	}
	if p.limit > 0 {
		values.Set("limit", strconv.Itoa(p.limit))
	}
	return "/history?" + values.Encode()
}

// more returns the parameters of a question for all authors' versions.
func (p *gatePast) more() (more string) {
	if p.kinds != nil {
		more = "&kind=" + strings.Trim(strings.ReplaceAll(fmt.Sprint(p.kinds), " ", ","), "[]")
	}
	if p.since {
		more += "&since=1"
	}
	if p.arrival {
		more += "&arrival=true"
	}
	if p.limit > 0 {
		more += fmt.Sprintf("&limit=%d", p.limit)
	}
	return more
}

// asksFor reports whether the question asks for a version.
func (p *gatePast) asksFor(ev *nostr.Event) bool {
	if p.since && (ev.Kind == relaytest.KindEntry || ev.Kind == relaytest.KindState) {
		return false
	}
	if p.everybody {
		return p.kinds == nil || slices.Contains(p.kinds, ev.Kind)
	}
	return ev.Kind == p.kind && ev.PubKey == p.author && (p.d == nil || ev.Tags.GetD() == *p.d) &&
		(p.until == nil || ev.CreatedAt <= *p.until)
}

// signer returns the key that signs a reader's n-th request, or nil if the
// reader has none. One request proves one key.
func (r gateReader) signer(n int) *relaytest.Key {
	if len(r.keys) == 0 {
		return nil
	}
	return &r.keys[n%len(r.keys)]
}

// asked returns which keys a reader's n-th question on a surface proves.
func (r gateReader) asked(d gateDriver, n int) []string {
	if !d.http {
		return r.pubs()
	}
	if k := r.signer(n); k != nil {
		return []string{k.Pub}
	}
	return nil
}

// gateRequest is what the relay sees of a request, which does not include the
// reader it is sent for.
type gateRequest struct{ key, method, path, body string }

// gateReplies are the answers to the requests on one surface.
type gateReplies struct {
	mu  sync.Mutex
	all map[gateRequest]func() (relaytest.Response, error)
}

// signed returns the answer to a reader's n-th request. A request proves one key,
// which several readers may have: the same one is sent once for all of them.
func (c *gateConn) signed(n int, method, path string, body []byte) (relaytest.Response, error) {
	k, r := c.signer(n), gateRequest{method: method, path: path, body: string(body)}
	if k != nil {
		r.key = k.Pub
	}
	c.replies.mu.Lock()
	reply := c.replies.all[r]
	if reply == nil {
		reply = sync.OnceValues(func() (relaytest.Response, error) { return c.http.Signed(k, method, path, body) })
		c.replies.all[r] = reply
	}
	c.replies.mu.Unlock()
	return reply()
}

// overHTTP sends all requests, a few at a time.
func (c *gateConn) overHTTP(asks []gateAsk, request func(ask gateAsk) (method, path string, body []byte)) ([]gateAnswer, error) {
	answers, faults := make([]gateAnswer, len(asks)), make([]error, len(asks))
	next := make(chan int)
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			for n := range next {
				method, path, body := request(asks[n])
				resp, err := c.signed(n, method, path, body)
				if err == nil {
					answers[n], err = gateAnswerOf(resp)
				}
				faults[n] = err
			}
		})
	}
	for n := range asks {
		next <- n
	}
	close(next)
	workers.Wait()
	for n, err := range faults {
		if err != nil {
			return nil, fmt.Errorf("%s: %w", asks[n].name, err)
		}
	}
	return answers, nil
}

// gateAnswerOf reads an answer. A refusal must have the status of its prefix.
func gateAnswerOf(resp relaytest.Response) (a gateAnswer, err error) {
	if resp.Aborted || resp.Header.Get("Content-Type") != "application/json" {
		return a, fmt.Errorf("HTTP %d, %s, aborted %v", resp.Status, resp.Header.Get("Content-Type"), resp.Aborted)
	}
	var doc struct {
		Error string
		Count int64
	}
	switch {
	case resp.Status == http.StatusOK && strings.HasPrefix(string(resp.Body), "["):
		var events []struct{ ID string }
		err = json.Unmarshal(resp.Body, &events)
		for _, ev := range events {
			a.ids = append(a.ids, ev.ID)
		}
		a.truncated = resp.Header.Get("Engramd-Truncated") != ""
		return a, err
	case resp.Status == http.StatusOK:
		err = json.Unmarshal(resp.Body, &doc)
		a.count = doc.Count
		return a, err
	}
	err = json.Unmarshal(resp.Body, &doc)
	a.closed = doc.Error
	want := map[int]string{http.StatusUnauthorized: nip01.PrefixAuthRequired, http.StatusForbidden: nip01.PrefixRestricted}[resp.Status]
	if err == nil && (want == "" || !strings.HasPrefix(a.closed, want+": ")) {
		err = fmt.Errorf("HTTP %d with %q", resp.Status, a.closed)
	}
	return a, err
}

func askHTTPFilters(path string) func(c *gateConn, s gate.Surface, asks []gateAsk) ([]gateAnswer, error) {
	return func(c *gateConn, _ gate.Surface, asks []gateAsk) ([]gateAnswer, error) {
		return c.overHTTP(asks, func(ask gateAsk) (string, string, []byte) {
			return http.MethodPost, path, []byte(gateJSON(ask.filters))
		})
	}
}

func askHistory(c *gateConn, _ gate.Surface, asks []gateAsk) ([]gateAnswer, error) {
	return c.overHTTP(asks, func(ask gateAsk) (string, string, []byte) {
		return http.MethodGet, ask.past.path(), nil
	})
}

// judgeQuery is judgeStored, and requires that a cut answer says so.
func judgeQuery(o oracle.Options, ask gateAsk, visible []*nostr.Event, got gateAnswer) string {
	f := ask.filters[0]
	cut := len(ask.filters) == 1 && f.Limit > 0 && f.Limit < len(visible)
	if complaint := judgeStored(o, ask, visible, got); complaint != "" || got.truncated == cut {
		return complaint
	}
	return fmt.Sprintf("truncated %v, want %v", got.truncated, cut)
}

// judgeHistory requires every visible version, newest first, up to the limit;
// at an address of contract memory by arrival, the last first.
func judgeHistory(_ oracle.Options, ask gateAsk, visible []*nostr.Event, got gateAnswer) string {
	want := rig.NewestFirst(slices.Clone(visible)...)
	if contract := ask.past.kind == relaytest.KindEntry || ask.past.kind == relaytest.KindState; contract && ask.past.d != nil {
		want = gateIDs(visible)
		slices.Reverse(want)
	}
	cut := ask.past.limit > 0 && ask.past.limit < len(want)
	if cut {
		want = want[:ask.past.limit]
	}
	if !slices.Equal(got.ids, want) || got.truncated != cut {
		return gateDiff(got.ids, visible) + fmt.Sprintf("; got %.8s, want %.8s, truncated %v", got.ids, want, got.truncated)
	}
	return ""
}

// judgePast requires every version in the order of arrival, up to the limit.
func judgePast(_ oracle.Options, ask gateAsk, visible []*nostr.Event, got gateAnswer) string {
	want := gateIDs(visible)
	cut := ask.past.limit > 0 && ask.past.limit < len(want)
	if cut {
		want = want[:ask.past.limit]
	}
	if !slices.Equal(got.ids, want) || got.truncated != cut {
		return gateDiff(got.ids, visible) + fmt.Sprintf("; got %.8s, want %.8s, truncated %v", got.ids, want, got.truncated)
	}
	return ""
}

// visiblePast returns the versions that the reader may see.
func (g *gateRun) visiblePast(reader []string, past *gatePast) []*nostr.Event {
	var visible []*nostr.Event
	for _, ev := range g.past() {
		if past.asksFor(ev) && (oracle.Party(g.options, reader, ev) || past.d != nil && oracle.Decides(g.options, reader, ev)) {
			visible = append(visible, ev)
		}
	}
	return visible
}
