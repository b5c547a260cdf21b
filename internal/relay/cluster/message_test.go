package cluster

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"engramd/internal/relay/store"
)

// ownCommands is a command of each type of the cluster, with something in every
// field.
func ownCommands() []Command {
	return []Command{
		Join{Name: "a", Version: 3},
		Strike{Node: NodeID{1, 2}},
		Lease{Epoch: 300},
		Report{Count: 1000, Hash: [32]byte{7}},
		Void{Number: 9, Index: -1},
		Configure{Text: "gate = 1", Live: store.Live{Versions: 5}},
		Raise{Version: 2},
		Heartbeat{Version: 3, Durable: 1 << 40},
		Remove{Node: NodeID{1, 2}},
	}
}

func sample() message {
	m := message{cluster: ClusterID{1, 2}, node: NodeID{3}, boot: 5, counter: 200}
	for i, c := range ownCommands() {
		m.items = append(m.items, item{own: c}, item{epoch: uint64(i), store: say("x")})
	}
	return m
}

// said is a message with a sender's word.
func said(m message) message {
	m.word = &word{clock: 1 << 60, number: 300, hash: trailHash{9}, beat: m.counter == 0}
	return m
}

func mark() message { return message{cluster: ClusterID{1}, node: NodeID{2}, boot: 1} }

