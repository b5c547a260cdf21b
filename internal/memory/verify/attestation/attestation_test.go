package attestation

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/internal/protocol/writerlog"
)

const secret = "0000000000000000000000000000000000000000000000000000000000000001"

var one = Attestation{W: "4f1c22ab", N: 3, Root: sha256.Sum256([]byte("root")), Heads: sha256.Sum256([]byte("heads")), At: 1_763_900_000}

// signed signs an attestation's event as some change leaves it.
func signed(t testing.TB, a Attestation, change func(*nostr.Event)) []byte {
	t.Helper()
	ev := a.Event()
	if change != nil {
		change(ev)
	}
	if err := ev.Sign(secret); err != nil {
		t.Fatal(err)
	}
	return wire.AppendEvent(nil, ev)
}

// TestRoundTrip: what was signed is read, and the event has nothing else.
func TestRoundTrip(t *testing.T) {
	text := signed(t, one, nil)
	got, err := Parse(append([]byte(" \n"), append(text, '\n')...))
	if err != nil {
		t.Fatal(err)
	}
	pub, _ := nostr.GetPublicKey(secret)
	want := one
	want.Agent, want.ID = pub, got.ID
	if got != want || len(got.ID) != 64 {
		t.Errorf("%+v, want %+v", got, want)
	}
	ev, _ := wire.ParseEvent(text)
	tags := fmt.Sprint(ev.Tags)
	if want := fmt.Sprintf("[[d engram-attest:4f1c22ab] [n 3] [root %x] [heads_root %x]]", one.Root[:], one.Heads[:]); tags != want || ev.Content != "" || ev.Kind != 30078 {
		t.Errorf("kind %d, tags %s, content %q", ev.Kind, tags, ev.Content)
	}
}

