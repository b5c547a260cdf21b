package cluster

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"engramd/internal/relay/store"
)

// A message is one batch: the format's version, the cluster, the node, its boot,
// the batch's counter, in the second format its sender's word, and the commands,
// each with the epoch of the lease under which it was given, a byte that says whose
// it is, and its length. Integers are varints in their shortest form: a batch has
// exactly one encoding.

// The versions of what this program writes and reads.
const (
	messageFormat = 1 // without a word
	wordFormat    = 2
)

const (
	// maxCommands is how many commands a batch may have.
	maxCommands = 512
	// maxBatch is how many bytes its commands may have, if they are several.
	maxBatch = 512 << 10
	// envelope is more than a message has beside its commands.
	envelope = 128
	// latestClock is what no clock shows, in Unix nanoseconds: the year 2116.
	latestClock = 1 << 62
)

// message is a batch of commands, or a mark: that has counter 0 and none.
type message struct {
	cluster       ClusterID
	node          NodeID
	boot, counter uint64
	word          *word // nil in the first format
	items         []item
}

// item is a command of a batch: one of the store, or one of the cluster.
type item struct {
	epoch uint64 // of the lease under which it was given, 0 for none
	store store.Command
	own   Command
}

// Whose command it is.
const (
	ofStore   = 0
	ofCluster = 1
)

// errMessage means that bytes are not a message that this program can read.
var errMessage = errors.New("not a message of this program")

// encode returns the encoding of a command in a batch.
func (i item) encode() (raw []byte, err error) {
	whose := byte(ofStore)
	if i.own != nil {
		whose = ofCluster
		raw, err = appendCommand(nil, i.own)
	} else {
		raw, err = store.AppendCommand(nil, store.Executed{Command: i.store})
	}
	if err != nil {
		return nil, err
	}
	b := make([]byte, 0, len(raw)+21)
	b = append(binary.AppendUvarint(b, i.epoch), whose)
	return appendText(b, raw), nil
}

// appendHeader appends what stands before the commands of a batch.
func appendHeader(b []byte, m message, commands int) []byte {
	format := byte(messageFormat)
	if m.word != nil {
		format = wordFormat
	}
	b = append(b, format)
	b = append(b, m.cluster[:]...)
	b = append(b, m.node[:]...)
	b = binary.AppendUvarint(b, m.boot)
	b = binary.AppendUvarint(b, m.counter)
	if w := m.word; w != nil {
		b = binary.AppendUvarint(append(b, oneIf(w.beat)), uint64(w.clock))
		b = append(binary.AppendUvarint(b, w.number), w.hash[:]...)
	}
	return binary.AppendUvarint(b, uint64(commands))
}

// Batch returns a message for the log: the commands of a node that takes no part
// otherwise, under the next boot of that node and the first counter. It is how
// an operator's program tells nodes that are stopped.
func Batch(cluster ClusterID, node NodeID, boot uint64, commands ...Command) ([]byte, error) {
	return composed(message{cluster: cluster, node: node, boot: boot, counter: 1}, commands)
}

// Beginning returns the first message of a log, with the clock of who begins it, zero if
// that is not trusted: the log's time is then what a server says.
func Beginning(cluster ClusterID, node NodeID, boot uint64, clock time.Time, commands ...Command) ([]byte, error) {
	w := &word{}
	if !clock.IsZero() {
		w.clock = max(0, clock.UnixNano())
	}
	return composed(message{cluster: cluster, node: node, boot: boot, counter: 1, word: w}, commands)
}

func composed(m message, commands []Command) ([]byte, error) {
	if len(commands) == 0 || len(commands) > maxCommands || m.boot == 0 {
		return nil, fmt.Errorf("%w: %d commands of boot %d", errMessage, len(commands), m.boot)
	}
	b := appendHeader(nil, m, len(commands))
	for _, c := range commands {
		raw, err := item{own: c}.encode()
		if err != nil {
			return nil, err
		}
		b = append(b, raw...)
	}
	return b, nil
}

// Of returns which cluster a message of the log is of.
func Of(message []byte) (ClusterID, error) {
	m, err := parseMessage(message)
	return m.cluster, err
}

// parseMessage reads a message, and refuses bytes that would not have been
// written. The memory that it takes is bounded by a multiple of the length.
func parseMessage(b []byte) (m message, err error) {
	r := newReader(b)
	format := r.Byte()
	if r.Bad || format != messageFormat && format != wordFormat {
		return m, fmt.Errorf("%w: format %d", errMessage, format)
	}
	copy(m.cluster[:], r.Take(uint64(len(m.cluster))))
	m.node = r.nodeID()
	m.boot, m.counter = r.Uvarint(), r.Uvarint()
	if format == wordFormat {
		m.word = r.word()
		r.Bad = r.Bad || m.word.beat && m.counter > 0
	}
	n := r.count(maxCommands)
	if r.Bad || m.boot == 0 || (m.counter == 0) != (n == 0) || n > len(r.Left) {
		return message{}, fmt.Errorf("%w: malformed", errMessage)
	}
	if n > 0 {
		m.items = make([]item, 0, n)
	}
	for i := range n {
		it, err := r.item()
		if err != nil {
			return message{}, fmt.Errorf("%w: command %d: %w", errMessage, i, err)
		}
		m.items = append(m.items, it)
	}
	if !r.ended() {
		return message{}, fmt.Errorf("%w: malformed", errMessage)
	}
	return m, nil
}

func (r *reader) word() *word {
	w := &word{beat: r.bool(), clock: int64(r.count(latestClock)), number: r.Uvarint()}
	copy(w.hash[:], r.Take(uint64(len(w.hash))))
	return w
}

func (r *reader) item() (it item, err error) {
	it.epoch = r.Uvarint()
	whose := r.Byte()
	raw := r.Take(r.Uvarint())
	switch {
	case r.Bad:
		return item{}, errMessage
	case whose == ofCluster:
		it.own, err = parseCommand(raw)
		return it, err
	case whose != ofStore:
		return item{}, errMessage
	}
	e, err := store.ParseCommand(raw)
	if err == nil && e.At != 0 {
		err = errMessage
	}
	it.store = e.Command
	return it, err
}
