// Command party is one side of an escrow contract (NIP-TEMP), made of this
// module's own packages: internal/client on the wire, nips/niptemp to judge,
// go-nostr to encrypt. testdata/interop sets it against nostr-tools.
//
//	party --relay URL --key-file FILE publish < event.json    prints the signed event
//	party --relay URL --key-file FILE read    < filter.json   prints a list of what it found
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/nbd-wtf/go-nostr/nip44"

	"engramd/internal/client"
	"engramd/nips/niptemp"
)

// draft is what publish reads.
type draft struct {
	Kind      int             `json:"kind"`
	CreatedAt nostr.Timestamp `json:"created_at"` // 0 is now
	Tags      nostr.Tags      `json:"tags"`
	Content   string          `json:"content"`
	SealTo    string          `json:"seal_to"` // encrypt the content to this pubkey
}

// found is one event that read prints.
type found struct {
	Event  *nostr.Event `json:"event"`
	Sealed bool         `json:"sealed"`
	Text   string       `json:"text"` // the content, opened
}

// party is who runs this, and where.
type party struct {
	client *client.Client
	secret string
	pubkey string
}

func main() {
	relay := flag.String("relay", "", "relay `URL`")
	keyFile := flag.String("key-file", "", "`file` with the secret key in hex")
	flag.Parse()
	out, err := run(*relay, *keyFile, flag.Args(), os.Stdin)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(out)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "party:", err)
		os.Exit(1)
	}
}

func run(relay, keyFile string, args []string, stdin io.Reader) (any, error) {
	text, err := os.ReadFile(keyFile)
	if err != nil {
		return nil, err
	}
	secret := strings.TrimSpace(string(text))
	id, err := client.NewIdentity(secret)
	if err != nil {
		return nil, err
	}
	c := client.New(id, client.Options{Relays: []string{relay}})
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	p := party{client: c, secret: secret, pubkey: id.PubKey()}
	switch {
	case len(args) == 1 && args[0] == "publish":
		return p.publish(ctx, id, stdin)
	case len(args) == 1 && args[0] == "read":
		return p.read(ctx, stdin)
	}
	return nil, errors.New("want publish or read")
}

func (p party) publish(ctx context.Context, id client.Identity, stdin io.Reader) (*nostr.Event, error) {
	var d draft
	if err := json.NewDecoder(stdin).Decode(&d); err != nil {
		return nil, err
	}
	if d.SealTo != "" {
		key, err := nip44.GenerateConversationKey(d.SealTo, p.secret)
		if err != nil {
			return nil, err
		}
		if d.Content, err = nip44.Encrypt(d.Content, key); err != nil {
			return nil, err
		}
	}
	if d.CreatedAt == 0 {
		d.CreatedAt = nostr.Now()
	}
	ev := &nostr.Event{Kind: d.Kind, CreatedAt: d.CreatedAt, Tags: d.Tags, Content: d.Content}
	if err := id.Sign(ev); err != nil {
		return nil, err
	}
	if err := check(ev); err != nil {
		return nil, err
	}
	_, err := p.client.Publish(ctx, ev)
	return ev, err
}

func (p party) read(ctx context.Context, stdin io.Reader) ([]found, error) {
	var filter nostr.Filter
	if err := json.NewDecoder(stdin).Decode(&filter); err != nil {
		return nil, err
	}
	answers, err := p.client.Ask(ctx, filter)
	if err == nil && answers.Partial() {
		err = client.ErrPartial
	}
	if err != nil {
		return nil, err
	}
	out := []found{}
	for _, ev := range answers.Events {
		if err := check(ev); err != nil {
			return nil, fmt.Errorf("event %s: %w", ev.ID, err)
		}
		f := found{Event: ev, Sealed: niptemp.IsSealed(ev), Text: ev.Content}
		if f.Sealed {
			if f.Text, err = p.open(ev); err != nil {
				return nil, fmt.Errorf("event %s: %w", ev.ID, err)
			}
		}
		out = append(out, f)
	}
	return out, nil
}

// check is what our side makes of an event of the contract.
func check(ev *nostr.Event) error {
	if ev.Kind == niptemp.KindState {
		return niptemp.CheckStateShape(ev)
	}
	return niptemp.CheckEntry(ev)
}

// open decrypts an entry between us and the other party.
func (p party) open(ev *nostr.Event) (string, error) {
	other := ev.PubKey
	if other == p.pubkey {
		other = ev.Tags.Find("p")[1] // CheckEntry saw it
	}
	key, err := nip44.GenerateConversationKey(other, p.secret)
	if err != nil {
		return "", err
	}
	return nip44.Decrypt(ev.Content, key)
}