// TestForm: what is shaped otherwise is no attestation, whoever signed it.
func TestForm(t *testing.T) {
	tag := func(i int, value string) func(*nostr.Event) {
		return func(ev *nostr.Event) { ev.Tags[i][1] = value }
	}
	for name, change := range map[string]func(*nostr.Event){
		"kind":          func(ev *nostr.Event) { ev.Kind = 30079 },
		"content":       func(ev *nostr.Event) { ev.Content = "and I am well" },
		"one more tag":  func(ev *nostr.Event) { ev.Tags = append(ev.Tags, nostr.Tag{"p", ev.PubKey}) },
		"one tag fewer": func(ev *nostr.Event) { ev.Tags = ev.Tags[:3] },
		"no tags":       func(ev *nostr.Event) { ev.Tags = nostr.Tags{} },
		"order":         func(ev *nostr.Event) { ev.Tags[1], ev.Tags[2] = ev.Tags[2], ev.Tags[1] },
		"two values":    func(ev *nostr.Event) { ev.Tags[1] = nostr.Tag{"n", "3", "4"} },
		"no value":      func(ev *nostr.Event) { ev.Tags[1] = nostr.Tag{"n"} },
		"twice":         func(ev *nostr.Event) { ev.Tags[3] = ev.Tags[2] },
		"approvals":     tag(0, "engramd/agents"),
		"no log":        tag(0, "engram-attest:"),
		"long log":      tag(0, "engram-attest:4f1c22ab0"),
		"upper log":     tag(0, "engram-attest:4F1C22AB"),
		"n 0":           tag(1, "0"),
		"n below 0":     tag(1, "-3"),
		"n plus":        tag(1, "+3"),
		"n 03":          tag(1, "03"),
		"n too great":   tag(1, "9007199254740993"),
		"n beyond":      tag(1, "99999999999999999999"),
		"n in words":    tag(1, "three"),
		"short root":    tag(2, "abcd"),
		"upper root":    tag(2, strings.Repeat("AB", 32)),
		"heads no hex":  tag(3, strings.Repeat("zz", 32)),
		"too long":      func(ev *nostr.Event) { ev.Content = strings.Repeat("x", MaxBytes) },
	} {
		if _, err := Parse(signed(t, one, change)); !errors.Is(err, ErrForm) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, text := range []string{"", "{}", "[]", "null", string(signed(t, one, nil)) + "{}"} {
		if _, err := Parse([]byte(text)); !errors.Is(err, ErrForm) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestSignature: each value stands under the signature.
func TestSignature(t *testing.T) {
	text := string(signed(t, one, nil))
	for name, in := range map[string]string{
		"n":          strings.Replace(text, `"n","3"`, `"n","4"`, 1),
		"root":       strings.Replace(text, hex.EncodeToString(one.Root[:]), hex.EncodeToString(one.Heads[:]), 1),
		"writer":     strings.Replace(text, one.W, "00000000", 1),
		"created_at": strings.Replace(text, "1763900000", "1763900001", 1),
	} {
		if in == text {
			t.Fatalf("%s: nothing was changed", name)
		}
		if _, err := Parse([]byte(in)); !errors.Is(err, ErrSignature) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// ids are made-up ids of events.
func ids(n int) (all []writerlog.Hash) {
	for i := range n {
		all = append(all, sha256.Sum256(fmt.Append(nil, i)))
	}
	return all
}

func rootOf(all []writerlog.Hash) writerlog.Hash {
	var tree writerlog.Tree
	for _, id := range all {
		tree.Append(id)
	}
	return tree.Root(tree.Size())
}

// TestCheck: today's log continues the one that was attested, or does not, or it
// cannot be told.
func TestCheck(t *testing.T) {
	all := ids(40)
	other := slices.Clone(all)
	other[4] = sha256.Sum256([]byte("rewritten"))
	for name, c := range map[string]struct {
		at   int
		log  Log
		want error
	}{
		"the same":                    {40, Log{all, -1, true}, nil},
		"it grew":                     {7, Log{all, -1, true}, nil},
		"from one":                    {1, Log{all, -1, false}, nil},
		"before what changed":         {4, Log{other, -1, true}, nil},
		"rewritten":                   {5, Log{other, -1, true}, ErrInconsistent},
		"rewritten, of the same size": {40, Log{other, -1, false}, ErrInconsistent},
		"rolled back":                 {9, Log{all[:8], -1, true}, ErrInconsistent},
		"its own record is empty":     {9, Log{nil, -1, true}, ErrInconsistent},
		"not enough is known":         {9, Log{all[:8], -1, false}, ErrUnknown},
		"nothing is known":            {9, Log{nil, -1, false}, ErrUnknown},
		"forked before":               {9, Log{all, 8, false}, ErrInconsistent},
		"forked since":                {9, Log{all, 9, false}, nil},
	} {
		a := Attestation{W: "4f1c22ab", N: int64(c.at), Root: rootOf(all[:c.at])}
		root, err := Check(a, c.log)
		if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if want := rootOf(c.log.IDs); root != hex.EncodeToString(want[:]) {
			t.Errorf("%s: root %s", name, root)
		}
	}
}

// TestKnown: ids come from events, from what they say of others, and from units;
// a gap ends them, and two of one number are a fork.
func TestKnown(t *testing.T) {
	all := ids(12)
	text := func(i int) string { return hex.EncodeToString(all[i][:]) }
	events := map[string]writerlog.Event{
		text(0): {Link: &writerlog.Link{W: "4f1c22ab", N: 0}},
		text(2): {Link: &writerlog.Link{W: "4f1c22ab", N: 2, Prev: text(1)}},
		text(5): {Link: &writerlog.Link{W: "4f1c22ab", N: 5, Prev: text(4), Void: []writerlog.Num{{N: 3, ID: text(3)}}}},
		text(8): {Link: &writerlog.Link{W: "00000000", N: 1, Prev: text(9)}}, // another log
		text(9): {Link: &writerlog.Link{W: "00000000", N: 0, After: []writerlog.Head{{W: "4f1c22ab", N: 6, ID: text(6)}}}},
		text(7): {}, // in no log
	}
	units := []writerlog.Unit{{W: "00000000", First: 0, IDs: all[7:8]}}
	if got := Known("4f1c22ab", events, units); !slices.Equal(got.IDs, all[:7]) || got.Fork != -1 || got.Own {
		t.Errorf("%d ids, fork %d", len(got.IDs), got.Fork)
	}
	if got := Known("00000000", events, units); got.Fork != 0 {
		t.Errorf("two ids of number 0: fork %d", got.Fork)
	}
	delete(events, text(5))
	if got := Known("4f1c22ab", events, nil); len(got.IDs) != 3 {
		t.Errorf("behind a gap: %d ids", len(got.IDs))
	}
	units = []writerlog.Unit{{W: "4f1c22ab", First: 0, IDs: all[:5]}, {W: "4f1c22ab", First: 5, Void: []writerlog.Num{{N: 5, ID: text(5)}}}}
	if got := Known("4f1c22ab", nil, units); !slices.Equal(got.IDs, all[:6]) {
		t.Errorf("from units: %d ids", len(got.IDs))
	}
	far := map[string]writerlog.Event{text(0): {Link: &writerlog.Link{W: "4f1c22ab", N: 1 << 52, Prev: text(1)}}}
	if got := Known("4f1c22ab", far, nil); len(got.IDs) != 0 {
		t.Errorf("a number far ahead gives %d ids", len(got.IDs))
	}
}

// FuzzParse: whatever comes, what is read is what the event says.
func FuzzParse(f *testing.F) {
	f.Add(signed(f, one, nil))
	f.Add(signed(f, one, func(ev *nostr.Event) { ev.Tags[1][1] = "03" }))
	f.Add([]byte(`{"kind":30078,"tags":[["d"]]}`))
	f.Add([]byte("{}"))
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := Parse(b)
		if err != nil {
			if !errors.Is(err, ErrForm) && !errors.Is(err, ErrSignature) || a != (Attestation{}) {
				t.Fatalf("%+v, %v", a, err)
			}
			return
		}
		ev, err := wire.ParseEvent([]byte(strings.TrimSpace(string(b))))
		if err != nil {
			t.Fatal(err)
		}
		again := a.Event()
		again.PubKey, again.ID, again.Sig = ev.PubKey, ev.ID, ev.Sig
		if string(wire.AppendEvent(nil, again)) != string(wire.AppendEvent(nil, ev)) || a.N < 1 {
			t.Fatalf("%s gives %+v", b, a)
		}
		_, _ = Check(a, Log{Fork: -1})
	})
}
