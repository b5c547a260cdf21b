package policy

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/btcsuite/btcd/btcec/v2"
	"github.com/btcsuite/btcd/btcec/v2/schnorr"
	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
)

// placeWorld is what the random test draws from: a few people, and what is
// stored of them.
type placeWorld struct {
	*rand.Rand
	secrets     []*btcec.PrivateKey
	keys        []string
	approvals   map[string]bool // owner + agent
	made        map[string]bool
	beside      []*Attestation // that come with the event at hand
	own         string
	eventNumber int
}

func newPlaceWorld(seed uint64) *placeWorld {
	w := &placeWorld{Rand: rand.New(rand.NewPCG(seed, 7)), approvals: map[string]bool{}, made: map[string]bool{}}
	for i := range 6 {
		secret := sha256.Sum256([]byte{byte(i)})
		key, pub := btcec.PrivKeyFromBytes(secret[:])
		w.secrets, w.keys = append(w.secrets, key), append(w.keys, hex.EncodeToString(schnorr.SerializePubKey(pub)))
	}
	return w
}

func (w *placeWorld) chance(percent int) bool { return w.IntN(100) < percent }
func (w *placeWorld) key() string             { return w.keys[w.IntN(len(w.keys))] }

func (w *placeWorld) some(percent int) (keys []string) {
	for _, k := range w.keys {
		if w.chance(percent) {
			keys = append(keys, k)
		}
	}
	return keys
}

// options draws lists, and what is stored.
func (w *placeWorld) options() Options {
	o := Options{Clock: clockAt(start)}
	if w.chance(40) {
		o.Authors = w.some(20)
	}
	if w.chance(80) {
		o.Owners = w.some(40)
	}
	if w.chance(30) {
		o.Kinds = []int{1, 30174}
	}
	if w.chance(30) {
		o.BannedKinds = []int{7}
	}
	if w.chance(50) {
		o.BannedAuthors = w.some(15)
	}
	for n := range 40 {
		if w.chance(10) {
			o.BannedEvents = append(o.BannedEvents, idOf(n))
		} else if w.chance(10) {
			o.AllowedEvents = append(o.AllowedEvents, idOf(n))
		}
	}
	clear(w.approvals)
	for _, owner := range w.keys {
		for _, agent := range w.some(15) {
			w.approvals[owner+agent] = true
		}
	}
	clear(w.made)
	for _, k := range w.some(10) {
		w.made[k] = true
	}
	w.own = w.key()
	return o
}

// asking is o for a node that takes events.
func (w *placeWorld) asking(o Options) Options {
	o.Attested = func(context.Context) []*Attestation { return w.beside }
	o.Approved = func(_ context.Context, owners []string, agent string) (bool, error) { return w.Approved(owners, agent) }
	o.Provisioned = func(_ context.Context, key string) (bool, error) { return w.Provisioned(key) }
	o.Own = func(key string) bool { return key == w.own }
	return o
}

func (w *placeWorld) Approved(owners []string, agent string) (bool, error) {
	return slices.ContainsFunc(owners, func(o string) bool { return w.approvals[o+agent] }), nil
}
func (w *placeWorld) Provisioned(key string) (bool, error) { return w.made[key], nil }

func idOf(n int) string { return fmt.Sprintf("%064x", n) }

// tag is an attestation of the agent, good or not.
func (w *placeWorld) tag(agent string) nostr.Tag {
	if w.chance(10) {
		return nostr.Tag{"auth", w.key()}
	}
	i := w.IntN(len(w.keys))
	conditions := []string{"", "", "kind=1", "created_at>5", "created_at<5", "kind=01"}[w.IntN(6)]
	digest := sha256.Sum256([]byte("nostr:agent-auth:" + agent + ":" + conditions))
	sig, err := schnorr.Sign(w.secrets[i], digest[:])
	if err != nil {
		panic(err)
	}
	text := hex.EncodeToString(sig.Serialize())
	if w.chance(15) {
		text = strings.Repeat("0", 128)
	}
	return nostr.Tag{"auth", w.keys[i], conditions, text}
}

// event draws an event, and what comes beside it.
func (w *placeWorld) event() *nostr.Event {
	author := w.key()
	ev := note(author)
	switch w.IntN(9) {
	case 0, 1, 2, 3:
		ev = engram(author, w.key())
	case 4:
		ev = withKind([]int{5, 7, 20001, 30078}[w.IntN(4)], note(author, nostr.Tag{"d", gate.ApprovalD}))
	case 5:
		ev = withKind(62, note(author, nostr.Tag{"relay", AllRelays}))
		ev.Content = strings.Repeat("x", 4000+w.IntN(200))
	case 6:
		ev = withKind(30091, note(author, nostr.Tag{"d", "c"}, nostr.Tag{"p", w.key()}, nostr.Tag{"p", w.key()}))
		ev.Content = `{"contract_id":"c","status":"completed","previous_status":"disputed"}`
	}
	w.eventNumber++
	ev.ID = idOf(w.eventNumber % 40)
	w.beside = nil
	if nostr.IsEphemeralKind(ev.Kind) { // it has no place: who vouched with it, one node alone remembers
		return ev
	}
	if w.chance(25) {
		ev.Tags = append(ev.Tags, w.tag(author))
	}
	if w.chance(5) {
		ev.CreatedAt += 1 << 20
	}
	for w.chance(40) {
		agent := author
		if w.chance(20) {
			agent = w.key()
		}
		w.beside = append(w.beside, NewAttestation(agent, w.tag(agent)))
	}
	return ev
}

