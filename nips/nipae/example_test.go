package nipae_test

import (
	"crypto/rand"
	"fmt"
	"log"

	"engramd/nips/nipae"

	"github.com/nbd-wtf/go-nostr"
)

// The keys of NIP-AE's published vectors: agent 1, owner 2. Never use them.
const (
	agentSecret = "0000000000000000000000000000000000000000000000000000000000000001"
	agent       = "79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"
	ownerSecret = "0000000000000000000000000000000000000000000000000000000000000002"
	owner       = "c6047f9441ed7d6d3045406e95c07cd85c778e4b8cef3ca7abac09b95c709ee5"
)

func Example() {
	// The agent writes what it knows …
	key, err := nipae.DeriveConversationKey(agentSecret, owner)
	if err != nil {
		log.Fatal(err)
	}
	body, err := nipae.NewMemory("mem/deploy", "Fridays are frozen, see [[mem/calendar]].")
	if err != nil {
		log.Fatal(err)
	}
	event, err := nipae.Seal(key, body, nipae.Sealing{
		Secret: agentSecret, Owner: owner, CreatedAt: 1700000000, Rand: rand.Reader,
	})
	if err != nil {
		log.Fatal(err)
	}

	// … and the owner reads it with the owner's own key.
	key, err = nipae.DeriveConversationKey(ownerSecret, agent)
	if err != nil {
		log.Fatal(err)
	}
	reading, err := nipae.SelectHead(key, agent, owner, "mem/deploy", []*nostr.Event{event})
	if err != nil {
		log.Fatal(err) // not the same as absent: do not overwrite
	}
	text, ok := reading.Text()
	fmt.Println(text, ok)
	fmt.Println(nipae.References(text))
	// Output:
	// Fridays are frozen, see [[mem/calendar]]. true
	// [mem/calendar]
}

func ExampleNormalizeSlug() {
	for _, s := range []string{"deploy", "mem/deploy", "core", "Deploy"} {
		slug, err := nipae.NormalizeSlug(s)
		fmt.Printf("%q %v\n", slug, err)
	}
	// Output:
	// "mem/deploy" <nil>
	// "mem/deploy" <nil>
	// "core" <nil>
	// "" not a slug: only a-z, 0-9, _ and - may stand in it
}

func ExampleConversationKey_Address() {
	key, err := nipae.DeriveConversationKey(agentSecret, owner)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(key)
	fmt.Println(key.Address(nipae.Core))
	// Output:
	// [redacted]
	// bdc233238ffe52e272b44cc233c8f33a2bc510b08be04495b225964283be4a90
}

func ExampleBody_WithText() {
	body, err := nipae.ParseBody([]byte(`{"slug":"mem/a","value":"before","confidence":0.9}`))
	if err != nil {
		log.Fatal(err)
	}
	edited, err := body.WithText("after").Bytes()
	fmt.Println(string(edited), err)
	// Output: {"slug":"mem/a","value":"after","confidence":0.9} <nil>
}

// A write: date it after the head that was read, seal, publish, and read the
// head again.
func ExampleNextCreatedAt() {
	var now int64 = 1700000000
	for _, head := range []int64{0, 1700000000, 1700003600} {
		at, err := nipae.NextCreatedAt(now, head)
		fmt.Println(at, err)
	}
	// Output:
	// 1700000000 <nil>
	// 1700000001 <nil>
	// 0 the head is dated too far in the future to be superseded: by 3600 seconds
}

func ExampleSelectHead() {
	key, err := nipae.DeriveConversationKey(agentSecret, owner)
	if err != nil {
		log.Fatal(err)
	}
	write := func(text string, at int64) *nostr.Event {
		event, err := nipae.Seal(key, nipae.NewProfile(text), nipae.Sealing{
			Secret: agentSecret, Owner: owner, CreatedAt: at, Rand: rand.Reader,
		})
		if err != nil {
			log.Fatal(err)
		}
		return event
	}
	older, newer, forged := write("older", 10), write("newer", 20), write("forged", 30)
	forged.CreatedAt = 40

	for _, candidates := range [][]*nostr.Event{{forged, older, newer, older}, {forged}, {}} {
		reading, err := nipae.SelectHead(key, agent, owner, nipae.Core, candidates)
		text, _ := reading.Text()
		fmt.Printf("%q absent=%v unreadable=%d failed=%v\n", text, reading.Absent(), reading.Unreadable, err != nil)
	}
	// Output:
	// "newer" absent=false unreadable=1 failed=false
	// "" absent=false unreadable=1 failed=true
	// "" absent=true unreadable=0 failed=false
}

func ExampleReach() {
	key, err := nipae.DeriveConversationKey(agentSecret, owner)
	if err != nil {
		log.Fatal(err)
	}
	var events []*nostr.Event
	for i, text := range []string{
		`{"slug":"core","profile":"I deploy: [[mem/deploy]]."}`,
		`{"slug":"mem/deploy","value":"Ask [[mem/people/ana]] first."}`,
		`{"slug":"mem/old","value":"Nobody points here."}`,
	} {
		body, err := nipae.ParseBody([]byte(text))
		if err != nil {
			log.Fatal(err)
		}
		event, err := nipae.Seal(key, body, nipae.Sealing{
			Secret: agentSecret, Owner: owner, CreatedAt: int64(1 + i), Rand: rand.Reader,
		})
		if err != nil {
			log.Fatal(err)
		}
		events = append(events, event)
	}
	listing := nipae.SelectHeads(key, agent, owner, events)
	graph := nipae.Reach(listing.Heads())
	fmt.Println("orphans:", graph.Orphans)
	fmt.Println("dangling:", graph.Dangling)
	// Output:
	// orphans: [mem/old]
	// dangling: [{mem/deploy mem/people/ana}]
}
