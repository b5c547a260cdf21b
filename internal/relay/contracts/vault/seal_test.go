package vault

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

func mustNew(tb testing.TB, first byte) *Vault {
	tb.Helper()
	v, err := New(append([]byte{first}, bytes.Repeat([]byte{7}, KeySize-1)...), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

func mustSeal(tb testing.TB, v *Vault, row []byte, plain string) []byte {
	tb.Helper()
	sealed, err := v.Seal([]byte(plain), row)
	if err != nil {
		tb.Fatal(err)
	}
	return sealed
}

func TestSealOpensInItsRowOnly(t *testing.T) {
	v, row := mustNew(t, 1), Row("entries", "content", "mem_1", "contract")
	for _, plain := range []string{"", "x", strings.Repeat("verify this ", 10_000)} {
		sealed := mustSeal(t, v, row, plain)
		if len(sealed) != len(plain)+Overhead || len(plain) > 1 && bytes.Contains(sealed, []byte(plain[:8])) {
			t.Errorf("%d bytes sealed as %d", len(plain), len(sealed))
		}
		got, err := v.Open(sealed, row)
		if err != nil || string(got) != plain {
			t.Errorf("opened %q, %v", got, err)
		}
		if again := mustSeal(t, v, row, plain); bytes.Equal(again, sealed) {
			t.Error("sealed twice, the same bytes")
		}
		for _, other := range [][]byte{nil, Row("entries"), Row("entries", "content", "mem_2", "contract"), Row("entries", "content", "mem_1contract"), row[:len(row)-1]} {
			if _, err := v.Open(sealed, other); !errors.Is(err, ErrSealed) {
				t.Errorf("in row %q: %v", other, err)
			}
		}
	}
}

// TestTamperedIsRefused changes every bit and cuts at every length.
func TestTamperedIsRefused(t *testing.T) {
	v, row := mustNew(t, 1), Row("a")
	sealed := mustSeal(t, v, row, "attack at dawn")
	for i := range sealed {
		for bit := range 8 {
			bad := bytes.Clone(sealed)
			bad[i] ^= 1 << bit
			if _, err := v.Open(bad, row); err == nil {
				t.Errorf("opened with bit %d of byte %d changed", bit, i)
			}
		}
		if _, err := v.Open(sealed[:i], row); !errors.Is(err, ErrSealed) {
			t.Errorf("cut to %d bytes: %v", i, err)
		}
	}
	if _, err := v.Open(append(bytes.Clone(sealed), 0), row); !errors.Is(err, ErrSealed) {
		t.Errorf("with a byte more: %v", err)
	}
}

func TestOtherKeyIsNamed(t *testing.T) {
	one, two := mustNew(t, 1), mustNew(t, 2)
	if _, err := two.Open(mustSeal(t, one, nil, "x"), nil); !errors.Is(err, ErrOtherKey) {
		t.Error(err)
	}
	if bytes.Equal(one.Check(), two.Check()) {
		t.Error("two keys have one check value")
	}
	again := mustNew(t, 1)
	if _, err := again.Open(mustSeal(t, one, nil, "x"), nil); err != nil || !bytes.Equal(one.Check(), again.Check()) {
		t.Errorf("the same key is another one: %v", err)
	}
	a, errA := one.Derive("a")
	b, errB := one.Derive("b")
	if errA != nil || errB != nil || bytes.Equal(a, b) || len(a) != 32 || bytes.HasPrefix(a, one.Check()) {
		t.Errorf("derived %x and %x, %v, %v", a, b, errA, errB)
	}
}

func TestOffSaysWhy(t *testing.T) {
	for _, v := range []*Vault{Off("because"), new(Vault), nil} {
		_, sealing := v.Seal(nil, nil)
		_, opening := v.Open(nil, nil)
		_, deriving := v.Derive("x")
		if !errors.Is(sealing, ErrOff) || !errors.Is(opening, ErrOff) || !errors.Is(deriving, ErrOff) || v.Check() != nil || v.Source() != "" {
			t.Errorf("%v, %v, %v", sealing, opening, deriving)
		}
	}
	if err := Off("because").On(); !strings.Contains(err.Error(), "because") {
		t.Error(err)
	}
}

func TestFailedRandomSealsNothing(t *testing.T) {
	v, err := New(append([]byte{1}, make([]byte, KeySize-1)...), strings.NewReader("short"))
	if err != nil {
		t.Fatal(err)
	}
	if sealed, err := v.Seal([]byte("x"), nil); err == nil || sealed != nil {
		t.Errorf("sealed %x without a nonce", sealed)
	}
}

// TestVaultIsNotPrinted: no way of printing a vault shows its key.
func TestVaultIsNotPrinted(t *testing.T) {
	master := bytes.Repeat([]byte{0xab, 0xcd}, KeySize/2)
	v, err := New(master, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	key, err := v.keys.Load().now.derive("seal")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "vault", v)
	js, _ := json.Marshal(v)
	fmt.Fprintf(&out, "%v %+v %#v %s", v, v, v, js)
	for _, secret := range [][]byte{master, key} {
		for _, form := range []string{"%x", "%v", "%s"} {
			if text := strings.Trim(fmt.Sprintf(form, secret), "[]"); strings.Contains(out.String(), text) {
				t.Errorf("printed as %s", form)
			}
		}
	}
}

func TestRowIsInjective(t *testing.T) {
	seen := map[string][]string{}
	for _, parts := range [][]string{{}, {""}, {"", ""}, {"a"}, {"a", ""}, {"", "a"}, {"ab"}, {"a", "b"}, {"\x01a"}, {"a\x01b"}, {strings.Repeat("x", 128)}, {strings.Repeat("x", 127), "x"}} {
		row := string(Row(parts...))
		if other, ok := seen[row]; ok {
			t.Errorf("%q and %q are one row", parts, other)
		}
		seen[row] = parts
	}
}

func FuzzOpen(f *testing.F) {
	v, row := mustNew(f, 1), Row("t", "c")
	f.Add([]byte{}, []byte{})
	f.Add(row, mustSeal(f, v, row, "hello"))
	f.Add(row, bytes.Repeat([]byte{1}, Overhead))
	f.Fuzz(func(t *testing.T, row, sealed []byte) {
		plain, err := v.Open(sealed, row)
		if err == nil && len(plain)+Overhead != len(sealed) {
			t.Errorf("%d bytes opened as %d", len(sealed), len(plain))
		}
		if err != nil && !errors.Is(err, ErrSealed) && !errors.Is(err, ErrOtherKey) {
			t.Error(err)
		}
	})
}
