package config

import (
	"reflect"
	"testing"
)

func TestDiffAndKeepFixed(t *testing.T) {
	old, err := load(t, "", nil, "--write-authors", key1)
	if err != nil {
		t.Fatal(err)
	}
	next, err := load(t, "", nil, "--write-authors", key1+","+key2, "--log-format", "json", "--limits-subscriptions", "3")
	if err != nil {
		t.Fatal(err)
	}
	want := []Change{{"log.format", false}, {"write.authors", true}, {"limits.subscriptions", true}}
	if got := Diff(old, next); !reflect.DeepEqual(got, want) {
		t.Errorf("diff %v, want %v", got, want)
	}
	kept := KeepFixed(old, next)
	if kept.Log.Format != old.Log.Format || kept.Limits.Subscriptions != 3 || len(kept.Write.Authors) != 2 {
		t.Errorf("kept format %s subscriptions %d authors %d", kept.Log.Format, kept.Limits.Subscriptions, len(kept.Write.Authors))
	}
	if kept.Origin("log.format") != "default" || kept.Origin("limits.subscriptions") != "flag --limits-subscriptions" {
		t.Errorf("origins %q %q", kept.Origin("log.format"), kept.Origin("limits.subscriptions"))
	}
	// What is kept shares nothing with where it came from.
	kept.Write.Authors[0] = "changed"
	if next.Write.Authors[0] == "changed" {
		t.Error("KeepFixed shares a list with its source")
	}
}

const (
	key1 = "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e"
	key2 = "3bf0c63fcb93463407af97a5e5ee64fa883d107ef9e558472c4eb9aaaefa459d"
)

func TestPubkeysAreHexOrNpub(t *testing.T) {
	good := map[string]string{ // NIP-19's own example, and one more published key
		"npub10elfcs4fr0l0r8af98jlmgdh9c8tcxjvz9qkw038js35mp4dma8qzvjptg": key1,
		"npub180cvv07tjdrrgpa0j7j7tmnyl2yr6yr7l8j4s3evf6u64th6gkwsyjh6w6": key2,
		"NPUB180CVV07TJDRRGPA0J7J7TMNYL2YR6YR7L8J4S3EVF6U64TH6GKWSYJH6W6": key2,
	}
	for in, want := range good {
		if got, err := pubkey(false).parse(in); err != nil || got != want {
			t.Errorf("%s: %s, %v", in, got, err)
		}
	}
	for _, bad := range []string{
		"", "npub1", "npub180cvv07tjdrrgpa0j7j7tmnyl2yr6yr7l8j4s3evf6u64th6gkwsyjh6w",
		"npub180cvv07tjdrrgpa0j7j7tmnyl2yr6yr7l8j4s3evf6u64th6gkwsyjh6w7",
		"npub1b0cvv07tjdrrgpa0j7j7tmnyl2yr6yr7l8j4s3evf6u64th6gkwsyjh6w6",
		"Npub180cvv07tjdrrgpa0j7j7tmnyl2yr6yr7l8j4s3evf6u64th6gkwsyjh6w6",
		"note180cvv07tjdrrgpa0j7j7tmnyl2yr6yr7l8j4s3evf6u64th6gkwsyjh6w6",
	} {
		if got, err := pubkey(false).parse(bad); err == nil {
			t.Errorf("%s: accepted as %s", bad, got)
		}
	}
}

// TestLocal: a relay is this machine's alone until it has a name, also one of this
// machine's, or listens elsewhere.
func TestLocal(t *testing.T) {
	for _, c := range []struct {
		args []string
		want bool
	}{
		{nil, true},
		{[]string{"--listen", "localhost:7447"}, true},
		{[]string{"--listen", "[::1]:7447"}, true},
		{[]string{"--public-url", "wss://relay.example"}, false},
		{[]string{"--public-url", "ws://127.0.0.1:7447"}, false},
		{[]string{"--listen", "0.0.0.0:7447", "--public-url", "wss://relay.example"}, false},
	} {
		if cfg, err := load(t, "", nil, c.args...); err != nil {
			t.Fatal(err)
		} else if cfg.Local() != c.want {
			t.Errorf("%q: %v, want %v", c.args, cfg.Local(), c.want)
		}
	}
}