func mustEncode(t testing.TB, m message) []byte {
	t.Helper()
	raw, err := m.encode()
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestMessagesComeBack(t *testing.T) {
	for name, m := range map[string]message{"a batch": sample(), "a mark": mark(), "a batch with a word": said(sample()), "a mark with a word": said(mark())} {
		raw := mustEncode(t, m)
		if again, err := parseMessage(raw); err != nil || !reflect.DeepEqual(again, m) {
			t.Errorf("%s: %+v, %v", name, again, err)
		}
		for cut := range len(raw) {
			if _, err := parseMessage(raw[:cut]); !errors.Is(err, errMessage) {
				t.Errorf("%s, cut at %d of %d: %v", name, cut, len(raw), err)
			}
		}
		if _, err := parseMessage(append(raw, 0)); !errors.Is(err, errMessage) {
			t.Errorf("%s and a byte more: %v", name, err)
		}
	}
}

// Every type is among the samples, and no two have the same number.
func TestEveryCommandHasANumber(t *testing.T) {
	seen := map[byte]Command{}
	for _, c := range ownCommands() {
		if other, ok := seen[c.kind()]; ok {
			t.Errorf("%T and %T have one number", c, other)
		}
		seen[c.kind()] = c
	}
	for kind := range byte(255) {
		c := newReader(make([]byte, 200)).command(kind)
		if _, ok := seen[kind]; ok != (c != nil) && kind != (Configure{}).kind() {
			t.Errorf("type %d is %T", kind, c)
		}
	}
}

func TestForeignMessagesAreRefused(t *testing.T) {
	head := func(m message, n int) []byte { return appendHeader(nil, m, n) }
	with := func(b ...byte) []byte { return append(head(sample(), 1), b...) }
	long := mark()
	for name, raw := range map[string][]byte{
		"nothing":                       nil,
		"another format":                append([]byte{3}, mustEncode(t, mark())[1:]...),
		"a word in the first format":    append([]byte{1}, mustEncode(t, said(mark()))[1:]...),
		"no word in the second":         append([]byte{2}, mustEncode(t, mark())[1:]...),
		"a batch that is a heartbeat":   beat(sample()),
		"a clock that none shows":       mustEncode(t, message{boot: 1, word: &word{clock: latestClock + 1}}),
		"a flag that is none":           flagged(2),
		"a mark with commands":          append(head(mark(), 1), 0, ofStore, 0),
		"a batch without":               head(sample(), 0),
		"boot 0":                        head(message{counter: 0}, 0),
		"too many":                      append(head(sample(), maxCommands+1), make([]byte, 4096)...),
		"fewer than said":               head(sample(), 100),
		"neither of store nor cluster":  with(0, 2, 0),
		"a long form of the epoch":      with(0x80, 0, ofCluster, 3, 3, 1, 1),
		"an unknown command":            with(0, ofCluster, 3, 99, 1, 1),
		"another version":               with(0, ofCluster, 3, 3, 2, 1),
		"a command with a byte more":    with(0, ofCluster, 4, 3, 1, 1, 0),
		"a length of 64 bits":           with(0, ofStore, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1),
		"a command of the store at 1":   with(append([]byte{0, ofStore, 6}, mustCommand(t, store.Executed{At: 1, Command: say("x")})...)...),
		"a name that is too long":       with(append([]byte{0, ofCluster, 69, 1, 1, 65}, bytes.Repeat([]byte{'x'}, 66)...)...),
		"no configuration in Configure": with(append([]byte{0, ofCluster, 10, 6, 1, 0, 6}, mustCommand(t, store.Executed{Command: say("x")})...)...),
	} {
		if m, err := parseMessage(raw); !errors.Is(err, errMessage) {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
	}
	if m, err := parseMessage(flagged(0)); err != nil || m.word.beat {
		t.Errorf("the samples themselves are wrong: %v", err)
	}
	if _, err := parseMessage(head(long, 0)); err != nil {
		t.Errorf("the samples themselves are wrong: %v", err)
	}
	for _, c := range []Command{Join{Name: strings.Repeat("x", 65)}, Void{Index: -2}, Void{Index: maxCommands}, Configure{Text: strings.Repeat("x", maxText+1)}, nil} {
		if raw, err := appendCommand(nil, c); err == nil || len(raw) > 0 {
			t.Errorf("%T was encoded though it would not be read", c)
		}
	}
}

// flagged is a mark with a byte where it says whether it is a heartbeat.
func flagged(b byte) []byte {
	m := said(mark())
	m.word.beat = true
	raw, _ := m.encode()
	raw[1+len(m.cluster)+len(m.node)+2] = b
	return raw
}

func beat(m message) []byte {
	m = said(m)
	m.word.beat = true
	raw, _ := m.encode()
	return raw
}

func mustCommand(t testing.TB, e store.Executed) []byte {
	t.Helper()
	raw, err := store.AppendCommand(nil, e)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// A batch that an operator's program encodes equals a node's own.
func TestBatchOfAnOperator(t *testing.T) {
	raw, err := Batch(ClusterID{1}, NodeID{2}, 7, Void{Number: 3, Index: 4})
	if err != nil {
		t.Fatal(err)
	}
	want := message{cluster: ClusterID{1}, node: NodeID{2}, boot: 7, counter: 1, items: []item{{own: Void{Number: 3, Index: 4}}}}
	if m, err := parseMessage(raw); err != nil || !reflect.DeepEqual(m, want) {
		t.Errorf("%+v, %v", m, err)
	}
	if _, err := Batch(ClusterID{1}, NodeID{2}, 7); err == nil {
		t.Error("a batch of nothing")
	}
}

// The encoding is pinned: a change of it needs a new version.
func TestMessageEncodingIsPinned(t *testing.T) {
	var got strings.Builder
	for _, c := range ownCommands() {
		raw, err := appendCommand(nil, c)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(raw)
		fmt.Fprintf(&got, "%T %s\n", c, hex.EncodeToString(sum[:4]))
	}
	m := sample()
	m.items = m.items[:2]
	fmt.Fprintf(&got, "%x\n%x\n", mustEncode(t, m), mustEncode(t, said(mark())))
	if got.String() != pinnedMessages {
		t.Errorf("encodings are now\n%s", got.String())
	}
}

const pinnedMessages = `cluster.Join e4a6359a
cluster.Strike 1e383d8e
cluster.Lease 956897fa
cluster.Report 57fff359
cluster.Void 9eb5b51e
cluster.Configure deb15bda
cluster.Raise 7f76ae89
cluster.Heartbeat 9215575a
cluster.Remove e5de80b6
0101020000000000000000000000000000030000000000000005c801020001050101016103000006011101000178
02010000000000000000000000000000000200000000000000010001808080808080808010ac020900000000000000000000000000000000
`

func FuzzParseMessage(f *testing.F) {
	f.Add(mustEncode(f, sample()))
	f.Add(mustEncode(f, mark()))
	f.Add(mustEncode(f, said(sample())))
	f.Add(mustEncode(f, said(mark())))
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := parseMessage(raw)
		if err != nil {
			return
		}
		if again, err := m.encode(); err != nil || !bytes.Equal(again, raw) {
			t.Fatalf("%x is read as %+v, which is %x (%v)", raw, m, again, err)
		}
	})
}

func FuzzAsk(f *testing.F) {
	q := question{ClusterID{1}, node("a"), 2, 300}
	f.Add(q.append(nil))
	f.Add(answer{q, node("b"), 4, 1 << 40}.append(nil))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if q, err := parseQuestion(raw); err == nil && !bytes.Equal(q.append(nil), raw) {
			t.Fatalf("%x is read as %+v", raw, q)
		}
		if a, err := parseAnswer(raw); err == nil && !bytes.Equal(a.append(nil), raw) {
			t.Fatalf("%x is read as %+v", raw, a)
		}
	})
}

func FuzzState(f *testing.F) {
	f.Add(sampleState().marshal())
	f.Add(provenState().marshal())
	f.Add((&state{}).marshal())
	f.Fuzz(func(t *testing.T, raw []byte) {
		s, err := unmarshalState(raw)
		if err != nil {
			return
		}
		if again := s.marshal(); !bytes.Equal(again, raw) {
			t.Fatalf("%x is read as %+v, which is %x", raw, s, again)
		}
	})
}

// encode returns the encoding of a message.
func (m message) encode() ([]byte, error) {
	b := appendHeader(nil, m, len(m.items))
	for _, it := range m.items {
		raw, err := it.encode()
		if err != nil {
			return nil, err
		}
		b = append(b, raw...)
	}
	return b, nil
}
