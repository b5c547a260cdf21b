// Package gatetest makes random readers, events and filters for tests of the
// read gate. The same seed gives the same sequence (signatures apart), so a
// test prints the seed when it fails. Every event is one that the relay's write
// policy takes, and filters are drawn towards the events and the reader, so
// that a good part of them is let through and finds something.
package gatetest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
)

// Key is a test identity; its secret follows from the seed.
type Key struct {
	Secret string // 64 hex digits
	Pub    string // 64 lower-case hex digits
}

// Base is the created_at of the oldest generated event.
const Base = 1_700_000_000

// Words are what searchable events say; each says one of them.
var Words = [...]string{"alder", "birch", "cedar", "douglas", "elm"}

// Kinds are the kinds that Event makes and Filter asks for: those of the gate's
// table and some that it does not know. Events of kind 21059 are delivered and
// not stored.
var Kinds = append(gate.Kinds(), 1, 7, 30023, 4550, 30500, 10077)

// RuleSets are lists for gate.rules over those kinds.
var RuleSets = [...][]string{
	nil,
	{"4550 author,p ids", "30500 author d"},
	{"30078 author", "10077 author", "7 p"},
	{"30078 p ids,d", "30500 author,p ids,d", "1 author,p"},
}

// Gen is a source of random things about a few people and contracts.
type Gen struct {
	Rand *rand.Rand
	Keys []Key
	// Unsigned leaves signatures out: enough for everything but a relay.
	Unsigned bool
	// Reuse lets events fall on an address that was used before, so that they
	// supersede or are superseded.
	Reuse bool

	contracts []string
	used      map[string]bool     // addresses and contract pairs taken
	requests  map[string][]string // ids of deletion requests by author
	made      int
}

// New returns a generator with people keys.
func New(seed uint64, people int) *Gen {
	g := &Gen{Rand: rand.New(rand.NewPCG(seed, 0x6761746574657374)), used: map[string]bool{}, requests: map[string][]string{}}
	for range people {
		secret := g.hex()
		pub, err := nostr.GetPublicKey(secret)
		if err != nil {
			panic(fmt.Sprintf("gatetest: no key: %v", err))
		}
		g.Keys = append(g.Keys, Key{secret, pub})
	}
	for range 4 {
		g.contracts = append(g.contracts, "contract-"+g.hex()[:8])
	}
	return g
}

// Seed returns a seed for New from a text, such as the name of a test.
func Seed(text string) uint64 {
	sum := sha256.Sum256([]byte(text))
	var seed uint64
	for _, b := range sum[:8] {
		seed = seed<<8 | uint64(b)
	}
	return seed
}

// Person returns one of the keys.
func (g *Gen) Person() Key { return g.Keys[g.Rand.IntN(len(g.Keys))] }

// Reader returns the pubkeys of a reader: nobody, one person, or several, and
// now and then more keys than anybody has.
func (g *Gen) Reader() []string {
	var reader []string
	n := [...]int{0, 0, 1, 1, 1, 1, 2, 3}[g.Rand.IntN(8)]
	for range n {
		if pk := g.Person().Pub; !slices.Contains(reader, pk) {
			reader = append(reader, pk)
		}
	}
	if g.Rand.IntN(20) == 0 {
		for range 12 {
			reader = append(reader, g.hex())
		}
	}
	return reader
}

// hex returns 32 random bytes as 64 lower-case hex digits.
func (g *Gen) hex() string {
	var raw [32]byte
	for i := range raw {
		raw[i] = byte(g.Rand.Uint32())
	}
	return hex.EncodeToString(raw[:])
}

func (g *Gen) chance(percent int) bool { return g.Rand.IntN(100) < percent }

// take reports whether the parts have not been taken together before.
func (g *Gen) take(parts ...any) bool {
	key := strings.TrimSuffix(fmt.Sprintln(parts...), "\n")
	if g.used[key] {
		return false
	}
	g.used[key] = true
	return true
}

func pick[T any](g *Gen, list []T) T { return list[g.Rand.IntN(len(list))] }
