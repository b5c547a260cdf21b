// Package doctor says what is wrong with a cluster, and what to do about it, by what
// its nodes and the servers of its log say of themselves.
package doctor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"engramd/internal/relay/cluster"
	"engramd/internal/relay/cluster/jetstream"
)

// Suffix is what nodes are asked under (jetstream's Answer).
const Suffix = "doctor"

// Question is what a node asks that was struck out; the doctor's is empty.
type Question struct {
	Node   cluster.NodeID `json:"node"`
	Number uint64         `json:"number"` // up to which its database has executed
}

// Node is what one node says of itself.
type Node struct {
	ID       string            `json:"id"`
	Name     string            `json:"name"`
	Program  string            `json:"program"`
	Leads    bool              `json:"leads"`
	Applied  uint64            `json:"applied"` // up to which message
	Hashes   map[string]string `json:"hashes"`
	Clock    time.Time         `json:"clock"`
	Doubted  bool              `json:"clock_doubted"` // it does not trust its clock
	Free     int64             `json:"disk_free_bytes"`
	Size     int64             `json:"database_bytes"`
	Trouble  string            `json:"trouble,omitempty"`
	Settings map[string]string `json:"settings"` // that are to be the same on all nodes
	Members  []Member          `json:"members"`
	Halted   bool              `json:"halted,omitempty"`
	Gives    string            `json:"gives,omitempty"` // the connection by which a halted node gives its database

	// To a Question:
	Hash    string `json:"hash,omitempty"`    // of all up to the number, in hex, if it is known
	Removed bool   `json:"removed,omitempty"` // somebody has taken the node out

	ahead time.Duration // its clock, of that of who asks
}

// Member is a node that the cluster counts.
type Member struct {
	ID    string  `json:"id"`
	Name  string  `json:"name"`
	Heard float64 `json:"heard_seconds"` // ago
}

const (
	mostBytes  = 64 << 10 // of an answer
	mostListed = 256      // things of one kind in it
	mostText   = 200      // bytes of a text
	mostFault  = 2000     // bytes of an error
)

var errAnswer = errors.New("not a node's answer")

// Answer is what the node answers.
func (n Node) Answer() []byte {
	text, _ := json.Marshal(n) // numbers and texts
	return text
}

// Ask asks all nodes, and returns what they answer, by name.
func Ask(ctx context.Context, conn *jetstream.Conn, q Question) (nodes []Node, err error) {
	question, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	err = conn.Gather(ctx, Suffix, question, func(answer []byte) {
		if n, err := Parse(answer, time.Now()); err == nil {
			nodes = append(nodes, n)
		}
	})
	slices.SortFunc(nodes, func(a, b Node) int { return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.ID, b.ID)) })
	return nodes, err
}

// Parse reads an answer that came at a time. Anybody in the cluster's account may have
// sent it.
func Parse(answer []byte, now time.Time) (n Node, err error) {
	if len(answer) > mostBytes || json.Unmarshal(answer, &n) != nil || n.ID == "" || max(len(n.Hashes), len(n.Settings), len(n.Members)) > mostListed {
		return Node{}, errAnswer
	}
	for _, text := range []*string{&n.ID, &n.Name, &n.Program, &n.Trouble} {
		*text = printable(*text)
	}
	for i := range n.Members {
		n.Members[i].ID, n.Members[i].Name = printable(n.Members[i].ID), printable(n.Members[i].Name)
	}
	for key, value := range n.Settings {
		n.Settings[key] = printable(value)
	}
	n.ahead = n.Clock.Sub(now)
	return n, nil
}

func printable(text string) string { return clean(text[:min(len(text), mostText)]) }

// fault is an error as one line; a server may have named itself in it.
func fault(err error) string {
	text := strings.ReplaceAll(err.Error(), "\n", "; ")
	return clean(text[:min(len(text), mostFault)])
}

func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r >= 0x2000 && r < 0x2070 || r == 0xfffd {
			return '?'
		}
		return r
	}, text)
}
