package wire

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/nbd-wtf/go-nostr"
)

// The oracle reads an event the slow and obvious way, over a JSON library and
// with regular expressions. ParseEvent must accept exactly what it accepts, and
// read the same out of it.

var (
	hex64   = regexp.MustCompile(`^[0-9a-f]{64}$`)
	hex128  = regexp.MustCompile(`^[0-9a-f]{128}$`)
	decimal = regexp.MustCompile(`^(0|[1-9][0-9]*)$`)
)

func oracleEvent(b []byte) (*nostr.Event, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(b), jsontext.AllowDuplicateNames(true))
	if dec.PeekKind() != '{' {
		return nil, errors.New("no object")
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	members := map[string]jsontext.Value{}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		key := name.String()
		value, err := dec.ReadValue()
		if err != nil {
			return nil, err
		}
		if _, dup := members[key]; dup {
			return nil, errors.New("duplicate")
		}
		members[key] = value.Clone()
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errors.New("trailing data")
	}
	return oracleMembers(members)
}

func oracleMembers(members map[string]jsontext.Value) (*nostr.Event, error) {
	var ev nostr.Event
	for name, into := range map[string]*string{"id": &ev.ID, "pubkey": &ev.PubKey, "sig": &ev.Sig, "content": &ev.Content} {
		if members[name].Kind() != '"' {
			return nil, errors.New(name)
		}
		*into = unquoted(members[name])
	}
	if !hex64.MatchString(ev.ID) || !hex64.MatchString(ev.PubKey) || !hex128.MatchString(ev.Sig) {
		return nil, errors.New("hex")
	}
	for name, most := range map[string]int64{"kind": 65535, "created_at": 1<<63 - 1} {
		raw := string(members[name])
		n, err := strconv.ParseInt(raw, 10, 64)
		if err != nil || !decimal.MatchString(raw) || n > most {
			return nil, errors.New(name)
		}
		if name == "kind" {
			ev.Kind = int(n)
		} else {
			ev.CreatedAt = nostr.Timestamp(n)
		}
	}
	ev.Tags = nostr.Tags{}
	for _, rawTag := range elements(members["tags"]) {
		if rawTag.Kind() != '[' {
			return nil, errors.New("tag")
		}
		var tag nostr.Tag
		for _, item := range elements(rawTag) {
			if item.Kind() != '"' {
				return nil, errors.New("tag item")
			}
			tag = append(tag, unquoted(item))
		}
		if len(tag) == 0 || len(tag) == 1 && tag[0] == "d" {
			return nil, errors.New("tag length")
		}
		ev.Tags = append(ev.Tags, tag)
	}
	if members["tags"].Kind() != '[' {
		return nil, errors.New("tags")
	}
	return &ev, nil
}

func unquoted(v jsontext.Value) string {
	out, err := jsontext.AppendUnquote(nil, v)
	if err != nil {
		panic(err) // the value was read by a strict decoder
	}
	return string(out)
}

// elements splits an array that is known to be valid.
func elements(v jsontext.Value) (out []jsontext.Value) {
	if v.Kind() != '[' {
		return nil
	}
	dec := jsontext.NewDecoder(bytes.NewReader(v), jsontext.AllowDuplicateNames(true))
	_, _ = dec.ReadToken()
	for dec.PeekKind() != ']' {
		item, err := dec.ReadValue()
		if err != nil {
			panic(err)
		}
		out = append(out, item.Clone())
	}
	return out
}

// checkAgainstOracle compares ParseEvent with the oracle on one input.
func checkAgainstOracle(t *testing.T, b []byte) {
	t.Helper()
	got, err := ParseEvent(b)
	if err != nil && strings.Contains(err.Error(), "nested too deeply") {
		return // the oracle has no such bound
	}
	want, wantErr := oracleEvent(b)
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("ParseEvent(%q): %v, but the oracle says %v", b, err, wantErr)
	}
	if err == nil && !equalEvents(got, want) {
		t.Fatalf("ParseEvent(%q) = %v, want %v", b, got, want)
	}
}

func equalEvents(a, b *nostr.Event) bool {
	if a.ID != b.ID || a.PubKey != b.PubKey || a.Sig != b.Sig || a.Kind != b.Kind ||
		a.CreatedAt != b.CreatedAt || a.Content != b.Content || len(a.Tags) != len(b.Tags) {
		return false
	}
	for i := range a.Tags {
		if len(a.Tags[i]) != len(b.Tags[i]) {
			return false
		}
		for j := range a.Tags[i] {
			if a.Tags[i][j] != b.Tags[i][j] {
				return false
			}
		}
	}
	return true
}

// randomEvent is an event of the right shape with strings that need care; its
// id is not that of its content.
func randomEvent(r *rand.Rand) *nostr.Event {
	ev := &nostr.Event{
		ID:        randomHex(r, 64),
		PubKey:    randomHex(r, 64),
		Sig:       randomHex(r, 128),
		Kind:      r.IntN(65536),
		CreatedAt: nostr.Timestamp(r.Int64N(1 << 40)),
		Content:   randomText(r, r.IntN(200)),
		Tags:      nostr.Tags{},
	}
	for range r.IntN(8) {
		tag := nostr.Tag{randomText(r, 1+r.IntN(4)), randomText(r, r.IntN(70))}
		for range r.IntN(3) {
			tag = append(tag, randomText(r, r.IntN(20)))
		}
		ev.Tags = append(ev.Tags, tag)
	}
	return ev
}

func randomHex(r *rand.Rand, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = "0123456789abcdef"[r.IntN(16)]
	}
	return string(b)
}

func randomText(r *rand.Rand, n int) string {
	specials := []rune("\"\\/\b\f\n\r\t\x00\x01\x0b\x0e\x1f\x7f\u0080é\u2028\u2029\ufffd\uffff😀\U0010ffff<>&")
	var b strings.Builder
	for range n {
		switch r.IntN(4) {
		case 0:
			b.WriteRune(specials[r.IntN(len(specials))])
		case 1:
			b.WriteRune(rune(r.IntN(0x20)))
		default:
			b.WriteRune(rune(0x20 + r.IntN(0x5f)))
		}
	}
	return b.String()
}
