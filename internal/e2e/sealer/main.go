// Command sealer encrypts and signs engrams as fast as a processor can, whatever
// their bodies say: testdata/web fills a relay with what no client of ours would
// write.
//
//	sealer < lines > events.jsonl
//
// The first line is {"secret", "owner"}, each other one an engram of that pair:
// {"at", "body", "created_at"}. at is the slug whose address it gets, body the
// bytes that are encrypted, in base64.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/nbd-wtf/go-nostr"
	"github.com/nbd-wtf/go-nostr/nip44"

	"engramd/nips/nipae"
)

// pair is who writes, and for whom.
type pair struct {
	Secret string `json:"secret"`
	Owner  string `json:"owner"`
}

// draft is one engram.
type draft struct {
	At        nipae.Slug      `json:"at"`
	Body      []byte          `json:"body"`
	CreatedAt nostr.Timestamp `json:"created_at"`
}

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "sealer:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer) error {
	lines := json.NewDecoder(bufio.NewReader(in))
	var p pair
	if err := lines.Decode(&p); err != nil {
		return err
	}
	key, err := nipae.DeriveConversationKey(p.Secret, p.Owner)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(out)
	events := json.NewEncoder(w)
	for lines.More() {
		var d draft
		if err := lines.Decode(&d); err != nil {
			return err
		}
		ev, err := seal(p, key, d)
		if err != nil {
			return err
		}
		if err := events.Encode(ev); err != nil {
			return err
		}
	}
	return w.Flush()
}

func seal(p pair, key nipae.ConversationKey, d draft) (*nostr.Event, error) {
	content, err := nip44.Encrypt(string(d.Body), key)
	if err != nil {
		return nil, err
	}
	ev := &nostr.Event{
		Kind: nipae.Kind, CreatedAt: d.CreatedAt, Content: content,
		Tags: nostr.Tags{{"d", key.Address(d.At)}, {"p", p.Owner}},
	}
	return ev, ev.Sign(p.Secret)
}
