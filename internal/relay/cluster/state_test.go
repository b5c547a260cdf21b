package cluster

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"engramd/internal/relay/store"
)

// script drives a state: each call is a message.
type script struct {
	t *testing.T
	s *state
	n map[NodeID]header
}

func newScript(t *testing.T) *script {
	return &script{t: t, s: &state{cluster: ClusterID{1}}, n: map[NodeID]header{}}
}

func node(name string) (id NodeID) {
	copy(id[:], name)
	return id
}

// at moves the log's time on.
func (s *script) at(d time.Duration) *script {
	s.s.Take(header{}, s.s.number+1, s.s.time+int64(d))
	return s
}

// sends appends a batch with one command, the next one of its node.
func (s *script) sends(name string, c Command) Answer {
	s.t.Helper()
	id := node(name)
	h := s.n[id]
	h.node, h.boot, h.commands = id, max(h.boot, 1), 1
	h.counter++
	h.join = nil
	if j, ok := c.(Join); ok {
		h.join = &j
	}
	s.n[id] = h
	if v := s.s.Take(h, s.s.number+1, s.s.time); v != taken {
		return Answer{Refused: string(v)}
	}
	s.s.Next(0)
	return s.s.Apply(h, c)
}

func (s *script) ok(name string, c Command) Answer {
	s.t.Helper()
	a := s.sends(name, c)
	if a.Refused != "" {
		s.t.Fatalf("%s, %+v: %s", name, c, a.Refused)
	}
	return a
}

func (s *script) refused(name string, c Command) {
	s.t.Helper()
	if a := s.sends(name, c); a.Refused == "" {
		s.t.Fatalf("%s, %+v was not refused", name, c)
	}
}

func (s *script) join(names ...string) *script {
	s.t.Helper()
	for _, name := range names {
		s.ok(name, Join{Name: name, Version: 1})
	}
	return s
}

// sampleState returns a state with something in every field.
func sampleState() *state {
	s := &script{t: &testing.T{}, s: &state{cluster: ClusterID{1}}, n: map[NodeID]header{}}
	s.at(time.Hour)
	s.join("b", "a", "c")
	s.ok("a", Lease{Epoch: 1})
	s.ok("a", Configure{Text: "x"})
	s.ok("a", Raise{Version: 1})
	s.ok("a", Report{Count: 1000, Hash: [32]byte{3}})
	s.at(31 * time.Minute)
	s.ok("a", Heartbeat{Version: 1, Durable: 3})
	s.ok("a", Strike{Node: node("c")})
	s.s.honour(store.LogPlace{Number: 3, Index: -1})
	for i := range checkEvery {
		s.s.chain.Seal(store.Done{Place: store.LogPlace{Number: 9, Index: i % maxCommands}})
	}
	return s.s
}

// provenState is one with something in every field of proofVersion.
func provenState() *state {
	s := &script{t: &testing.T{}, s: sampleState(), n: map[NodeID]header{}}
	for _, name := range []string{"a", "b"} {
		i, _ := s.s.find(node(name))
		s.n[node(name)] = header{boot: 1, counter: s.s.members[i].counter}
		s.ok(name, Heartbeat{Version: proofVersion})
	}
	s.ok("a", Raise{Version: proofVersion})
	for range 5 {
		s.at(time.Second)
		h := header{node: node("b"), boot: 1, word: s.s.saying(s.s.time+7, true), sum: [32]byte{8}}
		s.s.Take(h, s.s.number+1, s.s.time)
	}
	s.s.Take(header{node: node("a"), boot: 1, word: &word{number: 1 << 50}}, s.s.number+1, s.s.time)
	s.s.members[1].silenced = true
	s.ok("d", Join{Name: "d", Version: proofVersion})
	return s.s
}

