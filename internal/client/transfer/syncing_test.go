package transfer

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/client/clienttest"
	"engramd/internal/protocol/wire"
	"engramd/nips/nip77"
)

// syncing is a hoard that reconciles (NIP-77), or claims to.
type syncing struct {
	clienttest.Hoard
	nips        string // supported_nips, JSON
	limit       int    // most items of a session; 0: any number
	said        func(round int, answer []byte) []byte
	refuse      func(*nostr.Event) string // "" takes an event
	hide        func(*nostr.Event) bool   // is not given to who asks by id
	past        []*nostr.Event            // /history; nil: there is none
	hides       bool                      // contracts, from strangers
	refusesPast int                       // status of /history; 0: none

	mu       sync.Mutex
	sessions int
	orders   int            // questions for the order of a contract
	filters  []nostr.Filter // of the sessions
	bytes    int            // of NEG-MSG, both ways
}

func startSyncing(t testing.TB, s *syncing) string {
	t.Helper()
	if s.nips == "" {
		s.nips = "[1,42,77]"
	}
	return clienttest.Start(t, &clienttest.Fake{Serve: s.serve, HTTP: s.serveHTTP})
}

func (s *syncing) serveHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch {
	case r.URL.Path == "/" && r.Header.Get("Accept") == "application/nostr+json": // and nothing else, as strfry has it
		w.Header().Set("Content-Type", "application/nostr+json")
		fmt.Fprintf(w, `{"supported_nips":%s}`, s.nips)
	case strings.HasSuffix(r.URL.Path, "/order"):
		s.mu.Lock()
		defer s.mu.Unlock()
		s.orders++
		w.WriteHeader(http.StatusBadGateway)
	case r.URL.Path == "/history" && s.refusesPast != 0:
		w.WriteHeader(s.refusesPast)
	case r.URL.Path == "/history" && s.past != nil:
		q := r.URL.Query()
		kind, _ := strconv.Atoi(q.Get("kind"))
		f := nostr.Filter{Kinds: []int{kind}, Authors: []string{q.Get("author")}}
		if d := q.Get("d"); d != "" {
			f.Tags = nostr.TagMap{"d": {d}}
		}
		var found []*nostr.Event
		for _, ev := range s.past {
			if f.Matches(ev) && (q.Get("until") == "" && q.Get("before") == "" || q.Get("until") >= strconv.Itoa(int(ev.CreatedAt))) {
				found = append(found, ev)
			}
		}
		client.NewestFirst(found)
		w.Write(clienttest.EventsJSON(found))
	default:
		http.NotFound(w, r)
	}
}

func (s *syncing) serve(c *clienttest.Conn) {
	sets := map[string]*nip77.Set{}
	rounds := map[string]int{}
	for f, ok := c.Read(); ok; f, ok = c.Read() {
		switch f.Label {
		default:
			s.answerTo(c, f)
			continue
		case wire.LabelNegClose:
			delete(sets, f.SubID)
			continue
		case wire.LabelNegOpen:
			s.add(1, 0)
			s.mu.Lock()
			s.filters = append(s.filters, f.Filters[0])
			s.mu.Unlock()
			found := slices.DeleteFunc(s.All(), func(ev *nostr.Event) bool { return !f.Filters[0].Matches(ev) })
			if s.limit > 0 && len(found) > s.limit {
				c.Send(wire.AppendNegErr(nil, f.SubID, "blocked: too many query results"))
				continue
			}
			sets[f.SubID] = setOf(found)
		case wire.LabelNegMsg:
		}
		msg := f.Message
		set := sets[f.SubID]
		answer, err := set.Reply(msg, 30_000)
		if err != nil {
			panic(err)
		}
		if s.said != nil {
			rounds[f.SubID]++
			if answer = s.said(rounds[f.SubID], answer); answer == nil {
				continue
			}
		}
		s.add(0, len(msg)+len(answer))
		c.Sendf(`["NEG-MSG",%q,"%x"]`, f.SubID, answer)
	}
}

// answerTo is answer with the refusals and hidden events of this relay.
func (s *syncing) answerTo(c *clienttest.Conn, f wire.Frame) {
	if s.refusesStrangers(c, f) {
		return
	}
	if f.Label == wire.LabelEvent && s.refuse != nil {
		if why := s.refuse(f.Event); why != "" {
			c.Send(wire.AppendOK(nil, f.Event.ID, false, why))
			return
		}
	}
	if f.Label == wire.LabelReq && s.hide != nil && f.Filters[0].IDs != nil {
		found, _ := s.Find(f.Filters[0])
		for _, ev := range found {
			if !s.hide(ev) {
				c.Event(f.SubID, ev)
			}
		}
		c.Send(wire.AppendEOSE(nil, f.SubID))
		return
	}
	s.Answer(c, f)
}

func (s *syncing) add(sessions, bytes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions += sessions
	s.bytes += bytes
}

func (s *syncing) counted() (sessions, bytes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessions, s.bytes
}

func itemsOf(events []*nostr.Event) []nip77.Item {
	var items []nip77.Item
	for _, ev := range events {
		items = append(items, nip77.Item{CreatedAt: int64(ev.CreatedAt), ID: rawID(ev)})
	}
	return items
}

func setOf(events []*nostr.Event) *nip77.Set {
	set, err := nip77.NewSet(itemsOf(events))
	if err != nil {
		panic(err)
	}
	return set
}
