package memory

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/client/clienttest"
	"engramd/internal/e2e/relaytest"
)

// knower knows versions, of which it reads a part in time.
type knower struct {
	all  map[string]client.Newest // with their events
	most int                      // how many it reads
}

var errLate = errors.New("no time left")

func (k *knower) At(_ context.Context, d string) (client.Newest, error) { return k.all[d], nil }

func (k *knower) Those(_ context.Context, ds []string) (map[string]client.Newest, error) {
	out := map[string]client.Newest{}
	for _, d := range ds {
		if len(out) == k.most {
			return out, errLate
		}
		out[d] = k.all[d]
	}
	return out, nil
}

func (k *knower) All(context.Context) (map[string]client.Newest, error) {
	all := map[string]client.Newest{}
	for d, n := range k.all {
		n.Event = nil
		all[d] = n
	}
	return all, nil
}

func (k *knower) Keep(context.Context, client.Newest) error { return nil }

func (k *knower) Acted(context.Context, []client.Newest, []*nostr.Event, []string) (map[string]bool, error) {
	return nil, nil
}

func (k *knower) Removed(context.Context, client.Newest, client.Removal) error { return nil }

// TestReadInTime: a list has what this machine reads in time of what no relay shows; what it
// does not makes the answer partial, and is not said to have no text.
func TestReadInTime(t *testing.T) {
	a, o := relaytest.Agent(), relaytest.Owner()
	id, err := client.NewIdentity(a.Secret)
	if err != nil {
		t.Fatal(err)
	}
	k := &knower{all: map[string]client.Newest{}}
	for i := range 10 {
		ev := relaytest.Memory(a, o.Pub, fmt.Sprint("mem/n", i), "text", 1_700_000_000+int64(i))
		k.all[ev.Tags.GetD()] = client.Newest{D: ev.Tags.GetD(), ID: ev.ID, At: int64(ev.CreatedAt), Event: ev}
	}
	url := clienttest.StartHoard(t, &clienttest.Hoard{Hints: true})
	m, err := AsAgent(clientFor(t, id, []string{url}, func(o *client.Options) {
		o.Known = func(*client.Client, string, string) client.Known { return k }
	}), o.Pub)
	if err != nil {
		t.Fatal(err)
	}
	for _, most := range []int{-1, 4} {
		k.most = most
		all, status, err := listed(t, m)
		slugs := map[string]bool{}
		for _, e := range all {
			slugs[string(e.Slug)] = true
		}
		switch cut := most == 4; {
		case err != nil, status.Withheld > 0, status.Partial != cut, errors.Is(status.Unknown, errLate) != cut:
			t.Errorf("%d: %+v %v", most, status, err)
		case cut && len(slugs) != most, !cut && (len(slugs) != 10 || status.Behind != 10):
			t.Errorf("%d: %d listed, %+v", most, len(slugs), status)
		}
	}
	k.most = 0
	if all, _, err := listed(t, m); !errors.Is(err, client.ErrPartial) || !errors.Is(err, errLate) {
		t.Errorf("%d listed: %v", len(all), err)
	}
}

// What another process of this machine writes for the first time, while it is read, is
// found and not called unknown.
func TestWrittenWhileRead(t *testing.T) {
	a, o := relaytest.Agent(), relaytest.Owner()
	id, err := client.NewIdentity(a.Secret)
	if err != nil {
		t.Fatal(err)
	}
	ev := relaytest.Memory(a, o.Pub, "mem/log", "text", 1_700_000_000)
	d := ev.Tags.GetD()
	h := &clienttest.Hoard{}
	url := clienttest.StartHoard(t, h)
	var once sync.Once
	m, err := AsAgent(clientFor(t, id, []string{url}, func(to *client.Options) {
		to.Known = func(*client.Client, string, string) client.Known {
			return &knower{all: map[string]client.Newest{d: {D: d, Open: []string{ev.ID}}}}
		}
		to.Trace = func(_ string, sent bool, frame []byte) {
			if !sent && strings.HasPrefix(string(frame), `["EOSE"`) { // nothing is there yet
				once.Do(func() { h.Put(ev) })
			}
		}
	}), o.Pub)
	if err != nil {
		t.Fatal(err)
	}
	if e, _, err := m.Get(t.Context(), "mem/log"); err != nil || e.Text != "text" {
		t.Errorf("%q, %v", e.Text, err)
	}
}