func TestBatchesAreTakenByTheirCounters(t *testing.T) {
	h := func(name string, boot, counter uint64) header {
		return header{node: node(name), boot: boot, counter: counter, commands: 1}
	}
	join := func(name string, boot, counter uint64) header {
		j := h(name, boot, counter)
		j.join = &Join{Name: name}
		return j
	}
	s := &state{}
	for i, c := range []struct {
		h    header
		want verdict
	}{
		{h("a", 1, 1), voidMember},
		{join("a", 3, 2), voidGap},
		{join("a", 3, 1), taken},
		{join("a", 3, 1), voidRepeat},
		{h("a", 3, 2), taken},
		{h("a", 3, 4), voidGap},
		{h("a", 3, 2+mostUnread), voidGap},
		{h("a", 3, 3+mostUnread), voidMissed},
		{h("a", 3, 2), voidRepeat},
		{h("a", 3, 1), voidRepeat},
		{h("a", 3, 3), taken},
		{h("a", 3, 0), isMark},
		{h("b", 3, 0), isMark},
		{h("a", 2, 1), voidBoot},
		{h("a", 2, 4), voidBoot},
		{h("a", 5, 4), voidMissed},
		{h("a", 5, 2), voidMissed},
		{h("a", 5, 1), taken},
		{h("a", 3, 4), voidBoot},
		{h("a", 4, 1), voidBoot},
		{h("a", 5, 2), taken},
		{join("b", 1, 1), taken},
		{h("b", 1, 2), taken},
	} {
		before := s.clone()
		if got := s.Take(c.h, uint64(i+1), int64(i)); got != c.want {
			t.Errorf("%d: %+v is %s, want %s", i, c.h, got, c.want)
		}
		if c.want == taken {
			continue
		}
		if before.pass(&header{}, uint64(i+1), int64(i)); !bytes.Equal(before.marshal(), s.marshal()) {
			t.Errorf("%d: what is void changed more than the place and the time", i)
		}
	}
	if s.Take(h("a", 0, 0), 100, 3); s.time != 22 {
		t.Errorf("time went back to %d", s.time)
	}
}

func TestLease(t *testing.T) {
	s := newScript(t).at(time.Hour).join("a", "b")
	s.refused("a", Lease{Epoch: 2})
	s.refused("a", Lease{Epoch: 0})
	if a := s.ok("a", Lease{Epoch: 1}); a.Epoch != 1 {
		t.Errorf("epoch %d", a.Epoch)
	}
	s.at(9*time.Second).refused("b", Lease{Epoch: 2})
	s.ok("a", Lease{Epoch: 1})
	s.at(9*time.Second).refused("b", Lease{Epoch: 2})
	if s.s.leads(node("b"), 1, s.s.time) || !s.s.leads(node("a"), 1, s.s.time) || s.s.leads(node("a"), 2, s.s.time) {
		t.Error("a does not lead, or another one does")
	}
	s.at(time.Second)
	if s.s.leads(node("a"), 1, s.s.time) {
		t.Error("it does not end after 10 s")
	}
	s.ok("b", Lease{Epoch: 2})
	s.refused("a", Lease{Epoch: 1}) // a renewal that comes late
	s.refused("a", Lease{Epoch: 2})
	if s.s.Next(1) || !s.s.Next(2) || s.s.Next(3) || !s.s.Next(0) {
		t.Error("commands of another epoch are not void, or of this one are")
	}
	s.at(time.Minute).ok("b", Lease{Epoch: 2}) // nobody has taken it
	h := s.n[node("b")]
	h.boot, h.counter = 2, 0
	s.n[node("b")] = h
	s.refused("b", Lease{Epoch: 2}) // it is another process
	s.ok("b", Lease{Epoch: 3})
}

// An operator's word, or the node's own, ends a membership at once, and a lease with it.
func TestRemove(t *testing.T) {
	s := newScript(t).at(time.Hour)
	for _, name := range []string{"a", "b", "c", "d"} {
		s.ok(name, Join{Name: name, Version: proofVersion})
	}
	s.refused("a", Remove{Node: node("d")}) // others could not read it yet
	s.ok("a", Raise{Version: proofVersion})
	s.ok("c", Lease{Epoch: 1})
	s.refused("a", Remove{Node: node("x")})
	s.ok("a", Remove{Node: node("d")})
	s.refused("a", Lease{Epoch: 2})
	s.ok("c", Remove{Node: node("c")})
	s.ok("a", Lease{Epoch: 2})
	if len(s.s.members) != 2 {
		t.Errorf("%d members", len(s.s.members))
	}
	if kept, err := unmarshalState(s.s.marshal()); err != nil || !slices.Equal(kept.removed, []NodeID{node("d"), node("c")}) {
		t.Errorf("taken out: %v, %v", kept.removed, err)
	}
	for _, name := range []string{"c", "d"} {
		s.n[node(name)] = header{boot: 9}
		if a := s.sends(name, Join{Name: name, Version: proofVersion}); a.Refused != string(voidStruck) {
			t.Errorf("%s is back: %+v", name, a)
		}
	}
}

