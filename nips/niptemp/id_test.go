package niptemp

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
)

// The vectors were made by another program (Python's hashlib and uuid).
func TestIDVectors(t *testing.T) {
	b, err := os.ReadFile("../../testdata/vectors/contract-id.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		IDs []struct{ Poster, Salt, ID string }
	}
	if err := json.Unmarshal(b, &file); err != nil || len(file.IDs) == 0 {
		t.Fatal("no vectors", err)
	}
	for _, v := range file.IDs {
		salt, err := hex.DecodeString(v.Salt)
		if err != nil {
			t.Fatal(err)
		}
		id, err := NewID(v.Poster, salt)
		if err != nil || id != v.ID {
			t.Errorf("made %s, %v, want %s", id, err, v.ID)
		}
		if !Owns(v.ID, v.Poster, v.Salt) {
			t.Errorf("%s is not owned", v.ID)
		}
		for what, wrong := range map[string]bool{
			"another key":       Owns(v.ID, strangerKey, v.Salt),
			"another salt":      Owns(v.ID, v.Poster, strings.Repeat("00", 16)),
			"a longer salt":     Owns(v.ID, v.Poster, v.Salt+"00"),
			"an upper-case id":  Owns(strings.ToUpper(v.ID), v.Poster, v.Salt),
			"an upper-case key": Owns(v.ID, strings.ToUpper(v.Poster), v.Salt),
			"no salt":           Owns(v.ID, v.Poster, ""),
		} {
			if wrong {
				t.Errorf("%s: owned with %s", v.ID, what)
			}
		}
		if !Unguessable(id) {
			t.Errorf("%s counts as guessable", id)
		}
	}
	if _, err := NewID(posterKey[:62], make([]byte, SaltSize)); err == nil {
		t.Error("a short key made an id")
	}
	if _, err := NewID(posterKey, make([]byte, SaltSize-1)); err == nil {
		t.Error("a short salt made an id")
	}
}

func TestProvenSalt(t *testing.T) {
	salt := []byte("sixteen bytes of")
	id, err := NewID(posterKey, salt)
	if err != nil {
		t.Fatal(err)
	}
	tag, other := SaltTag(salt), SaltTag(make([]byte, SaltSize))
	for _, tt := range []struct {
		name   string
		kind   int
		author string
		tags   nostr.Tags
		want   bool
	}{
		{"a state", KindState, posterKey, nostr.Tags{{"d", id}, tag}, true},
		{"an entry", KindEntry, posterKey, nostr.Tags{tag, {"d", id}}, true},
		{"another kind", 1, posterKey, nostr.Tags{{"d", id}, tag}, false},
		{"another author", KindState, workerKey, nostr.Tags{{"d", id}, tag}, false},
		{"another id", KindState, posterKey, nostr.Tags{{"d", contract}, tag}, false},
		{"no salt", KindState, posterKey, nostr.Tags{{"d", id}}, false},
		{"an empty salt", KindState, posterKey, nostr.Tags{{"d", id}, {"salt"}}, false},
		{"one that does not match", KindState, posterKey, nostr.Tags{{"d", id}, other}, false},
		{"two", KindState, posterKey, nostr.Tags{{"d", id}, tag, other}, false},
	} {
		ev := &nostr.Event{Kind: tt.kind, PubKey: tt.author, Tags: tt.tags}
		if got := ProvenSalt(ev); (got != "") != tt.want || tt.want && got != tag[1] {
			t.Errorf("%s: %q", tt.name, got)
		}
	}
}

func TestUnguessable(t *testing.T) {
	for id, want := range map[string]bool{
		"job-17": false, "": false, strings.Repeat("a", 31): false, strings.Repeat("z", 36): false, "1234567890123456": false,
		strings.Repeat("a", 32): true, strings.Repeat("0F", 32): true, "550e8400-e29b-11d4-a716-446655440000": true,
		"550E8400-E29B-41D4-A716-446655440000": true, "550e8400-e29b-41d4-a716-44665544000g": false, "550e8400+e29b-41d4-a716-446655440000": false,
		strings.Repeat("\x10", 32): false,
	} {
		if Unguessable(id) != want {
			t.Errorf("%q: %v", id, !want)
		}
	}
}

// What proves an id proves it by the definition, and for its author alone.
func FuzzProvenSalt(f *testing.F) {
	id, err := NewID(posterKey, make([]byte, SaltSize))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(id, strings.Repeat("00", 16))
	f.Add("job-17", "00")
	f.Add(strings.ToUpper(id), strings.Repeat("00", 17))
	f.Fuzz(func(t *testing.T, d, salt string) {
		ev := &nostr.Event{Kind: KindEntry, PubKey: posterKey, Tags: nostr.Tags{{"d", d}, {"salt", salt}}}
		got := ProvenSalt(ev)
		if got == "" {
			return
		}
		b, err := hex.DecodeString(got)
		if made, again := NewID(posterKey, b); err != nil || again != nil || made != d || got != salt || !Unguessable(d) {
			t.Fatalf("%q proved %q", salt, d)
		}
		if ev.PubKey = workerKey; ProvenSalt(ev) != "" {
			t.Fatal("it proves it for another key")
		}
	})
}
