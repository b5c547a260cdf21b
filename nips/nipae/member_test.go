package nipae

import (
	"errors"
	"testing"
)

// TestMembers: a member that NIP-AE does not define is kept where it stood,
// replaced, added and taken away, and nothing else of the body changes.
func TestMembers(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		do   func(Body) (Body, error)
		want string
	}{
		"add":      {`{"slug":"mem/a","value":"x"}`, func(b Body) (Body, error) { return b.WithMember("chain", []byte(` {"n": 1 } `)) }, `{"slug":"mem/a","value":"x","chain":{"n":1}}`},
		"replace":  {`{"chain":{"n":1},"slug":"mem/a","z":[1],"value":"x"}`, func(b Body) (Body, error) { return b.WithMember("chain", []byte(`2`)) }, `{"chain":2,"slug":"mem/a","z":[1],"value":"x"}`},
		"take":     {`{"chain":{"n":1},"slug":"mem/a","z":[1],"value":"x"}`, func(b Body) (Body, error) { return b.WithoutMember("chain"), nil }, `{"slug":"mem/a","z":[1],"value":"x"}`},
		"no such":  {`{"slug":"mem/a","value":"x"}`, func(b Body) (Body, error) { return b.WithoutMember("chain"), nil }, `{"slug":"mem/a","value":"x"}`},
		"its slug": {`{"slug":"mem/a","value":"x"}`, func(b Body) (Body, error) { return b.WithoutMember("slug"), nil }, `{"slug":"mem/a","value":"x"}`},
		"of core":  {`{"slug":"core","value":7,"profile":"x"}`, func(b Body) (Body, error) { return b.WithMember("value", []byte("8")) }, `{"slug":"core","value":8,"profile":"x"}`},
	} {
		b, err := ParseBody([]byte(c.in))
		if err != nil {
			t.Fatal(name, err)
		}
		out, err := c.do(b)
		if err != nil {
			t.Fatal(name, err)
		}
		if got, err := out.Bytes(); err != nil || string(got) != c.want {
			t.Errorf("%s: %s, %v", name, got, err)
		}
		if was, err := b.Bytes(); err != nil || string(was) != c.in {
			t.Errorf("%s changed the body itself: %s", name, was)
		}
	}
	b, _ := NewMemory("mem/a", "x")
	for name, value := range map[string]string{"slug": `"mem/b"`, "value": `"y"`, "chain": `{"n":1`} {
		if _, err := b.WithMember(name, []byte(value)); !errors.Is(err, ErrBody) {
			t.Errorf("%s = %s: %v", name, value, err)
		}
	}
	if _, ok := b.Member("value"); ok {
		t.Error("the text is no member to read")
	}
	with, _ := b.WithMember("chain", []byte(`{"n":1}`))
	if raw, ok := with.Member("chain"); !ok || string(raw) != `{"n":1}` {
		t.Errorf("it is %s", raw)
	}
}