func TestStrike(t *testing.T) {
	s := newScript(t).at(time.Hour).join("a", "b", "c")
	s.refused("a", Strike{Node: node("x")})
	s.at(29*time.Minute).ok("c", Heartbeat{Version: 1})
	s.refused("a", Strike{Node: node("b")})
	s.at(time.Minute).ok("a", Strike{Node: node("b")})
	s.refused("a", Strike{Node: node("c")})
	if a := s.sends("b", Heartbeat{}); a.Refused != string(voidMember) && a.Refused != string(voidStruck) {
		t.Errorf("who was struck out: %+v", a)
	}
	s.n[node("b")] = header{boot: 9}
	if a := s.sends("b", Join{Name: "b"}); a.Refused != string(voidStruck) {
		t.Errorf("joining again under the same id: %+v", a)
	}
	s.join("d")
}

func TestVersionIsRaisedWithAll(t *testing.T) {
	s := newScript(t).at(time.Hour).join("a", "b")
	s.ok("a", Raise{Version: 1})
	s.ok("a", Heartbeat{Version: 2})
	s.refused("a", Raise{Version: 2})
	s.ok("b", Heartbeat{Version: 3})
	s.ok("a", Raise{Version: 2})
	s.refused("a", Raise{Version: 2})
	if a := s.sends("c", Join{Version: 1}); a.Refused != string(voidVersion) {
		t.Errorf("an old program joins: %+v", a)
	}
	s.ok("d", Join{Version: 2})
}

func TestMembersAreBounded(t *testing.T) {
	s := newScript(t).at(time.Hour)
	for i := range mostMembers {
		s.join(fmt.Sprint(i))
	}
	s.refused("one more", Join{})
	if again, err := unmarshalState(s.s.marshal()); err != nil || len(again.members) != mostMembers {
		t.Errorf("%v", err)
	}
}

// Messages may be trimmed an hour after all members have made them durable.
func TestTrimmable(t *testing.T) {
	s := newScript(t).at(time.Hour).join("a", "b")
	for range 59 {
		s.at(time.Minute)
		s.ok("a", Heartbeat{Durable: s.s.number})
		s.ok("b", Heartbeat{Durable: s.s.number})
	}
	if n := s.s.trimmable(); n > 1 {
		t.Errorf("%d of the last hour", n)
	}
	for range 20 {
		s.at(time.Minute)
		s.ok("a", Heartbeat{Durable: s.s.number})
	}
	before := s.s.number
	if n := s.s.trimmable(); n < 20 || n > before/2 {
		t.Errorf("%d of %d after an hour and 20 minutes", n, before)
	}
	s.s.members[1].durable = 7
	if n := s.s.trimmable(); n != 8 {
		t.Errorf("%d, though one needs what is behind 7", n)
	}
}

func TestHashesAreCompared(t *testing.T) {
	right, wrong, other := [32]byte{1}, [32]byte{2}, [32]byte{3}
	for _, c := range []struct {
		name    string
		own     [32]byte
		reports string // r, w or o for each member, - for none yet, x for none, and not alive
		want    error
	}{
		{"all agree", right, "rrr", nil},
		{"too few", right, "w--", nil},
		{"nobody else yet", right, "r--", nil},
		{"a majority differs", right, "rww", ErrDiffers},
		{"a majority agrees", right, "rrw", nil},
		{"a majority of members, not of reports", right, "-ww", ErrDiffers},
		{"one is dead", right, "xww", ErrDiffers},
		{"a half is none", right, "rrww", ErrDisagree},
		{"a half, and one is to come", right, "rrww-", nil},
		{"a half, and one is dead", right, "rrwwx", ErrDisagree},
		{"all differ", right, "rwo", ErrDisagree},
		{"two are dead", right, "rxx", nil},
		{"a majority of those who live agrees", right, "rrwx", nil},
		{"a majority of those who live differs", wrong, "wrrx", ErrDiffers},
		{"a majority of those who live, and one is to come", wrong, "wrr-x", nil},
		{"more are dead than live", wrong, "wrrxxxx", ErrDiffers},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScript(t).at(time.Hour)
			for i := range c.reports {
				s.join(fmt.Sprint(i))
			}
			s.at(31 * time.Second)
			for i, r := range c.reports {
				name := fmt.Sprint(i)
				switch hash, said := map[rune][32]byte{'r': right, 'w': wrong, 'o': other}[r]; {
				case said:
					s.ok(name, Report{Count: 1000, Hash: hash})
				case r == '-':
					s.ok(name, Heartbeat{})
				}
			}
			s.s.chain.checks = []check{{1000, c.own, store.LogPlace{Number: 77, Index: 5}}}
			err := s.s.disagreement()
			if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
				t.Errorf("%v, want %v", err, c.want)
			}
			if c.want == ErrDiffers && (!strings.Contains(err.Error(), "1000 commands") || !strings.Contains(err.Error(), "message 77, command 5")) {
				t.Errorf("%v does not say where", err)
			}
		})
	}
}

