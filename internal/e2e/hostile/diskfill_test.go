package hostile

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
)

// behindProxy makes a relay read each client's address from a header, so that
// clients of one machine have several.
var behindProxy = []string{
	"ENGRAMD_PUBLIC_URL=wss://relay.example", "ENGRAMD_PROXY_TRUSTED=127.0.0.1", "ENGRAMD_PROXY_HEADER=X-Forwarded-For",
}

// dialFrom connects as a client of an address.
func dialFrom(t *testing.T, relay *relaytest.Child, address string) *relaytest.Client {
	t.Helper()
	c, err := relaytest.Connect(relay.URL, http.Header{"X-Forwarded-For": {address}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// largeNote is a stranger's: 200 KB of words by a key that nobody has seen.
func largeNote(n int) *nostr.Event {
	k := relaytest.NewKey(uint64(5000 + n))
	return relaytest.Note(k, rig.Now(), strings.Repeat(k.Pub+" ", 3100))
}

// TestAttack_DiskFill: who has a new key for each note gets an hour's bytes from
// one address, and from any number of addresses all but the room that is kept
// for keys that the relay knows: those go on writing.
func TestAttack_DiskFill(t *testing.T) {
	const most = 16 << 20
	known := relaytest.NewKey(4999)
	relay := rig.Start(t, append(slices.Clone(behindProxy), fmt.Sprint("ENGRAMD_STORE_MAX_BYTES=", most),
		"ENGRAMD_LIMITS_BYTES_PER_ADDRESS=1MiB", "ENGRAMD_ADMIN_KEYS="+known.Pub)...)
	n := 0
	flood := func(c *relaytest.Client) (stored int, refusal string) {
		for ; ; stored++ {
			n++
			ok, err := c.Publish(largeNote(n))
			if err != nil {
				t.Fatal(err)
			}
			if !ok.True {
				return stored, ok.Message
			}
		}
	}
	stored, refusal := flood(dialFrom(t, relay, "192.0.2.1"))
	if stored != 5 || !strings.HasPrefix(refusal, "rate-limited: one address may store 1048576 bytes an hour here") {
		t.Errorf("one address: %d notes of 200 KB are stored, then %q", stored, refusal)
	}
	for address := 2; strings.HasPrefix(refusal, "rate-limited: "); address++ {
		if address > 100 {
			t.Fatal("a hundred addresses fill the disk")
		}
		_, refusal = flood(dialFrom(t, relay, fmt.Sprint("192.0.2.", address)))
	}
	if refusal != "error: the relay keeps the room that is left for keys that it has known for a day" {
		t.Errorf("many addresses: %q", refusal)
	}
	if n, err := relay.Metric("engramd_room_bytes"); err != nil || n != most {
		t.Errorf("engramd_room_bytes is %v, %v", n, err)
	}
	victim := dialFrom(t, relay, "198.51.100.1")
	for i := range 3 {
		if ok, err := victim.Publish(relaytest.Note(known, rig.Now()-int64(i), strings.Repeat("mine ", 40_000))); err != nil || !ok.True {
			t.Errorf("a known key's write: %+v, %v", ok, err)
		}
	}
}
