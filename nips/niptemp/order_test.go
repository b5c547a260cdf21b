package niptemp

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
)

// linesOf are the lines of items.
func linesOf(t testing.TB, items []OrderItem) string {
	t.Helper()
	var b strings.Builder
	for _, i := range items {
		id, err := hex.DecodeString(i.ID)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(OrderLine(i.N, i.ReceivedAt, id))
	}
	return b.String()
}

var someOrder = []OrderItem{{1, 1_767_225_600, strings.Repeat("a", 64)}, {2, 1_767_225_600, ""}, {4, 0, strings.Repeat("b", 64)}}

func TestCheckOrder(t *testing.T) {
	lines := linesOf(t, someOrder)
	if want := "1 1767225600 " + strings.Repeat("a", 64) + "\n2 1767225600 -\n4 0 " + strings.Repeat("b", 64) + "\n"; lines != want {
		t.Fatalf("the lines are %q", lines)
	}
	sum := sha256.Sum256([]byte(lines))
	good := func() *nostr.Event {
		ev := OrderEvent("c", hex.EncodeToString(sum[:]), 1)
		return &ev
	}
	got, err := CheckOrder(good(), "c", lines)
	if err != nil || fmt.Sprint(got) != fmt.Sprint(someOrder) {
		t.Fatalf("%v (%v)", got, err)
	}
	for name, wrong := range map[string]func(*nostr.Event){
		"another kind":     func(ev *nostr.Event) { ev.Kind = 1 },
		"another contract": func(ev *nostr.Event) { ev.Tags[1][1] = "d" },
		"another format":   func(ev *nostr.Event) { ev.Tags[0][1] = "engramd-order-v2" },
		"two formats":      func(ev *nostr.Event) { ev.Tags = append(ev.Tags, nostr.Tag{"format", OrderFormat}) },
		"no format":        func(ev *nostr.Event) { ev.Tags = ev.Tags[1:] },
		"another hash":     func(ev *nostr.Event) { ev.Tags[2][1] = strings.Repeat("0", 64) },
		"no hash":          func(ev *nostr.Event) { ev.Tags = ev.Tags[:2] },
	} {
		ev := good()
		wrong(ev)
		if _, err := CheckOrder(ev, "c", lines); err == nil {
			t.Errorf("an order with %s passes", name)
		}
	}
	if _, err := CheckOrder(good(), "c", lines[:len(lines)-1]); err == nil {
		t.Error("an order of other lines passes")
	}
}

func TestParseOrderRefuses(t *testing.T) {
	a := strings.Repeat("a", 64)
	for _, lines := range []string{
		"1 2 -", "1 2\n", "1  2 -\n", " 1 2 -\n", "1 2 - \n", "01 2 -\n", "-1 2 -\n", "0 2 -\n", "1 -2 -\n", "1 2 x\n", "1 2 " + a[1:] + "\n",
		"1 2 " + strings.ToUpper(a) + "\n", "2 2 -\n1 2 -\n", "1 2 -\n1 2 -\n", "1 2 " + a + "\n2 2 " + a + "\n", "\n", "1 2 -\r\n", "9223372036854775808 2 -\n",
	} {
		if items, err := ParseOrder(lines); err == nil {
			t.Errorf("%q is %v", lines, items)
		}
	}
	if items, err := ParseOrder(""); err != nil || len(items) != 0 {
		t.Errorf("no lines are %v (%v)", items, err)
	}
}

// What is read as an order is written the same.
func FuzzParseOrder(f *testing.F) {
	f.Add(linesOf(f, someOrder))
	f.Add("1 2 -\n")
	f.Add("1 2 -")
	f.Fuzz(func(t *testing.T, lines string) {
		items, err := ParseOrder(lines)
		if err == nil && linesOf(t, items) != lines {
			t.Errorf("%q is read as %v", lines, items)
		}
	})
}

// FuzzSucceed: a key follows only by the statement of one that is known.
func FuzzSucceed(f *testing.F) {
	a, b := strings.Repeat("a", 64), strings.Repeat("b", 64)
	f.Add(KindOrder, a, "format", HandoverFormat, "p", b)
	f.Add(KindOrder, b, "format", HandoverFormat, "p", a)
	f.Add(1, a, "", "", "p", "")
	f.Fuzz(func(t *testing.T, kind int, author, name1, value1, name2, value2 string) {
		ev := &nostr.Event{Kind: kind, PubKey: author, Tags: nostr.Tags{{name1, value1}, {name2, value2}, {}}}
		got := Succeed([]string{a}, []*nostr.Event{ev, ev})
		if got[0] != a || len(got) > 1 && (author != a && author != got[1] || kind != KindOrder || len(got[1]) != 64) {
			t.Fatalf("%v by %+v", got, ev)
		}
	})
}
