package model

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/nbd-wtf/go-nostr"
)

// Kinds of contract memory, and of requests about it.
const (
	KindEntry    = 30090
	KindState    = 30091
	KindDeletion = 5
	KindVanish   = 62
)

// Terms are who decides about a contract: keys in hex, "" for none, and a time
// in Unix seconds, 0 for none.
type Terms struct {
	Arbitrator, Decider, Expirer, Order string
	Deadline                            int64
}

// said is what an event of contract memory says.
type said struct {
	contract         string
	keys             []string // of its p tags
	kind             string   // t of an entry
	status, previous string   // of a state
	terms            Terms
	proves           bool // its salt shows that its author made the contract's id
	expires, sealed  bool
}

func (s *said) to() string { return s.keys[0] }

// read reads an event that the player made: it has the shape of its kind.
func read(ev *nostr.Event) *said {
	s := &said{sealed: ev.Kind == KindEntry && !strings.HasPrefix(ev.Content, "{")}
	for _, tag := range ev.Tags {
		switch tag[0] {
		case "d":
			s.contract = tag[1]
		case "p":
			s.keys = append(s.keys, tag[1])
		case "t":
			s.kind = tag[1]
		case "arbitrator":
			s.terms.Arbitrator = tag[1]
		case "decider":
			s.terms.Decider = tag[1]
		case "expirer":
			s.terms.Expirer = tag[1]
		case "order":
			s.terms.Order = tag[1]
		case "deadline":
			s.terms.Deadline, _ = strconv.ParseInt(tag[1], 10, 64)
		case "expiration":
			s.expires = true
		}
	}
	for _, tag := range ev.Tags {
		if salt, err := hex.DecodeString(tag[1]); tag[0] == "salt" && err == nil {
			s.proves = ID(ev.PubKey, salt) == s.contract
		}
	}
	if ev.Kind == KindState {
		s.kind = "state"
		var body struct {
			Status   string `json:"status"`
			Previous string `json:"previous_status"`
		}
		if json.Unmarshal([]byte(ev.Content), &body) == nil {
			s.status, s.previous = body.Status, body.Previous
		}
	}
	return s
}

// ID is the contract id that commits to a poster.
func ID(poster string, salt []byte) string {
	key, _ := hex.DecodeString(poster)
	sum := sha256.Sum256(append(append([]byte("engramd/contract/v1"), key...), salt...))
	b := sum[:16]
	b[6] = b[6]%16 + 4*16
	b[8] = b[8]%64 + 128
	x := hex.EncodeToString(b)
	return strings.Join([]string{x[:8], x[8:12], x[12:16], x[16:20], x[20:]}, "-")
}
