package nip77

import "errors"

// ErrVersion means that the other side speaks another version of the protocol.
var ErrVersion = errors.New("the other side speaks another version of negentropy")

// Initiator is the side that asks. It remembers what it told: where an answer was
// full, ranges that are done come again. The other side may answer for ever
// without ever being done: whoever uses an Initiator bounds the number of
// messages. One goroutine at a time may use it.
type Initiator struct {
	set   *Set
	limit int
	have  []uint64 // a bit for each item that was told
	need  map[[idSize]byte]struct{}
}

// NewInitiator asks on behalf of a set, with messages of at most limit bytes;
// less than MinLimit is taken as that.
func NewInitiator(set *Set, limit int) *Initiator {
	return &Initiator{
		set: set, limit: max(limit, MinLimit),
		have: make([]uint64, set.Len()/64+1), need: map[[idSize]byte]struct{}{},
	}
}

// Open is the first message.
func (i *Initiator) Open() []byte {
	r := reconciling{set: i.set, out: writer{out: []byte{Version}}}
	r.split(len(i.set.items), bound{Item: Item{CreatedAt: infinity}})
	return r.out.out
}

// Next takes an answer and returns the next message, which is nil when all is
// told, and what this answer told: the ids that only this side has, and those
// that only the other has. No id is told twice.
func (i *Initiator) Next(msg []byte) (reply []byte, have, need [][32]byte, err error) {
	if len(msg) == 1 && msg[0] != Version {
		return nil, nil, nil, ErrVersion
	}
	reply, err = i.set.reconcile(msg, i.limit, func(lower, upper int, theirs []byte) {
		h, n := i.differ(lower, upper, theirs)
		have, need = append(have, h...), append(need, n...)
	})
	if err != nil {
		return nil, nil, nil, err
	}
	if len(reply) == 1 {
		reply = nil
	}
	return reply, have, need, nil
}

// differ compares one range with what the other side lists in it.
func (i *Initiator) differ(lower, upper int, theirs []byte) (have, need [][idSize]byte) {
	known := make(map[[idSize]byte]bool, len(theirs)/idSize) // whether we have it
	for at := 0; at < len(theirs); at += idSize {
		known[[idSize]byte(theirs[at:])] = false
	}
	for k := lower; k < upper; k++ {
		id := i.set.items[k].ID
		if _, ok := known[id]; ok {
			known[id] = true
			continue
		}
		if word, bit := &i.have[k/64], uint64(1)<<(k%64); *word&bit == 0 {
			*word |= bit
			have = append(have, id)
		}
	}
	for at := 0; at < len(theirs); at += idSize {
		id := [idSize]byte(theirs[at:])
		if _, told := i.need[id]; !told && !known[id] {
			i.need[id] = struct{}{}
			need = append(need, id)
		}
	}
	return have, need
}
