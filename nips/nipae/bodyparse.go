package nipae

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// ParseBody reads a decrypted body (NIP-AE, "Bodies"): one JSON object with a
// slug, and with the member that the slug asks for: profile, a string, for
// core; value, a string or null, for a memory. Anything else in it is kept.
//
// Names are compared after unescaping, exactly, case included. Invalid are
// duplicate names at any depth, text that is not UTF-8, lone surrogates, a
// missing or mistyped member, an invalid slug, data after the object, more
// than MaxBody bytes, and values nested deeper than 10,000. The error is
// ErrBody; it does not repeat what the body holds.
func ParseBody(b []byte) (Body, error) {
	if len(b) > MaxBody {
		return Body{}, ErrTooLarge
	}
	members, err := readMembers(b)
	if err != nil {
		return Body{}, err
	}
	body := Body{members: members}
	slug := take(members, nameSlug)
	if slug.Kind() != '"' {
		return Body{}, fmt.Errorf("%w: it must have a slug, a string", ErrBody)
	}
	name, err := unquote(slug)
	if err != nil {
		return Body{}, err
	}
	if body.slug, err = ParseSlug(name); err != nil {
		return Body{}, fmt.Errorf("%w: %w", ErrBody, err)
	}
	text := take(members, textName(body.slug))
	switch {
	case text.Kind() == '"':
		body.text, err = unquote(text)
	case text.Kind() == 'n' && !body.slug.IsCore():
		body.tombstoned = true
	case body.slug.IsCore():
		err = fmt.Errorf("%w: core must have a profile, a string", ErrBody)
	default:
		err = fmt.Errorf("%w: a memory must have a value, a string or null", ErrBody)
	}
	if err != nil {
		return Body{}, err
	}
	return body, nil
}

// take returns the value of a member and leaves its place only; an empty value
// where there is none.
func take(members []member, name string) jsontext.Value {
	for i, m := range members {
		if m.name == name {
			members[i].raw = nil
			return m.raw
		}
	}
	return nil
}

func unquote(v jsontext.Value) (string, error) {
	text, err := jsontext.AppendUnquote(nil, v)
	if err != nil {
		return "", fmt.Errorf("%w: a string in it is not valid", ErrBody)
	}
	return string(text), nil
}

// readMembers reads one JSON object. The decoder refuses duplicate names,
// invalid UTF-8 and lone surrogates at any depth.
func readMembers(b []byte) ([]member, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(b))
	if dec.PeekKind() != '{' {
		return nil, fmt.Errorf("%w: it is not a JSON object", ErrBody)
	}
	members, err := readObject(dec)
	if err == nil {
		if _, err = dec.ReadToken(); err == nil {
			err = errors.New("trailing data")
		} else if errors.Is(err, io.EOF) {
			return members, nil
		}
	}
	if errors.Is(err, jsontext.ErrDuplicateName) {
		return nil, fmt.Errorf("%w: a member is there twice", ErrBody)
	}
	return nil, fmt.Errorf("%w: it is not one valid JSON object", ErrBody)
}

func readObject(dec *jsontext.Decoder) ([]member, error) {
	if _, err := dec.ReadToken(); err != nil { // the brace
		return nil, err
	}
	var members []member
	for dec.PeekKind() != '}' {
		token, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		// Token and value hold until the next read only.
		name := token.String()
		value, err := dec.ReadValue()
		if err != nil {
			return nil, err
		}
		members = append(members, member{name: name, raw: value.Clone()})
	}
	_, err := dec.ReadToken()
	return members, err
}
