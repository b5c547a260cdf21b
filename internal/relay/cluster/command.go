package cluster

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"

	"engramd/internal/relay/store"
)

// ClusterID names a cluster: 16 random bytes, made once.
type ClusterID [16]byte

// NodeID names a node: 8 random bytes, made anew whenever a node joins.
type NodeID [8]byte

func (id ClusterID) String() string { return hex.EncodeToString(id[:]) }

func (id NodeID) String() string { return hex.EncodeToString(id[:]) }

// MarshalText implements encoding.TextMarshaler: it is in hex.
func (id ClusterID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// MarshalText implements encoding.TextMarshaler: it is in hex.
func (id NodeID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (id *ClusterID) UnmarshalText(text []byte) error { return unhex(id[:], text) }

// UnmarshalText implements encoding.TextUnmarshaler.
func (id *NodeID) UnmarshalText(text []byte) error { return unhex(id[:], text) }

func unhex(id, text []byte) error {
	if hex.DecodedLen(len(text)) != len(id) || len(text)%2 != 0 {
		return errors.New("not an id")
	}
	_, err := hex.Decode(id, text)
	return err
}

// Command is a change of the cluster itself: of the state that every node makes
// of the log. It stands in a batch beside the store's commands, and its sender
// is the batch's. There are no types but those of this package.
type Command interface {
	// kind is the number of the type, never reused.
	kind() byte
	// append appends the fields.
	append(b []byte) []byte
}

// Join makes its sender a member, or says again who a member is. It is the first
// command of every boot.
type Join struct {
	Name    string // for people, at most 64 bytes
	Version uint64 // up to which cluster version the node's program can go
}

// Strike ends the membership of a node that was not heard for 30 minutes. It
// must join again, under a new id.
type Strike struct{ Node NodeID }

// Remove ends the membership of a node because an operator, or the node itself, says
// that it takes no part any more. It needs version 2.
type Remove struct{ Node NodeID }

// Lease asks for the lease under an epoch: the one in force to renew it, the one
// after it to take it over. Its answer has the epoch in force.
type Lease struct{ Epoch uint64 }

// Report says what hash its sender's outcomes have after a number of commands.
type Report struct {
	Count uint64
	Hash  [32]byte
}

// Void says that a command which came before does nothing, on any node. Index
// -1 means a whole message, of which no node executed any part.
type Void struct {
	Number uint64
	Index  int
}

// Configure replaces the shared configuration: the text, and what the store
// executes in its place.
type Configure struct {
	Text string // at most 64 KiB
	Live store.Live
}

// Raise raises the version of the cluster, if all members have reported that
// they can go up to it.
type Raise struct{ Version uint64 }

// Heartbeat says that its sender lives, up to which version it can go, and up to
// which message its database is durable.
type Heartbeat struct{ Version, Durable uint64 }

const (
	maxName = 64
	maxText = 64 << 10
	maxLive = 64 << 10
)

func (Join) kind() byte      { return 1 }
func (Strike) kind() byte    { return 2 }
func (Lease) kind() byte     { return 3 }
func (Report) kind() byte    { return 4 }
func (Void) kind() byte      { return 5 }
func (Configure) kind() byte { return 6 }
func (Raise) kind() byte     { return 7 }
func (Heartbeat) kind() byte { return 8 }
func (Remove) kind() byte    { return 9 }

func (c Join) append(b []byte) []byte {
	return binary.AppendUvarint(appendText(b, c.Name), c.Version)
}

func (c Strike) append(b []byte) []byte { return append(b, c.Node[:]...) }

func (c Remove) append(b []byte) []byte { return append(b, c.Node[:]...) }

func (c Lease) append(b []byte) []byte { return binary.AppendUvarint(b, c.Epoch) }

func (c Report) append(b []byte) []byte {
	return append(binary.AppendUvarint(b, c.Count), c.Hash[:]...)
}

func (c Void) append(b []byte) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(b, c.Number), uint64(c.Index+1))
}

func (c Configure) append(b []byte) []byte {
	live, err := store.AppendCommand(nil, store.Executed{Command: store.Configure{Live: c.Live}})
	if err != nil {
		panic(err) // it has an encoding, as every type of the store has
	}
	return appendText(appendText(b, c.Text), live)
}

func (c Raise) append(b []byte) []byte { return binary.AppendUvarint(b, c.Version) }

func (c Heartbeat) append(b []byte) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(b, c.Version), c.Durable)
}

// errCommand means that bytes are not a command that this program can read.
var errCommand = errors.New("not a command of the cluster")

// commandVersion is the version of every type's encoding.
const commandVersion = 1

// appendCommand appends the encoding of a command. What the parser would refuse
// is an error.
func appendCommand(b []byte, c Command) ([]byte, error) {
	if c == nil {
		return b, errCommand
	}
	at := len(b)
	b = c.append(append(b, c.kind(), commandVersion))
	if _, err := parseCommand(b[at:]); err != nil {
		return b[:at], fmt.Errorf("%T: %w", c, err)
	}
	return b, nil
}

// parseCommand reads what appendCommand wrote, and nothing else.
func parseCommand(b []byte) (Command, error) {
	r := newReader(b)
	kind := r.Byte()
	if version := r.Byte(); r.Bad || version != commandVersion {
		return nil, fmt.Errorf("%w: version %d of type %d", errCommand, version, kind)
	}
	c := r.command(kind)
	if c == nil || !r.ended() {
		return nil, fmt.Errorf("%w: type %d", errCommand, kind)
	}
	return c, nil
}

// command reads the fields of a type, nil for one that is not known.
func (r *reader) command(kind byte) Command {
	switch kind {
	case Join{}.kind():
		return Join{Name: r.text(maxName), Version: r.Uvarint()}
	case Strike{}.kind():
		return Strike{Node: r.nodeID()}
	case Remove{}.kind():
		return Remove{Node: r.nodeID()}
	case Lease{}.kind():
		return Lease{Epoch: r.Uvarint()}
	case Report{}.kind():
		return Report{Count: r.Uvarint(), Hash: r.hash()}
	case Void{}.kind():
		return Void{Number: r.Uvarint(), Index: r.count(maxCommands) - 1}
	case Configure{}.kind():
		return r.configure()
	case Raise{}.kind():
		return Raise{Version: r.Uvarint()}
	case Heartbeat{}.kind():
		return Heartbeat{Version: r.Uvarint(), Durable: r.Uvarint()}
	}
	return nil
}

func (r *reader) configure() Command {
	text := r.text(maxText)
	e, err := store.ParseCommand(r.Take(uint64(r.count(maxLive))))
	c, ok := e.Command.(store.Configure)
	if r.Bad || err != nil || !ok || e.At != 0 {
		r.Bad = true
		return nil
	}
	return Configure{Text: text, Live: c.Live}
}
