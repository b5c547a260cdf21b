package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
)

// The encoding of a command: the format's version, the number of its type and
// that type's version, its time, and its fields in their order. Integers are
// varints, texts and lists have their length before them, a pointer begins with
// a byte that says whether there is a value. Each command has exactly one
// encoding: bytes that AppendCommand would not have written are refused.

// commandFormat is the version of what precedes the fields, and of how fields
// are written.
const commandFormat = 1

// wireType is one type of command. Numbers and versions are never reused: a
// type that is removed leaves its number unused.
type wireType struct {
	number, version uint64
	of              reflect.Type
}

// Commands returns an empty command of each type, in the order of their
// numbers.
func Commands() []Command {
	return []Command{
		PutEvent{}, Configure{}, Administer{}, UseCalls{}, Stage{}, Unstage{}, SwitchState{}, ReleaseQuarantine{}, DropQuarantine{},
		RemoveRows{}, Retire{}, GoOn{}, Housekeep{}, Tighten{}, AddAgent{}, ReplaceToken{}, DropTokens{}, ForgetKey{}, DropAgent{},
		SetVaultCheck{}, SetRelayKey{}, RevokeRelayKey{}, QueueEvent{}, OutboxDone{}, OutboxForget{}, OutboxWithdraw{},
		OutboxKeep{}, OutboxRefused{}, SetContractTerms{}, DecideContract{}, LookAtDeadline{}, AddPrivateEntry{}, AddWaitingEntry{},
		ForgetParties{}, PutCopy{}, Followed{}, SubmitEvent{},
	}
}

var wireTypes = func() []wireType {
	list := Commands()
	out := make([]wireType, len(list))
	for i, c := range list {
		out[i] = wireType{uint64(i + 1), 1, reflect.TypeOf(c)}
	}
	return out
}()

// ErrCommand means that bytes are not a command that this program can read.
var ErrCommand = errors.New("not a command")

// AppendCommand appends the encoding of a command and its time.
func AppendCommand(b []byte, e Executed) ([]byte, error) {
	v := reflect.ValueOf(e.Command)
	for _, t := range wireTypes {
		if e.Command != nil && t.of == v.Type() {
			b = binary.AppendUvarint(append(b, commandFormat), t.number)
			b = binary.AppendVarint(binary.AppendUvarint(b, t.version), e.At)
			return appendValue(b, v), nil
		}
	}
	return b, fmt.Errorf("%w: %T", ErrCommand, e.Command)
}

// ParseCommand reads what AppendCommand wrote, and nothing else. The memory
// that it takes is bounded by a multiple of the length.
func ParseCommand(b []byte) (e Executed, err error) {
	r := &commandReader{StrictReader{Left: b}}
	if f := r.Byte(); r.Bad || f != commandFormat {
		return e, fmt.Errorf("%w: format %d", ErrCommand, f)
	}
	number, version := r.Uvarint(), r.Uvarint()
	for _, t := range wireTypes {
		if t.number != number {
			continue
		}
		if t.version != version {
			return e, fmt.Errorf("%w: version %d of type %d", ErrCommand, version, number)
		}
		v := reflect.New(t.of).Elem()
		if e.At = r.Varint(); !r.Bad {
			r.value(v)
		}
		if r.Bad || len(r.Left) > 0 {
			return Executed{}, fmt.Errorf("%w: malformed %s", ErrCommand, t.of.Name())
		}
		e.Command = v.Interface().(Command)
		return e, nil
	}
	return e, fmt.Errorf("%w: type %d", ErrCommand, number)
}

func appendValue(b []byte, v reflect.Value) []byte {
	switch v.Kind() {
	case reflect.Bool:
		if v.Bool() {
			return append(b, 1)
		}
		return append(b, 0)
	case reflect.Int, reflect.Int64:
		return binary.AppendVarint(b, v.Int())
	case reflect.String:
		return append(binary.AppendUvarint(b, uint64(v.Len())), v.String()...)
	case reflect.Pointer:
		if v.IsNil() {
			return append(b, 0)
		}
		return appendValue(append(b, 1), v.Elem())
	case reflect.Slice:
		return appendList(b, v)
	case reflect.Array: // of bytes
		for i := range v.Len() {
			b = append(b, byte(v.Index(i).Uint()))
		}
		return b
	case reflect.Struct:
		for i := range v.NumField() {
			b = appendValue(b, v.Field(i))
		}
		return b
	}
	panic("a command has a field of kind " + v.Kind().String()) // a test encodes every type
}

// appendList writes 0 for nil, else one more than the length.
func appendList(b []byte, v reflect.Value) []byte {
	if v.IsNil() {
		return append(b, 0)
	}
	b = binary.AppendUvarint(b, uint64(v.Len())+1)
	if v.Type().Elem().Kind() == reflect.Uint8 {
		return append(b, v.Bytes()...)
	}
	for i := range v.Len() {
		b = appendValue(b, v.Index(i))
	}
	return b
}
