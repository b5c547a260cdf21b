package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// fill sets every field to something that is not zero.
func fill(v reflect.Value, n *int64) {
	*n++
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(-*n * 1000)
	case reflect.Uint8:
		v.SetUint(uint64(*n))
	case reflect.String:
		v.SetString(fmt.Sprint("text ", *n))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), n)
		fill(v.Index(1), n)
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), n)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	}
}

// filled is a command of each type with something in every field.
func filled() (out []Executed) {
	for _, c := range Commands() {
		var n int64
		v := reflect.New(reflect.TypeOf(c)).Elem()
		fill(v, &n)
		out = append(out, Executed{At: n, Command: v.Interface().(Command)})
	}
	return out
}

func TestCommandsComeBack(t *testing.T) {
	for _, list := range [][]Command{Commands(), nil} {
		var all []Executed
		for _, c := range list {
			all = append(all, Executed{At: -1, Command: c})
		}
		if list == nil {
			all = filled()
		}
		for _, e := range all {
			raw, err := AppendCommand(nil, e)
			if err != nil {
				t.Fatalf("%T: %v", e.Command, err)
			}
			if again, err := ParseCommand(raw); err != nil || !reflect.DeepEqual(again, e) {
				t.Errorf("%+v (%v), want %+v", again, err, e)
			}
			for cut := range len(raw) {
				if _, err := ParseCommand(raw[:cut]); !errors.Is(err, ErrCommand) {
					t.Errorf("%T cut at %d of %d: %v", e.Command, cut, len(raw), err)
				}
			}
			if _, err := ParseCommand(append(raw, 0)); !errors.Is(err, ErrCommand) {
				t.Errorf("%T with a byte more: %v", e.Command, err)
			}
		}
	}
}

func TestForeignCommandsAreRefused(t *testing.T) {
	good, err := AppendCommand(nil, Executed{At: 1, Command: DropTokens{ID: "a"}})
	if err != nil {
		t.Fatal(err)
	}
	change := func(at int, b ...byte) []byte { return append(append(bytes.Clone(good[:at]), b...), good[at+1:]...) }
	for name, raw := range map[string][]byte{
		"nothing":                nil,
		"another format":         change(0, 2),
		"type 0":                 change(1, 0),
		"a type of later":        change(1, 120),
		"another version":        change(2, 2),
		"a longer form of 1":     change(2, 0x81, 0),
		"a length beyond":        change(4, 200),
		"a length of 64 bits":    change(4, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1),
		"a list that is a lie":   {1, 24, 1, 2, 1, 'x', 0xff, 0xff, 0xff, 0xff, 7},
		"a flag that is not one": {1, 21, 1, 2, 1, 'x', 2},
	} {
		if e, err := ParseCommand(raw); !errors.Is(err, ErrCommand) {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
	}
	if _, err := AppendCommand(nil, Executed{}); !errors.Is(err, ErrCommand) {
		t.Errorf("no command: %v", err)
	}
}

// The encoding of every type is pinned: who changes a type gives it a new
// version, and this test its new line.
func TestEncodingIsPinned(t *testing.T) {
	var got strings.Builder
	for _, e := range filled() {
		raw, err := AppendCommand(nil, e)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(raw)
		fmt.Fprintf(&got, "%s %s\n", reflect.TypeOf(e.Command).Name(), hex.EncodeToString(sum[:4]))
	}
	if got.String() != pinned {
		t.Errorf("encodings are now\n%s", got.String())
	}
}

func FuzzParseCommand(f *testing.F) {
	for _, e := range filled() {
		raw, err := AppendCommand(nil, e)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		e, err := ParseCommand(raw)
		if err != nil {
			return
		}
		again, err := AppendCommand(nil, e)
		if err != nil || !bytes.Equal(again, raw) {
			t.Fatalf("%x is read as %+v, which is %x (%v)", raw, e, again, err)
		}
	})
}

const pinned = `PutEvent 3782d673
Configure 5a3318c2
Administer 79c553d6
UseCalls 42f04024
Stage 827984cb
Unstage 61c16875
SwitchState 68daece8
ReleaseQuarantine a4cba39b
DropQuarantine 8630a0fe
RemoveRows f6abbcaa
Retire f42deaa5
GoOn 5fd7b1ad
Housekeep bf9989c2
Tighten a348c962
AddAgent 8601f9ab
ReplaceToken ff1faf7f
DropTokens 2ad20c96
ForgetKey 03e16890
DropAgent 3522aad0
SetVaultCheck 0f15c753
SetRelayKey 34a64cb9
RevokeRelayKey d026e2f9
QueueEvent 07bb920d
OutboxDone d22210e1
OutboxForget 2318456b
OutboxWithdraw 51169435
OutboxKeep 5b9edc9f
OutboxRefused 4e5216ad
SetContractTerms 4260645a
DecideContract 1d54b0f5
LookAtDeadline d23b2db2
AddPrivateEntry 084b462a
AddWaitingEntry b14e637a
ForgetParties 4e8d2a42
PutCopy 187e94a5
Followed 2e2c4724
SubmitEvent c777b5d3
`