func TestChain(t *testing.T) {
	seal := func(change func(*store.Done)) [32]byte {
		c := &chain{}
		for i := range 3 {
			d := store.Done{Place: store.LogPlace{Number: 1, Index: i}, Digest: [32]byte{byte(i)}}
			if i == 1 {
				change(&d)
			}
			c.Seal(d)
		}
		return c.hash
	}
	same := seal(func(*store.Done) {})
	for name, change := range map[string]func(*store.Done){
		"number":  func(d *store.Done) { d.Place.Number++ },
		"index":   func(d *store.Done) { d.Place.Index = 7 },
		"outcome": func(d *store.Done) { d.Outcome = store.Refused },
		"digest":  func(d *store.Done) { d.Digest[31] = 9 },
	} {
		if seal(change) == same {
			t.Errorf("another %s gives the same hash", name)
		}
	}
	c := &chain{}
	for i := range 7 * checkEvery {
		c.Seal(store.Done{Place: store.LogPlace{Number: uint64(i)}})
	}
	if len(c.checks) != mostChecks || c.checks[mostChecks-1].count != 7000 || c.checks[mostChecks-1].hash != c.hash {
		t.Errorf("checks %+v", c.checks)
	}
	for n := range uint64(9) {
		c.report(node("a"), Report{Count: n * 1000})
		c.report(node("b"), Report{Count: n * 1000})
	}
	if len(c.reports) != 2*mostChecks || c.reports[0].count != 5000 {
		t.Errorf("reports %+v", c.reports)
	}
	if list := c.unreported(node("c")); len(list) != 3 || list[0].count != 5000 {
		t.Errorf("unreported %+v", list)
	}
	if list := c.unreported(node("a")); len(list) != 0 {
		t.Errorf("reported already %+v", list)
	}
}

// The stored state must be the same on all nodes, whatever the version of the
// program.
var pinnedStates = map[string]string{"full": "9db342bafc79f7dc", "proven": "215a59b3ca803a00"}

func TestStatesComeBack(t *testing.T) {
	for name, s := range map[string]*state{"full": sampleState(), "new": {}, "proven": provenState()} {
		raw := s.marshal()
		again, err := unmarshalState(raw)
		if err != nil || !reflect.DeepEqual(again.clone(), s.clone()) || !bytes.Equal(again.marshal(), raw) {
			t.Errorf("%s: %v\n%+v\n%+v", name, err, again, s)
		}
		if sum := sha256.Sum256(raw); name != "new" && hex.EncodeToString(sum[:8]) != pinnedStates[name] {
			t.Errorf("the encoding, or the chain, is now another one: %x", sum[:8])
		}
		for cut := range len(raw) {
			if _, err := unmarshalState(raw[:cut]); !errors.Is(err, ErrState) {
				t.Errorf("%s, cut at %d: %v", name, cut, err)
			}
		}
		if _, err := unmarshalState(append(raw, 0)); !errors.Is(err, ErrState) {
			t.Errorf("%s and a byte more: %v", name, err)
		}
	}
}

// A copy shares no memory with its original.
func TestCloneIsACopy(t *testing.T) {
	s := provenState()
	raw := s.marshal()
	c := s.clone()
	c.trail.last[0][0]++
	c.members[0].counter++
	c.struck[0][0]++
	c.past[0].number++
	c.voided[0].Number++
	c.chain.checks[0].count++
	c.chain.reports[0].hash[0]++
	if !bytes.Equal(s.marshal(), raw) {
		t.Error("a change of the copy has changed the state")
	}
}
