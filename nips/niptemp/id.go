package niptemp

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/nbd-wtf/go-nostr"
)

// idDomain keeps these hashes apart from all others. No NUL follows it.
const idDomain = "engramd/contract/v1"

// SaltSize is how many random bytes a contract id is made with.
const SaltSize = 16

// saltTag is the name of the tag that holds the salt, in hex.
const saltTag = "salt"

var errNoID = errors.New("a contract id is made of a poster's key in lower-case hex and 16 bytes of salt")

// NewID returns the contract id that commits to a poster, 64 lower-case hex
// digits: a UUID of version 4 made of the first 16 bytes of
// SHA-256("engramd/contract/v1" ‖ key ‖ salt). Nobody else finds a salt for it.
func NewID(poster string, salt []byte) (string, error) {
	key, err := hex.DecodeString(poster)
	if err != nil || !nostr.IsValid32ByteHex(poster) || len(salt) != SaltSize {
		return "", errNoID
	}
	h := sha256.New()
	h.Write([]byte(idDomain))
	h.Write(key)
	h.Write(salt)
	b := h.Sum(nil)[:16]
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	x := hex.EncodeToString(b)
	return x[:8] + "-" + x[8:12] + "-" + x[12:16] + "-" + x[16:20] + "-" + x[20:], nil
}

// Owns reports whether a salt, 32 lower-case hex digits, shows that a contract
// id was made by a poster.
func Owns(id, poster, salt string) bool {
	b, err := hex.DecodeString(salt)
	if err != nil || hex.EncodeToString(b) != salt {
		return false
	}
	made, err := NewID(poster, b)
	return err == nil && made == id
}

// SaltTag returns the tag by which the events of a poster show that the
// contract's id is theirs.
func SaltTag(salt []byte) nostr.Tag { return nostr.Tag{saltTag, hex.EncodeToString(salt)} }

// ProvenSalt returns the salt by which an event shows that its author made the
// id in its d tag, "" if it does not: the value of its one salt tag.
func ProvenSalt(ev *nostr.Event) string {
	if ev.Kind != KindEntry && ev.Kind != KindState {
		return ""
	}
	salt, n := findTag(ev.Tags, saltTag)
	if n != 1 {
		return ""
	}
	id, err := contractID(ev)
	if err != nil || !Owns(id, ev.PubKey, salt) {
		return ""
	}
	return salt
}

// Unguessable reports whether an id has, by its form, 64 bits that nobody
// guesses: a UUID, or 32 and more hex digits.
func Unguessable(id string) bool {
	if len(id) == 36 {
		for _, at := range [...]int{8, 13, 18, 23} {
			if id[at] != '-' {
				return false
			}
		}
		return isHex(id[:8] + id[9:13] + id[14:18] + id[19:23] + id[24:])
	}
	return len(id) >= 32 && isHex(id)
}

func isHex(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') && (c < 'A' || c > 'F') {
			return false
		}
	}
	return true
}

// object is the content of an entry or a state: member names after unescaping,
// values as they stand. Names are compared exactly, case included.
type object map[string]jsontext.Value

// parseObject reads content as one JSON object. Duplicate names at any depth,
// invalid UTF-8 and lone surrogates make it invalid.
func parseObject(content string) (object, error) {
	if !strings.HasPrefix(strings.TrimLeft(content, " \t\r\n"), "{") {
		return nil, invalid("content must be a JSON object")
	}
	var obj object
	err := json.Unmarshal([]byte(content), &obj)
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		return nil, invalid("content has a JSON member twice")
	case err != nil:
		return nil, invalid("content is not one valid JSON object")
	}
	return obj, nil
}

// text returns the string in a field; ok is false where the field is missing.
func (o object) text(name string) (value string, ok bool, err error) {
	raw, ok := o[name]
	if !ok {
		return "", false, nil
	}
	if raw.Kind() != '"' {
		return "", false, invalid("content field %q must be a string", name)
	}
	text, err := jsontext.AppendUnquote(nil, raw)
	if err != nil {
		return "", false, invalid("content field %q must be a string", name)
	}
	return string(text), true, nil
}

// optionalText is text for fields in which null says the same as absence.
func (o object) optionalText(name string) (string, error) {
	if raw, ok := o[name]; ok && raw.Kind() == 'n' {
		return "", nil
	}
	value, _, err := o.text(name)
	return value, err
}

// texts returns the strings of the array in a field, none where it is missing.
func (o object) texts(name string) ([]string, error) {
	raw, ok := o[name]
	if !ok {
		return nil, nil
	}
	var items []*string
	err := json.Unmarshal(raw, &items)
	if err != nil || raw.Kind() != '[' || slices.Contains(items, nil) {
		return nil, invalid("content field %q must be an array of strings", name)
	}
	var out []string
	for _, item := range items {
		out = append(out, *item)
	}
	return out, nil
}