// TestInTwoStepsAsInOne: what the node that takes an event decides, and then
// every node at its place, is together what one relay decides alone, in the same
// words; and all nodes decide alike, whichever took it.
func TestInTwoStepsAsInOne(t *testing.T) {
	seed := rand.Uint64()
	w := newPlaceWorld(seed)
	words, rounds := map[string]int{}, 150
	if testing.Short() {
		rounds = 15
	}
	for range rounds {
		o := w.options()
		alone := mustPolicy(t, w.asking(o))
		nodes := []*Policy{mustPolicy(t, w.asking(o)), mustPolicy(t, w.asking(o)), mustPolicy(t, w.asking(o))}
		for range 40 {
			ev := w.event()
			_, want := alone.RejectEvent(t.Context(), ev)
			origin := nodes[w.IntN(len(nodes))]
			refused, got := origin.AtOrigin(t.Context(), ev)
			if !refused && !nostr.IsEphemeralKind(ev.Kind) {
				vouched := origin.Vouched(t.Context(), ev)
				beside := w.beside
				w.beside = nil // it comes to one node only
				for i, node := range nodes {
					at := ""
					why, err := node.AtPlace(ev, slices.Clone(vouched), w)
					if err != nil {
						t.Fatal(err)
					}
					if why != nil {
						at = why.Error()
					}
					if i > 0 && at != got {
						t.Fatalf("seed %d: node %d says %q, another one %q", seed, i, at, got)
					}
					got = at
				}
				w.beside = beside
			}
			if got != want {
				t.Fatalf("seed %d: kind %d: %q in two steps, %q in one", seed, ev.Kind, got, want)
			}
			words[want]++
		}
	}
	if !testing.Short() && (len(words) < 15 || words[""] < 500) {
		t.Errorf("seed %d: %d refusals, %d taken: the test says little", seed, len(words), words[""])
	}
}

// TestListsHoldAtThePlace: a ban that comes between an event and its place
// counts, and so does one that was lifted.
func TestListsHoldAtThePlace(t *testing.T) {
	banned, free := mustPolicy(t, Options{BannedAuthors: []string{agentKey}}), mustPolicy(t, Options{})
	ev := note(agentKey)
	if refused, msg := banned.AtOrigin(t.Context(), ev); refused {
		t.Errorf("the node that takes it says %q", msg)
	}
	if why, err := banned.AtPlace(ev, nil, nil); err != nil || why == nil || why.Error() != bannedAuthor {
		t.Errorf("%v at its place", why)
	}
	if why, err := free.AtPlace(ev, nil, nil); err != nil || why != nil {
		t.Errorf("%v at its place, where nobody is banned", why)
	}
	// What has no place is decided at once.
	if refused, msg := banned.AtOrigin(t.Context(), withKind(20001, note(agentKey))); !refused || msg != bannedAuthor {
		t.Errorf("an ephemeral event: %q", msg)
	}
}

// failing are look-ups that fail.
type failing struct{}

func (failing) Approved([]string, string) (bool, error) { return false, errors.New("disk") }
func (failing) Provisioned(string) (bool, error)        { return false, errors.New("disk") }

func TestAskingFails(t *testing.T) {
	p := mustPolicy(t, Options{Owners: []string{ownerKey}})
	if why, err := p.AtPlace(note(agentKey), nil, failing{}); err == nil || why != nil {
		t.Errorf("%v and %v, want an error and no decision", why, err)
	}
	var live Live
	if why, err := live.AtPlace(note(agentKey), nil, failing{}); err == nil || why != nil {
		t.Errorf("without a policy: %v and %v, want an error and no decision", why, err)
	}
}

// TestVouchedIsShort: what an event takes along is bounded, whatever came
// beside it, and nothing where nobody has to vouch.
func TestVouchedIsShort(t *testing.T) {
	w := newPlaceWorld(1)
	author := w.keys[0]
	for range 16 {
		w.beside = append(w.beside, NewAttestation(author, nostr.Tag{"auth", "no key", strings.Repeat("x", 2000), "none"}))
	}
	if got := mustPolicy(t, w.asking(Options{Owners: w.keys})).Vouched(t.Context(), note(author)); len(got) != 1 || len(got[0]) > 100 {
		t.Errorf("%q", got)
	}
	if got := mustPolicy(t, w.asking(Options{})).Vouched(t.Context(), note(author)); got != nil {
		t.Errorf("%q where everybody may write", got)
	}
}
