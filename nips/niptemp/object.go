package niptemp

import (
	"errors"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// object is the content of an entry or a state: member names after unescaping,
// values as they stand. Names are compared exactly, case included.
type object map[string]jsontext.Value

// parseObject reads content as one JSON object. Duplicate names at any depth,
// invalid UTF-8 and lone surrogates make it invalid.
func parseObject(content string) (object, error) {
	if !strings.HasPrefix(strings.TrimLeft(content, " \t\r\n"), "{") {
		return nil, invalid("content must be a JSON object")
	}
	dec := jsontext.NewDecoder(strings.NewReader(content))
	obj, err := readObject(dec)
	if err == nil {
		if _, err = dec.ReadToken(); err == nil {
			err = errors.New("trailing data")
		} else if errors.Is(err, io.EOF) {
			return obj, nil
		}
	}
	if errors.Is(err, jsontext.ErrDuplicateName) {
		return nil, invalid("content has a JSON member twice")
	}
	return nil, invalid("content is not one valid JSON object")
}

func readObject(dec *jsontext.Decoder) (object, error) {
	if _, err := dec.ReadToken(); err != nil { // the brace
		return nil, err
	}
	obj := make(object)
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		// The token is only valid until the next read.
		key := name.String()
		value, err := dec.ReadValue()
		if err != nil {
			return nil, err
		}
		obj[key] = value.Clone()
	}
	_, err := dec.ReadToken()
	return obj, err
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
	fault := invalid("content field %q must be an array of strings", name)
	if raw.Kind() != '[' {
		return nil, fault
	}
	dec := jsontext.NewDecoder(strings.NewReader(string(raw)))
	if _, err := dec.ReadToken(); err != nil {
		return nil, fault
	}
	var out []string
	for dec.PeekKind() == '"' {
		item, err := dec.ReadToken()
		if err != nil {
			return nil, fault
		}
		out = append(out, item.String())
	}
	if dec.PeekKind() != ']' {
		return nil, fault
	}
	return out, nil
}
