package websocket

import (
	"bytes"
	"errors"
	"sync/atomic"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay"
)

// job is one message on its way from the reader through the inbox to effects.
type job struct {
	raw   []byte // until it is parsed
	size  int    // what it counts in the inbox
	fault string // what is wrong with the message itself, with its prefix; raw is then its beginning

	// The following are set by the pool or by effects, before parsed.
	frame wire.Frame
	err   error // of parsing: *wire.FrameError
	sig   error // of verification; for EVENT only

	owner  *conn       // whose it is, for the pool
	work   func()      // what the pool is to do instead of parsing
	pooled bool        // the verification pool parses it
	parsed atomic.Bool // the fields above may be read
}

// jobBytes is what a message holds beside its text.
const jobBytes = 256

// weight returns the most that a message holds in memory, in bytes: its text,
// and what becomes of it when it is parsed, where a string takes 16 bytes and a
// list 24, however short they are.
func (j *job) weight() int {
	strings := bytes.Count(j.raw, []byte{'"'}) / 2
	lists := bytes.Count(j.raw, []byte{'['})
	n := jobBytes + len(j.raw) + 16*strings + 24*lists
	return n + n/8 // lists have room to grow
}

// parse reads the frame and, when it is an EVENT, checks id and signature.
func (j *job) parse(v *wire.Verifier) {
	j.frame, j.err = wire.ParseFrame(j.raw, wireLimits)
	j.raw = nil
	if j.err == nil && j.frame.Label == wire.LabelEvent {
		j.sig = v.Verify(j.frame.Event)
	}
}

// looksLikeEvent reports whether a message starts as EVENTs are usually
// written. It only decides where the message is parsed, so it may err.
func looksLikeEvent(raw []byte) bool {
	rest := bytes.TrimLeft(raw, " \t\r\n")
	if len(rest) == 0 || rest[0] != '[' {
		return false
	}
	return bytes.HasPrefix(bytes.TrimLeft(rest[1:], " \t\r\n"), []byte(`"EVENT"`))
}

// label returns what kind of frame it is, or was meant to be; "" when that is
// unknown.
func (j *job) label() string {
	var f *wire.FrameError
	if errors.As(j.err, &f) {
		return f.Label
	}
	return j.frame.Label
}

// What a subscription holds in memory, in bytes: measured (footprint_test.go)
// and rounded up. A value is counted with its number, its entry in the lists of
// the subscription and in the index; its text lies beside others of its list.
const (
	holdsSubscription = 1 << 10
	holdsFilter       = 512
	holdsValue        = 112
)

// footprint returns the bytes that a subscription to filters holds.
func footprint(granted []relay.Granted) int64 {
	n := holdsSubscription
	for i := range granted {
		f := &granted[i].Filter
		if !isLive(f) {
			continue
		}
		n += holdsFilter + len(f.Kinds)*holdsValue
		for _, list := range [][]string{f.IDs, f.Authors} {
			n += listFootprint(list)
		}
		for _, list := range f.Tags {
			n += listFootprint(list)
		}
	}
	return int64(n)
}

func listFootprint(list []string) (n int) {
	for _, v := range list {
		n += holdsValue + len(v)
	}
	return n
}
