// Package secrets finds in a text what looks like a key or a token, so that it
// can be refused before it is remembered: what is signed and encrypted once
// cannot be redacted later.
//
// It knows shapes only: Nostr keys, keys in hex beside a word that says so, age
// keys, private key blocks, and the tokens of clouds and vendors by the
// prefixes that these document for scanners; the words of wallets by their
// checksum, and what a text says is a password. A bare id, public key or hash
// is none of them: a secret key of 64 hex digits that nothing is said of cannot
// be told from an id, of which memory is full, and passes. Words in characters that
// nobody sees are refused like them (Tags). It is pure, takes time linear in the
// text, and no error it returns holds a value.
package secrets

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Finding is one value that looks like a secret.
type Finding struct {
	Kind       string // what it looks like, in words: "AWS access key"
	Start, End int    // the value is text[Start:End], in bytes
}

// Error means that a text holds what looks like a secret. It holds no part of
// it.
type Error struct {
	Kind string // of the first one
	Line int    // where that begins, from 1
	More int    // how many more there are
}

// Error names the kind and the line.
func (e *Error) Error() string {
	text := fmt.Sprintf("line %d holds what looks like a secret (%s)", e.Line, e.Kind)
	if e.Kind == Tags {
		text = fmt.Sprintf("line %d holds %s and which models read", e.Line, Tags)
	}
	if e.More > 0 {
		text += fmt.Sprintf(", and there are %d more", e.More)
	}
	return text
}

// Check returns an *Error if there is a finding in text, else nil.
func Check(text string) error { return failure(text, Find(text)) }

const (
	// besideAdded is how much before what is added to a text is looked at with it.
	besideAdded = 256
	// besideWords is how much more for the words of a wallet that come one by one.
	besideWords = maxPhrase * (maxPhraseGap + maxWord)
)

// CheckChange is Check for an edit: values that were found in the old text as
// well do not count. So whoever allowed a secret once can go on changing the
// rest. What only adds to the old text is judged by that and what is right before it.
func CheckChange(old, text string) error {
	before := 0
	if strings.HasPrefix(text, old) {
		before = max(0, len(old)-besideAdded)
		for before > 0 && text[before-1] > ' ' && len(old)-before < 2*besideAdded { // no half of a word
			before--
		}
		before = runAcross(text, before)
	}
	found := Find(text[before:])
	if len(found) == 0 {
		return nil
	}
	had := map[string]bool{}
	for _, f := range Find(old[before:]) {
		had[old[before+f.Start:before+f.End]] = true
	}
	for i := range found {
		found[i].Start += before
		found[i].End += before
	}
	return failure(text, slices.DeleteFunc(found, func(f Finding) bool { return had[text[f.Start:f.End]] }))
}

// Guard is CheckChange for writes; nil, which checks nothing, where the writer
// allows secrets. explain adds what he can do; nil adds nothing.
func Guard(allow bool, explain func(error) error) func(old, text string) error {
	switch {
	case allow:
		return nil
	case explain == nil:
		return CheckChange
	}
	return func(old, text string) error {
		if err := CheckChange(old, text); err != nil {
			return explain(err)
		}
		return nil
	}
}

func failure(text string, found []Finding) error {
	if len(found) == 0 {
		return nil
	}
	line := 1 + strings.Count(text[:found[0].Start], "\n")
	return &Error{Kind: found[0].Kind, Line: line, More: len(found) - 1}
}

// Redact returns text with each finding replaced by "[redacted: KIND]", and how
// many there were.
func Redact(text string) (string, int) {
	found := Find(text)
	if len(found) == 0 {
		return text, 0
	}
	var b strings.Builder
	at := 0
	for _, f := range found {
		b.WriteString(text[at:f.Start])
		b.WriteString("[redacted: " + f.Kind + "]")
		at = f.End
	}
	b.WriteString(text[at:])
	return b.String(), len(found)
}

// shape is a value that begins with words of its own, which its vendor gave it
// so that it can be found.
type shape struct {
	prefix   string
	kind     string
	body     set  // what follows
	min, max int  // length of what follows; max 0: any
	solid    bool // what follows must not be words
}

//go:embed shapes.json
var shapesJSON []byte

// shapes are those of shapes.json, which the owner's page goes by too: prefix, kind,
// set, min, max, solid. They are sorted by their first byte, and then the longer
// prefixes come first. The lengths are those that vendors document or that are in use,
// with some room below where they vary.
var shapes = sync.OnceValue(func() []shape {
	sets := map[string]set{"digit": digit, "hex": hex, "upper": upper, "bech": bech, "alnum": alnum, "word": word, "dotted": dotted, "base64": base64, "url": url}
	rows := read[[][6]any](shapesJSON)
	all := make([]shape, len(rows))
	for i, r := range rows {
		all[i] = shape{prefix: r[0].(string), kind: r[1].(string), body: sets[r[2].(string)], min: int(r[3].(float64)), max: int(r[4].(float64)), solid: r[5].(bool)}
	}
	return all
})

// read reads a list that is part of the program.
func read[T any](list []byte) (all T) {
	if err := json.Unmarshal(list, &all); err != nil {
		panic(err)
	}
	return all
}
