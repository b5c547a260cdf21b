package transfer

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/client/clienttest"
	"engramd/internal/protocol/wire"
)

// pastRelay serves /history as a test says.
type pastRelay struct {
	asked []string // query strings
	// answer is the body of each page in turn, and more whether a cap cut it.
	pages []string
	more  []bool
	at    string // positionHeader and timeHeader
	fail  int    // status of all answers; 0 is 200
}

func (r *pastRelay) serve(w http.ResponseWriter, req *http.Request) {
	n := len(r.asked)
	r.asked = append(r.asked, req.URL.RawQuery)
	w.Header().Set("Content-Type", "application/json")
	if number, at, ok := strings.Cut(r.at, " "); ok {
		w.Header().Set(positionHeader, number)
		w.Header().Set(timeHeader, at)
	}
	if r.fail != 0 {
		w.WriteHeader(r.fail)
		fmt.Fprint(w, `{"error":"restricted: no"}`)
		return
	}
	if r.more[n] {
		w.Header().Set(client.TruncatedHeader, "true")
	}
	fmt.Fprint(w, r.pages[n])
}

// numbered returns an event's JSON with its number as a further member.
func numbered(ev *nostr.Event, seq int) string {
	text := string(wire.AppendEvent(nil, ev))
	return fmt.Sprintf(`%s,"seq":%d}`, text[:len(text)-1], seq)
}

func TestPast(t *testing.T) {
	events := notesOf(t, "agent", 1, 3)
	r := &pastRelay{at: "40 1000", more: []bool{true, false},
		pages: []string{"[" + numbered(events[0], 7) + "," + numbered(events[1], 9) + "]", "[" + numbered(events[2], 30) + "]"}}
	p := peerFor(t, who(t, "agent"), clienttest.Start(t, &clienttest.Fake{HTTP: r.serve}), nil)
	var got []string
	var came []int64
	since := int64(5)
	at, err := p.Past(t.Context(), PastQuery{Filter: nostr.Filter{Kinds: []int{1, 7}}, After: 3, Since: &since, Came: func(after int64) error {
		if len(got) != 2+len(came) {
			t.Errorf("%d versions came before %d", len(got), after)
		}
		came = append(came, after)
		return nil
	}}, func(ev *nostr.Event) error {
		got = append(got, ev.ID)
		return nil
	})
	if err != nil || at != (PastAt{40, 1000}) || len(got) != 3 || !slices.Equal(came, []int64{9, 30}) {
		t.Fatalf("%v %v, it came to %v, %v", at, got, came, err)
	}
	if want := []string{"after=3&kind=1%2C7&limit=200&since=5", "after=9&kind=1%2C7&limit=200&since=5"}; len(r.asked) != 2 || r.asked[0] != want[0] || r.asked[1] != want[1] {
		t.Errorf("asked %v", r.asked)
	}
	// An event that does not match the filter is skipped; an error of take ends
	// the read.
	r.asked, got = nil, nil
	if _, err := p.Past(t.Context(), PastQuery{Filter: nostr.Filter{Kinds: []int{7}}}, func(*nostr.Event) error { return errors.New("taken") }); err != nil {
		t.Errorf("strays: %v", err)
	}
	r.asked = nil
	stop := errors.New("stop")
	if _, err := p.Past(t.Context(), PastQuery{}, func(*nostr.Event) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("an error of take: %v", err)
	}
	r.asked = nil
	if _, err := p.Past(t.Context(), PastQuery{Came: func(int64) error { return stop }}, func(*nostr.Event) error { return nil }); !errors.Is(err, stop) || len(r.asked) != 1 {
		t.Errorf("an error of who is told: %v", err)
	}
}

// TestPastIsAsLongAsItIs: the bound of an answer holds for each page, not for
// their number.
func TestPastIsAsLongAsItIs(t *testing.T) {
	events := notesOf(t, "agent", 1, 6)
	r := &pastRelay{at: "40 1000"}
	for i := 0; i < 6; i += 2 {
		r.pages = append(r.pages, "["+numbered(events[i], i+1)+","+numbered(events[i+1], i+2)+"]")
		r.more = append(r.more, i < 4)
	}
	p := peerFor(t, who(t, "agent"), clienttest.Start(t, &clienttest.Fake{HTTP: r.serve}), func(o *client.Options) { o.Limits.Events = 2 })
	taken := 0
	if _, err := p.Past(t.Context(), PastQuery{}, func(*nostr.Event) error { taken++; return nil }); err != nil || taken != 6 {
		t.Errorf("%d taken, %v", taken, err)
	}
}

// TestPastFromLiars: order, signatures, sizes and ends are verified.
func TestPastFromLiars(t *testing.T) {
	ev := notesOf(t, "agent", 1, 1)[0]
	wrong := *ev
	wrong.Content = "forged"
	many := strings.Repeat(numbered(&wrong, 1)+",", 1)
	for i := 2; i < client.MaxRejected+3; i++ {
		many += numbered(&wrong, i) + ","
	}
	for name, r := range map[string]*pastRelay{
		"not in order":      {pages: []string{"[" + numbered(ev, 7) + "," + numbered(ev, 7) + "]"}},
		"no number":         {pages: []string{"[" + string(wire.AppendEvent(nil, ev)) + "]"}},
		"before the place":  {pages: []string{"[" + numbered(ev, 2) + "]"}},
		"an empty page":     {pages: []string{"[]"}, more: []bool{true}},
		"no end":            {pages: []string{"[" + numbered(ev, 7)}},
		"no array":          {pages: []string{`{"id":1}`}},
		"forged signatures": {pages: []string{"[" + strings.TrimSuffix(many, ",") + "]"}},
	} {
		r.at = "40 1000"
		if r.more == nil {
			r.more = []bool{false}
		}
		p := peerFor(t, who(t, "agent"), clienttest.Start(t, &clienttest.Fake{HTTP: r.serve}), nil)
		taken := 0
		after := int64(3)
		if name == "forged signatures" {
			after = 0
		}
		_, err := p.Past(t.Context(), PastQuery{After: after}, func(*nostr.Event) error { taken++; return nil })
		if !errors.Is(err, client.ErrMisbehaved) || taken > 1 {
			t.Errorf("%s: %v, %d taken", name, err, taken)
		}
	}
}

func TestPastWhereThereIsNone(t *testing.T) {
	for name, c := range map[string]struct {
		relay pastRelay
		want  error
	}{
		"another relay":        {pastRelay{fail: 404}, client.ErrNoHistory},
		"an older one":         {pastRelay{fail: 400}, client.ErrNoHistory},
		"not for this key":     {pastRelay{fail: 403}, client.ErrAuth},
		"without a position":   {pastRelay{pages: []string{"[]"}, more: []bool{false}}, client.ErrNoHistory},
		"a negative one":       {pastRelay{at: "-1 5", pages: []string{"[]"}, more: []bool{false}}, client.ErrNoHistory},
		"a relay that is busy": {pastRelay{fail: 503}, client.ErrRefused},
	} {
		p := peerFor(t, who(t, "agent"), clienttest.Start(t, &clienttest.Fake{HTTP: c.relay.serve}), nil)
		if _, err := p.Past(t.Context(), PastQuery{}, func(*nostr.Event) error { return nil }); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	p := peerFor(t, client.Identity{}, clienttest.Start(t, &clienttest.Fake{}), nil)
	if _, err := p.Past(t.Context(), PastQuery{}, nil); !errors.Is(err, client.ErrNoHistory) {
		t.Errorf("nobody: %v", err)
	}
}
